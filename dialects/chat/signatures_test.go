package chat

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// mark separates the id of a tool call from the reasoning details packed behind it.
const mark = "__mgw1_"

func TestPackedSignaturesAreUnpacked(t *testing.T) {
	for _, details := range [][]ReasoningDetail{
		nil,
		{{Type: ReasoningEncrypted, Data: "Et0BCtoBAXLI2nwM+/==", Format: llm.FormatGemini}},
		{
			{Type: ReasoningText, Text: "think «é»\n", Signature: "s", Format: llm.FormatAnthropic},
			{Type: ReasoningEncrypted, Data: "x", Format: llm.FormatAnthropic, Index: 1},
		},
	} {
		packed := PackID("toolu_01", details)
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]+$`).MatchString(packed) {
			t.Errorf("id has other characters: %s", packed)
		}
		id, got := UnpackID(packed)
		if id != "toolu_01" || !reflect.DeepEqual(got, details) {
			t.Errorf("%q, %+v", id, got)
		}
	}
}

func TestOtherIDsAreNotUnpacked(t *testing.T) {
	for _, id := range []string{"", "call_1", "a" + mark, "a" + mark + "!!", "a" + mark + "AAAA"} {
		if got, details := UnpackID(id); got != id || details != nil {
			t.Errorf("%.40q became %.40q, %v", id, got, details)
		}
	}
}

func FuzzUnpackID(f *testing.F) {
	f.Add(PackID("a", []ReasoningDetail{{Type: "t", Data: "d"}}))
	f.Add("call_1")
	f.Fuzz(func(t *testing.T, id string) {
		base, details := UnpackID(id)
		if details == nil && base != id && len(base) > len(id) {
			t.Fatalf("%q became %q", id, base)
		}
	})
}

// What OpenAI wants back comes back with its id, from the fragments of a stream and from
// the id of a call.
func TestReasoningOfOpenAIComesBackWithItsID(t *testing.T) {
	w := NewWriter(&llm.Request{})
	head := &llm.Head{ID: "resp_1", Model: "gpt", Created: 5}
	summary := llm.Thought{Kind: llm.ThoughtSummary, Text: "why", ItemID: "rs_1", Format: llm.FormatOpenAI, Model: "gpt"}
	encrypted := llm.Thought{
		Kind: llm.ThoughtEncrypted, Data: "gAAAA", ItemID: "rs_1", Format: llm.FormatOpenAI, Model: "gpt", Index: 1, WithCalls: true,
	}
	var stream []byte
	var err error
	for _, e := range []llm.Event{
		{Kind: llm.EventBegin}, {Kind: llm.EventThought, Text: "why", Thought: &summary}, {Kind: llm.EventThought, Text: "why", Thought: &summary},
		{Kind: llm.EventThought, Thought: &encrypted}, {Kind: llm.EventCall, Call: &llm.CallStart{ID: "c1", Name: "f", Arguments: "{}"}},
	} {
		e.Head = head
		if stream, err = w.Append(stream, &e); err != nil {
			t.Fatal(err)
		}
	}
	var details, calls []string
	for line := range strings.Lines(string(stream)) {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Details []jsontext.Value `json:"reasoning_details"`
					Calls   []ToolCall       `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if data, ok := strings.CutPrefix(line, "data: "); !ok || json.Unmarshal([]byte(data), &chunk) != nil {
			continue
		}
		for _, d := range chunk.Choices[0].Delta.Details {
			details = append(details, string(d))
		}
		for _, c := range chunk.Choices[0].Delta.Calls {
			calls = append(calls, c.ID)
		}
	}
	if len(details) != 3 || len(calls) != 1 || !strings.Contains(details[0], `"id":"rs_1"`) || strings.Contains(details[1], `"id"`) {
		t.Fatalf("%q, %q\n%s", details, calls, stream)
	}
	call := `"tool_calls":[{"id":"` + calls[0] + `","type":"function","function":{"name":"f","arguments":"{}"}}]`
	for from, member := range map[string]string{"details": `"reasoning_details":[` + strings.Join(details, ",") + `]`, "id": call} {
		req, err := Decode(nil, []byte(`{"model":"gpt","messages":[{"role":"assistant","content":null,`+member+`}]}`))
		if err != nil {
			t.Fatal(from, err)
		}
		c, err := req.Source.Conversation()
		if err != nil {
			t.Fatal(err)
		}
		var got []llm.Thought
		for _, b := range c.Messages[0].Blocks {
			if b.Kind == llm.BlockThought {
				b.Thought.Index = 0
				got = append(got, *b.Thought)
			}
		}
		want := []llm.Thought{{Kind: llm.ThoughtSummary, Text: "whywhy", ItemID: "rs_1", Format: llm.FormatOpenAI},
			{Kind: llm.ThoughtEncrypted, Data: "gAAAA", ItemID: "rs_1", Format: llm.FormatOpenAI}}
		if from == "id" {
			want = want[1:]
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", from, got)
		}
	}
}
