package roundtrip

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"modelgateway/llm"
)

func TestThoughtsComeBackInAnID(t *testing.T) {
	for _, want := range [][]llm.Thought{
		{{Text: "why", Signature: "s", Format: llm.FormatAnthropic}},
		{{Kind: llm.ThoughtEncrypted, Data: "gemini-3|AAA", Format: llm.FormatGemini, CallID: "other"}},
		{{Kind: llm.ThoughtSummary, Text: "a", Data: "e", Format: llm.FormatOpenAI, Model: "gpt-6", ItemID: "rs_1"},
			{Kind: llm.ThoughtEncrypted, Data: "e", Format: "groq", Model: "m"}},
	} {
		all := make([]*llm.Thought, len(want))
		for i := range want {
			all[i] = &want[i]
		}
		id := Pack("call_1", all...)
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]+$`).MatchString(id) || !Has([]byte(id)) {
			t.Errorf("%s", id)
		}
		if own, got := Unpack(id); own != "call_1" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, not %+v", own, got, want)
		}
	}
}

// Chat completions have one id in a detail: with OpenAI it is that of the reasoning.
func TestAThoughtOfOpenAIInChatsFormHasItsID(t *testing.T) {
	id := Join("call_1", []byte(`[{"type":"reasoning.encrypted","data":"e","id":"rs_1","format":"openai-responses-v1"}]`))
	_, got := Unpack(id)
	want := llm.Thought{Kind: llm.ThoughtEncrypted, Data: "e", Format: llm.FormatOpenAI, ItemID: "rs_1"}
	if len(got) != 1 || got[0] != want {
		t.Errorf("%+v", got)
	}
}

func TestTheCallsOwnIDIsNotRepeated(t *testing.T) {
	if id := Pack("call_1", &llm.Thought{Data: "a", CallID: "call_1"}); len(id) > 80 {
		t.Errorf("%d bytes: %s", len(id), id)
	}
}

func TestOtherIDsStayAsTheyAre(t *testing.T) {
	many := Join("a", []byte("["+strings.TrimSuffix(strings.Repeat("{},", maxThoughts+1), ",")+"]"))
	for _, id := range []string{"", "call_1", "a" + mark, "a" + mark + "!!", Join("a", []byte("{}")), Join("a", []byte("null")), many} {
		if own, all := Unpack(id); own != id || all != nil {
			t.Errorf("%.40s: %.40s, %d thoughts", id, own, len(all))
		}
	}
	if Pack("a") != "a" {
		t.Error("an id without thoughts is changed")
	}
}
