package openai

import (
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/dialects/chat"
	"modelgateway/providers"
)

func TestObjectsOfTheAccountAreRefusedOfChatCompletions(t *testing.T) {
	const always = "any policy but allow"
	user := func(part string) string {
		return `"messages":[{"role":"user","content":"hi"},{"role":"user","content":[{"type":"text","text":"\"file_id\""},` + part + `]}]`
	}
	for _, tt := range []struct{ name, members, path, refusedBy string }{
		{"a file", user(`{"type":"file","file":{"file_id":"file-1"}}`), "messages[1].content[1].file.file_id", always},
		{"an escaped name", user(`{"type":"file","file":{"file\u005fid":"file-1","filename":"a"}}`), "messages[1].content[1].file.file_id", always},
		{"of a type of tomorrow", user(`{"type":"image_file","image_file":{"file_id":"file-1"}}`), "messages[1].content[1].image_file.file_id", always},
		{"beside the type", user(`{"type":"input_file","file_id":"file-1"}`), "messages[1].content[1].file_id", always},
		{"a sound of an earlier answer", `"messages":[{"role":"assistant","audio":{"id":"audio_1"}},{"role":"user","content":"hi"}]`, "messages[0].audio", "none"},
		{"an answer that is kept", user(`{"type":"text","text":"hi"}`) + `,"store":true`, "store", "none"},

		{"no file", user(`{"type":"file","file":{"file_data":"data:application/pdf;base64,QQ==","file_id":null}}`), "", ""},
		{"no store and no sound", `"messages":[{"role":"assistant","content":"a","audio":null},{"role":"user","content":"hi"}],"store":false`, "", ""},
		{"what a function takes", user(`{"type":"text","text":"hi"}`) + `,"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"file_id":{}}}}}]`, "", ""},
	} {
		req, err := chat.Decode(nil, []byte(`{"model":"gpt-4o",`+tt.members+`}`))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		for _, policy := range []string{"", config.ObjectsOwn, config.ObjectsNone, config.ObjectsAllow} {
			p := provider("http://127.0.0.1:1")
			p.objects = policy
			_, err := p.Prepare(providers.Call{Request: req, Model: &catalog.Model{ID: "gpt-4o", Upstream: "gpt-4o", Provider: catalog.OpenAI}})
			want := ""
			if tt.refusedBy == always && policy != config.ObjectsAllow || tt.refusedBy == policy {
				want = tt.path
			}
			if err == nil && want == "" {
				continue
			}
			if e := api.AsError(err); err == nil || e.Param != want || e.Status != 400 || e.Code != api.CodeUnsupportedValue || !strings.Contains(e.Message, "PROVIDER_OBJECTS") {
				t.Errorf("%s with %q: %v", tt.name, policy, err)
			}
		}
	}
}
