package chat

import (
	"errors"
	"testing"

	"modelgateway/api"
)

// OpenAI and compatible servers judge such values themselves; a translation and a
// call whose cost is limited need to know them.
func TestUnknownValuesAreDecodedAndNotTranslated(t *testing.T) {
	for _, tt := range []struct{ name, body, param string }{
		{"unknown part", said(`{"role":"user","content":[{"type":"video"}]}`), "messages[0].content[0].type"},
		{"image of an assistant", said(`{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"https://x"}}]}`),
			"messages[0].content[0].type"},
		{"audio format", said(`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA","format":"ogg"}}]}`),
			"messages[0].content[0].input_audio.format"},
		{"tool of other type", with(`"tools":[{"type":"retrieval"}]`), "tools[0].type"},
		{"choice a word", with(`"tool_choice":"perhaps"`), "tool_choice"},
		{"choice of a type", with(`"tool_choice":{"type":"magic"}`), "tool_choice"},
		{"format", with(`"response_format":{"type":"xml"}`), "response_format.type"},
		{"effort", with(`"reasoning_effort":"extreme"`), "reasoning_effort"},
		{"format without a type in a call", said(`{"role":"assistant","tool_calls":[{"id":"a","type":"search"}]}`),
			"messages[0].tool_calls[0].type"},
	} {
		req, err := Decode(nil, []byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if req.Source.Size(); req.Source.(*Request).Foreign() != tt.param {
			t.Errorf("%s: a limited call has %q", tt.name, req.Source.(*Request).Foreign())
		}
		for range req.Source.Texts() {
		}
		_, err = req.Source.Conversation()
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != 400 || e.Code != api.CodeInvalidValue || e.Param != tt.param {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
