package messages_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// A signature on the thought itself is that of the thought; one of the text is not shown (tests/messages).
func TestASignatureOfAThoughtStandsWithIt(t *testing.T) {
	m := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
		e.Thought(0, "why", nil)
		e.Thought(0, "", &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "gemini-3|s", Format: llm.FormatGemini})
		e.Text(0, "a")
		finish(e, llm.FinishStop)
	}))
	if kinds(m) != "thinking text" || !strings.Contains(unsealed(t, m.Content[0].Signature), `"d":"gemini-3|s"`) {
		t.Errorf("%s", meaning(m))
	}
}

// unsealed is what a signature of ours holds.
func unsealed(t testing.TB, signature string) string {
	t.Helper()
	packed, ours := strings.CutPrefix(signature, "mgw1.")
	text, err := base64.RawURLEncoding.DecodeString(packed)
	if !ours || err != nil {
		t.Errorf("%q: %v", signature, err)
	}
	return string(text)
}

func TestSignatureOfACallIsThatOfTheThoughtBeforeIt(t *testing.T) {
	call := func(id string) *llm.CallStart {
		return &llm.CallStart{ID: id, Name: "f", Arguments: `{}`, Signature: id, Thought: &llm.Thought{
			Kind: llm.ThoughtEncrypted, Data: "gemini-3|" + id, Format: llm.FormatGemini, CallID: id,
		}}
	}
	stream := answers(func(e *llm.Emitter) {
		e.Thought(0, "why", nil)
		e.Call(0, call("a"))
		e.Call(0, call("b"))
		e.Text(0, "text")
		e.Call(0, &llm.CallStart{ID: "c", Name: "f", Arguments: `{}`})
		e.Call(0, call("functions.d:0"))
		finish(e, llm.FinishStop)
	})
	m := dialect.Both(t, anyRequest(), stream)
	if kinds(m) != "thinking tool_use thinking tool_use text tool_use thinking tool_use" || m.Content[0].Thinking != "why" ||
		m.Content[2].Thinking != "" {
		t.Fatalf("%s", meaning(m))
	}
	for thought, want := range map[int]string{0: "gemini-3|a", 2: "gemini-3|b", 6: "gemini-3|functions.d:0"} {
		inside := unsealed(t, m.Content[thought].Signature)
		if !strings.Contains(inside, `"d":"`+want+`"`) || !strings.Contains(inside, `"c":"`+m.Content[thought+1].ID+`"`) {
			t.Errorf("%s", inside)
		}
	}
	// A client that has not asked for thoughts brings them back in the ids.
	m = dialect.Both(t, &llm.Request{NoThoughts: true}, stream)
	if kinds(m) != "tool_use tool_use text tool_use tool_use" || m.Content[3].ID != "c" {
		t.Fatalf("%s", meaning(m))
	}
	id, thoughts := roundtrip.Unpack(m.Content[1].ID)
	if id != "b" || len(thoughts) != 1 || thoughts[0].Data != "gemini-3|b" || thoughts[0].Format != llm.FormatGemini {
		t.Errorf("%s: %+v", id, thoughts)
	}
}

func TestThinkingThatWasNotAskedForIsNotShown(t *testing.T) {
	m := dialect.Both(t, &llm.Request{NoThoughts: true}, answers(func(e *llm.Emitter) {
		e.Thought(0, "why", &llm.Thought{Text: "why", Format: llm.FormatAnthropic})
		e.Thought(0, "", &llm.Thought{Signature: "s", Format: llm.FormatAnthropic, WithCalls: true})
		e.Thought(0, "", &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "r", Format: llm.FormatAnthropic, Index: 1, WithCalls: true})
		e.Text(0, "a")
		e.Call(0, &llm.CallStart{ID: "c", Name: "f", Arguments: `{}`})
		e.Call(0, &llm.CallStart{ID: "d", Name: "f", Arguments: `{}`})
		finish(e, llm.FinishToolCalls)
	}))
	if kinds(m) != "text tool_use tool_use" || m.Content[0].Text != "a" || m.Content[2].ID != "d" {
		t.Fatalf("%s", meaning(m))
	}
	id, thoughts := roundtrip.Unpack(m.Content[1].ID)
	if id != "c" || len(thoughts) != 2 || thoughts[0].Text != "why" || thoughts[0].Signature != "s" || thoughts[1].Data != "r" {
		t.Errorf("%s: %+v", id, thoughts)
	}
}

func TestAnthropicsSignaturesAreWrittenAsTheyCame(t *testing.T) {
	m := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
		e.Thought(0, "why", &llm.Thought{Text: "why", Format: llm.FormatAnthropic})
		e.Thought(0, "", &llm.Thought{Signature: "Er+/=", Format: llm.FormatAnthropic, WithCalls: true})
		e.Thought(0, "", &llm.Thought{Signature: "empty", Format: llm.FormatAnthropic, Index: 1, WithCalls: true})
		e.Thought(0, "", &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "EmwKAh", Format: llm.FormatAnthropic, Index: 2, WithCalls: true})
		e.Thought(0, "unsigned", &llm.Thought{Text: "unsigned", Format: llm.FormatAnthropic, Index: 3})
		e.Text(0, "a")
		finish(e, llm.FinishStop)
	}))
	if kinds(m) != "thinking thinking redacted_thinking thinking text" || m.Content[0].Thinking != "why" || m.Content[0].Signature != "Er+/=" ||
		m.Content[1].Thinking != "" || m.Content[1].Signature != "empty" || m.Content[2].Data != "EmwKAh" {
		t.Errorf("%s", meaning(m))
	}
	unsealed(t, m.Content[3].Signature) // never an empty one
}

func TestOmittedThinkingHasItsSignatureOnly(t *testing.T) {
	m := dialect.Both(t, &llm.Request{Thinking: &llm.Thinking{Type: "adaptive", Display: "omitted"}}, answers(func(e *llm.Emitter) {
		e.Thought(0, "why", &llm.Thought{Kind: llm.ThoughtSummary, Text: "why", Format: llm.FormatOpenAI, ItemID: "rs_1"})
		e.Thought(0, "", &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "gAAA", Format: llm.FormatOpenAI, ItemID: "rs_1"})
		e.Text(0, "a")
		finish(e, llm.FinishStop)
	}))
	if kinds(m) != "thinking text" || m.Content[0].Thinking != "" ||
		!strings.Contains(unsealed(t, m.Content[0].Signature), `"i":"rs_1","d":"gAAA"`) {
		t.Errorf("%s", meaning(m))
	}
}
