package responses_test

import (
	"reflect"
	"strings"
	"testing"

	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// unsealed is what the encrypted content of an item holds.
func unsealed(t testing.TB, i *item) llm.Thought {
	t.Helper()
	if i.Encrypted == nil {
		t.Fatalf("no encrypted content: %+v", i)
	}
	thought, ok := roundtrip.Unseal(*i.Encrypted)
	if !ok {
		t.Fatalf("%s", *i.Encrypted)
	}
	return thought
}

func TestEachThoughtOfAnthropicIsAnItemWithItsTextInside(t *testing.T) {
	thinking := func(e *llm.Emitter) {
		think := func(text, signature string, index int) {
			for _, piece := range strings.SplitAfter(text, " ") {
				e.Thought(0, piece, &llm.Thought{Text: piece, Format: llm.FormatAnthropic, Model: "claude", Index: index})
			}
			e.Thought(0, "", &llm.Thought{Signature: signature, Format: llm.FormatAnthropic, Model: "claude", Index: index, WithCalls: true})
		}
		think("first thought", "sig1", 0)
		think("second", "sig2", 1)
		e.Thought(0, "", &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "redacted", Format: llm.FormatAnthropic, Model: "claude", Index: 2})
		e.Text(0, "a")
		e.Thought(0, "", &llm.Thought{Signature: "sig4", Format: llm.FormatAnthropic, Model: "claude", Index: 3}) // its text is not shown
		e.Call(0, &llm.CallStart{ID: "x", Name: "f", Arguments: "{}"})
		e.Thought(0, "cut", &llm.Thought{Text: "cut", Format: llm.FormatAnthropic, Model: "claude", Index: 4}) // without a signature
		finish(e, llm.FinishLength)
	}
	for _, req := range []*llm.Request{anyRequest(), {Model: "m"}} {
		r := dialect.Both(t, req, answers(thinking))
		if kinds(r) != "reasoning reasoning reasoning message reasoning function_call reasoning" {
			t.Fatalf("%s", r.raw)
		}
		for at, want := range map[int]llm.Thought{
			0: {Text: "first thought", Signature: "sig1"}, 1: {Text: "second", Signature: "sig2"},
			2: {Kind: llm.ThoughtEncrypted, Data: "redacted"}, 4: {Signature: "sig4"},
		} {
			want.Format, want.Model = llm.FormatAnthropic, "claude"
			if got := unsealed(t, &r.Output[at]); !reflect.DeepEqual(got, want) {
				t.Errorf("%d: %+v, not %+v", at, got, want)
			}
			shown := want.Text
			if req.Thinking == nil {
				shown = ""
			}
			if (len(r.Output[at].Summary) == 1) != (shown != "") || shown != "" && r.Output[at].Summary[0].Text != shown {
				t.Errorf("%d: %+v, not %q", at, r.Output[at].Summary, shown)
			}
		}
		if r.Output[6].Encrypted != nil {
			t.Errorf("a thought without its signature would come back: %s", r.raw)
		}
	}
}

func TestThoughtsOfGeminiStandBeforeTheirCallsAndImages(t *testing.T) {
	signed := func(data, call string, index int) *llm.Thought {
		return &llm.Thought{Kind: llm.ThoughtEncrypted, Data: data, Format: llm.FormatGemini, Model: "g", CallID: call, Index: index}
	}
	r := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
		e.Thought(0, "why", nil)
		e.Call(0, &llm.CallStart{ID: "1", Name: "f", Arguments: "{}", Signature: "s1", Thought: signed("g|s1", "1", 0)})
		e.Call(0, &llm.CallStart{ID: "2", Name: "f", Arguments: "{}", Signature: "s2", Thought: signed("g|s2", "2", 1)})
		e.Text(0, "text")
		e.Thought(0, "", signed("g|s3", "", 2)) // of the text, which has been shown
		e.Media(0, &llm.Media{Kind: llm.Image, URL: "data:image/webp;base64,AAAA"})
		e.Thought(0, "", signed("g|0|s4", "", 3))
		e.Media(0, &llm.Media{Kind: llm.Image, URL: "data:image/png;base64,BBBB"})
		finish(e, llm.FinishToolCalls)
	}))
	if kinds(r) != "reasoning function_call reasoning function_call message reasoning image_generation_call image_generation_call" {
		t.Fatalf("%s", r.raw)
	}
	for at, want := range map[int]string{0: "g|s1 1", 2: "g|s2 2", 5: "g|0|s4 "} {
		if got := unsealed(t, &r.Output[at]); got.Data+" "+got.CallID != want || got.Format != llm.FormatGemini || got.Model != "g" {
			t.Errorf("%d: %+v, not %s", at, got, want)
		}
	}
	if r.Output[0].Summary[0].Text != "why" || len(r.Output[2].Summary) != 0 || *r.Output[6].Result != "AAAA" || r.Output[6].Format != "webp" {
		t.Errorf("%s", r.raw)
	}
}
