package alternating

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
)

// fold decodes messages and shows their turns in short.
func fold(t *testing.T, messages string) (string, *Conversation, error) {
	t.Helper()
	req, err := chat.Decode(nil, []byte(`{"model":"m","messages":`+messages+`}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Fold(req)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	for _, s := range c.System {
		fmt.Fprintf(&b, "[sys %s]", s.Text)
	}
	for _, turn := range c.Turns {
		b.WriteString(map[bool]string{true: " A", false: " U"}[turn.Assistant])
		for _, block := range turn.Blocks {
			switch {
			case block.Kind == llm.BlockText || block.Kind == llm.BlockRefusal:
				fmt.Fprintf(&b, "(%s)", block.Text)
			case block.Call != nil:
				fmt.Fprintf(&b, "{%s %s %s}", block.Call.ID, block.Call.Name, block.Call.Arguments)
			case block.Result != nil:
				fmt.Fprintf(&b, "<%s %s>", block.Answers.ID, block.Answers.Name)
			case block.Thought != nil:
				fmt.Fprintf(&b, "~%s~", block.Thought.Text)
			}
		}
	}
	return strings.TrimSpace(b.String()), c, nil
}

const twoCalls = `{"role":"assistant","content":null,"tool_calls":[
	{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},
	{"id":"b","type":"function","function":{"name":"g","arguments":""}}]}`

func TestFold(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"one user", `[{"role":"user","content":"hi"}]`, "U(hi)"},
		{"instructions anywhere", `[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"developer",` +
			`"content":[{"type":"text","text":"d"}]}]`, "[sys s][sys d] U(u)"},
		{"instructions only", `[{"role":"system","content":"s"}]`, "U(s)"},
		{"neighbours merge", `[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"},` +
			`{"role":"assistant","content":"d"}]`, "U(a)(b) A(c)(d)"},
		{"empty text goes", `[{"role":"user","content":""},{"role":"user","content":"b"},{"role":"assistant","content":""},{"role":"user",` +
			`"content":"c"}]`, "U(b)(c)"},
		{"results first, in the order of the calls", `[{"role":"user","content":"q"},` + twoCalls +
			`,{"role":"tool","tool_call_id":"b","content":"2"},{"role":"developer","content":"d"},{"role":"tool","tool_call_id":"a","content":"1"},` +
			`{"role":"user","content":"more"}]`,
			`[sys d] U(q) A{a f {"x":1}}{b g {}} U<a f><b g>(more)`},
		{"calls at the very end", `[{"role":"user","content":"q"},` + twoCalls + `]`, `U(q) A{a f {"x":1}}{b g {}}`},
		{"broken arguments are kept", `[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f",` +
			`"arguments":"{oops \""}},{"id":"b","type":"function","function":{"name":"f","arguments":"[1]"}}]}]`,
			`A{a f {"_raw":"{oops \""}}{b f {"_raw":[1]}}`},
		{"refusals stay in their turn", `[{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]},{"role":"assistant","refusal":"never"}]`,
			"A(no)(never)"},
		{"deprecated functions", `[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f",` +
			`"arguments":"{}"}},{"role":"function","name":"f","content":"1"}]`, `U(q) A{call_f f {}} U<call_f f>`},
		{"reasoning comes before what follows from it", `[{"role":"assistant","content":"t","reasoning_details":[{"type":"reasoning.text",` +
			`"text":"why","signature":"s","format":"anthropic-claude-v1"}]}]`, "A~why~(t)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := fold(t, tt.in)
			if err != nil || got != tt.want {
				t.Errorf("got  %s\nwant %s\n%v", got, tt.want, err)
			}
		})
	}
}

func TestInconsistentConversationsAreRefused(t *testing.T) {
	for name, in := range map[string]string{
		"result without a call": `[{"role":"user","content":"q"},{"role":"tool","tool_call_id":"x","content":"1"}]`,
		"call never answered":   `[` + twoCalls + `,{"role":"user","content":"q"}]`,
		"half of them answered": `[` + twoCalls + `,{"role":"tool","tool_call_id":"a","content":"1"}]`,
		"answered twice": `[` + twoCalls + `,{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"a",` +
			`"content":"1"}]`,
		"answered in a later one": `[` + twoCalls + `,{"role":"assistant","content":"x"},{"role":"tool","tool_call_id":"a","content":"1"}]`,
		"custom tools":            `[{"role":"assistant","tool_calls":[{"id":"a","type":"custom","custom":{"name":"f","input":"x"}}]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := fold(t, in)
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != 400 || !strings.HasPrefix(e.Param, "messages[") {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestSignaturesAreUnpackedFromIDs(t *testing.T) {
	gemini := chat.PackID("a", []chat.ReasoningDetail{{Type: chat.ReasoningEncrypted, Data: "sig", Format: llm.FormatGemini}})
	claude := chat.PackID("b",
		[]chat.ReasoningDetail{{Type: chat.ReasoningText, Text: "why", Signature: "s", Format: llm.FormatAnthropic}})
	in := fmt.Sprintf(`[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[
		{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}},
		{"id":%q,"type":"function","function":{"name":"g","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":%q,"content":"1"},{"role":"tool","tool_call_id":"b","content":"2"}]`, gemini, claude, gemini)
	got, c, err := fold(t, in)
	if want := "U(q) A~why~{a f {}}{b g {}} U<a f><b g>"; err != nil || got != want {
		t.Fatalf("got  %s\nwant %s\n%v", got, want, err)
	}
	if s := c.Turns[1].Blocks[1].Call.Signature; s != "sig" {
		t.Errorf("signature %q", s)
	}
}

func TestCacheMarkOfAMessageIsSetOnItsLastPart(t *testing.T) {
	_, c, err := fold(t, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],`+
		`"cache_control":{"type":"ephemeral"}}]`)
	if err != nil {
		t.Fatal(err)
	}
	blocks := c.Turns[0].Blocks
	if len(blocks[0].Cache) != 0 || string(blocks[1].Cache) != `{"type":"ephemeral"}` {
		t.Errorf("%s, %s", blocks[0].Cache, blocks[1].Cache)
	}
}

func TestCacheMarkOfAMessageOfCallsIsSetOnTheLastCall(t *testing.T) {
	_, c, err := fold(t, `[`+strings.TrimSuffix(twoCalls, "}")+`,"cache_control":{"type":"ephemeral"}}]`)
	if err != nil {
		t.Fatal(err)
	}
	blocks := c.Turns[0].Blocks
	if len(blocks[0].Cache) != 0 || string(blocks[1].Cache) != `{"type":"ephemeral"}` {
		t.Errorf("%s, %s", blocks[0].Cache, blocks[1].Cache)
	}
}
