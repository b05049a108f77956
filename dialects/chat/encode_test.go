package chat

import (
	"testing"

	"modelgateway/api"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// same compares the fast encoding with the library's.
func same(t *testing.T, e *ChunkEncoder, c *Chunk) {
	t.Helper()
	want, wantErr := json.Marshal(c, api.Lenient)
	got, err := e.Append([]byte("before "), c)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%v, but json.Marshal says %v", err, wantErr)
	}
	if err == nil && string(got) != "before "+string(want) {
		t.Fatalf("wrote %s\nwant %s", got, want)
	}
}

func TestChunksAreEncodedAsTheLibraryEncodesThem(t *testing.T) {
	text, empty, reason := "a \"quoted\"\n\u2028<é>\xff\\", "", "stop"
	deltas := []Delta{
		{}, {Role: "assistant", Content: &empty}, {Content: &text}, {Refusal: &text}, {ReasoningContent: text},
		{Content: &text, ReasoningContent: text, ReasoningDetails: []ReasoningDetail{{Type: ReasoningText, Text: text}}},
		{ToolCalls: []ToolCallDelta{{Index: 3, ID: "id", Type: "function", Function: &FunctionDelta{Name: "f"}},
			{Function: &FunctionDelta{Arguments: text}}}},
		{Content: &text, ToolCalls: []ToolCallDelta{{Custom: jsontext.Value(`{"name":"x"}`)}}},
		{
			ToolCalls: []ToolCallDelta{
				{Function: &FunctionDelta{}, ExtraContent: &ExtraContent{Google: &GoogleExtra{ThoughtSignature: "s"}}},
			},
		},
		{FunctionCall: &FunctionDelta{Arguments: text}}, {Images: []Image{{Type: "image_url"}}}, {Extra: jsontext.Value(`{"x":1}`)},
	}
	var e ChunkEncoder // one for all: what it remembers must never show
	for _, d := range deltas {
		for _, choice := range []ChunkChoice{
			{Delta: d}, {Index: 2, Delta: d, FinishReason: &reason}, {Delta: d, Logprobs: jsontext.Value(`{"content":[]}`)},
			{Delta: d, Extra: jsontext.Value(`{"y":2}`)}, {Delta: d, FinishReason: &reason, Extra: jsontext.Value(`{"y":"STOP","z":null}`)},
			{Delta: d, Extra: jsontext.Value(`{"y":"é\u0041","z":[]}`)},
		} {
			c := Chunk{ID: "1", Object: ObjectChunk, Created: 5, Model: "m", Choices: []ChunkChoice{choice}}
			same(t, &e, &c)
			c.ServiceTier = "default"
			same(t, &e, &c)
			c.SystemFingerprint, c.Choices = "fp", append(c.Choices, choice)
			same(t, &e, &c)
			c.Usage, c.Choices = &Usage{PromptTokens: 1, PromptTokensDetails: &PromptDetails{}}, []ChunkChoice{}
			same(t, &e, &c)
			c.Extra = jsontext.Value(`{"z":3}`)
			same(t, &e, &c)
			c.Extra, c.Created = nil, 6
			same(t, &e, &c)
		}
	}
}

// FuzzChunkEncoder holds both encodings of any chunk against each other.
func FuzzChunkEncoder(f *testing.F) {
	f.Add([]byte(`{"id":"1","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}`))
	f.Add([]byte(`{"id":"1","choices":[{"index":1,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function",` +
		`"function":{"name":"f","arguments":"{\u0000"}}]},"finish_reason":"x"}],"usage":{"prompt_tokens":3}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c Chunk
		if json.Unmarshal(text, &c, api.Lenient) != nil || c.Choices == nil {
			return
		}
		var e ChunkEncoder
		same(t, &e, &c)
		c.Model += "\xff"
		same(t, &e, &c)
	})
}
