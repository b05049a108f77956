package gemini

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/dialects/chat"
)

func TestASignatureComesBackInEachWayThatAClientMayKeepIt(t *testing.T) {
	const first = `{"model":"m","messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f"}}]}`
	body := eventsOf(answerWith(`{"text":"let me see","thoughtSignature":"text+sig/=="},{"functionCall":{"name":"f","id":"zi06h2mp",`+
		`"args":{"a":1}},"thoughtSignature":"call+sig/=="},{"functionCall":{"name":"f","id":"zi06h2mq"}}`, stop))
	answer := complete(t, "gemini-3-pro-preview", first, body).Choices[0].Message
	for name, tt := range map[string]struct {
		keep      func(m *chat.Answer)
		text      string
		unmatched bool
	}{
		"everything": {func(*chat.Answer) {}, "text+sig/==", false},
		"only what OpenAI knows": {func(m *chat.Answer) {
			m.ReasoningDetails = nil
			for i := range m.ToolCalls {
				m.ToolCalls[i].ExtraContent = nil
			}
		}, "", false},
		"reasoning_details, with ids of its own": {func(m *chat.Answer) {
			for i := range m.ToolCalls {
				m.ToolCalls[i].ExtraContent = nil
				m.ToolCalls[i].ID, _, _ = strings.Cut(m.ToolCalls[i].ID, "__")
			}
		}, "text+sig/==", false},
		"extra_content": {func(m *chat.Answer) {
			m.ReasoningDetails = nil
			for i := range m.ToolCalls {
				m.ToolCalls[i].ID = fmt.Sprintf("call_%d", i)
			}
		}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			m := answer
			m.ToolCalls = append([]chat.ToolCall(nil), answer.ToolCalls...)
			tt.keep(&m)
			said, err := json.Marshal(&m)
			if err != nil {
				t.Fatal(err)
			}
			x, err := prepare(t, "gemini-3-pro-preview", fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"q"},%s,
				{"role":"tool","tool_call_id":%q,"content":"1"},{"role":"tool","tool_call_id":%q,"content":"2"}]}`,
				said, m.ToolCalls[0].ID, m.ToolCalls[1].ID))
			if err != nil {
				t.Fatal(err)
			}
			var sent struct {
				Contents []content `json:"contents"`
			}
			if err := json.Unmarshal(x.body, &sent); err != nil || len(sent.Contents) != 3 || len(sent.Contents[1].Parts) != 3 {
				t.Fatalf("%v in %s", err, x.body)
			}
			parts := sent.Contents[1].Parts
			if parts[0].ThoughtSignature != tt.text || parts[1].ThoughtSignature != "call+sig/==" || parts[2].ThoughtSignature != "" {
				t.Errorf("signatures are lost in %s", x.body)
			}
			id := "zi06h2mp"
			if tt.unmatched {
				id = ""
			}
			if parts[1].FunctionCall.ID != id || sent.Contents[2].Parts[0].FunctionResponse.ID != id ||
				string(parts[1].FunctionCall.Args) != `{"a":1}` {
				t.Errorf("the call is not the same in %s", x.body)
			}
			if len(x.Properties().Ignored) > 0 {
				t.Errorf("ignored %v", x.Properties().Ignored)
			}
		})
	}
}

func TestASignatureComesBackFromClientsOfFunctions(t *testing.T) {
	const functions = `"functions":[{"name":"f"}]`
	body := eventsOf(answerWith(`{"functionCall":{"name":"f","id":"zi06h2mp"},"thoughtSignature":"call+sig/=="}`, stop))
	m := complete(t, "gemini-3-pro-preview", `{"model":"m","messages":[{"role":"user","content":"q"}],`+functions+`}`,
		body).Choices[0].Message
	said, err := json.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	x, err := prepare(t, "gemini-3-pro-preview", `{"model":"m","messages":[{"role":"user","content":"q"},`+string(said)+
		`,{"role":"function","name":"f","content":"1"}],`+functions+`}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"functionCall":{"name":"f","args":{}},"thoughtSignature":"call+sig/=="}`; !strings.Contains(string(x.body), want) {
		t.Errorf("want %s in %s", want, x.body)
	}
}
