package responses_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/dialects/responses"
	"modelgateway/llm"
)

// summing is an answer that is a summary, with what models write beside one.
func summing(e *llm.Emitter) {
	e.Thought(0, "how to sum up", nil)
	e.Text(0, "They want ")
	e.Text(0, "„Grüße“.")
	e.Call(0, &llm.CallStart{ID: "1", Name: "f", Arguments: "{}"})
	finish(e, llm.FinishStop)
}

func TestAnswerWithoutASummaryIsAnError(t *testing.T) {
	req := asked(t, `{"model":"m","stream":true,"input":[{"role":"user","content":"Hello"},{"type":"compaction_trigger"}]}`)
	stream := answers(func(e *llm.Emitter) {
		e.Text(0, " \n")
		e.Call(0, &llm.CallStart{ID: "1", Name: "f", Arguments: "{}"})
		finish(e, llm.FinishToolCalls)
	})
	if r := dialect.Streamed(t, req, stream); r.Status != "failed" || r.Error.Code != "server_error" || len(r.Output) != 0 {
		t.Errorf("%s", r.raw)
	}
	answer, err := llm.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := responses.Dialect().AppendAnswer(nil, req, answer); err == nil || api.AsError(err).Status != 502 {
		t.Errorf("%v", err)
	}
}

// compact has the items of an answer of /v1/responses/compact, of which the last is the summary.
func compact(t *testing.T, input string) (items []item) {
	t.Helper()
	req, err := responses.DecodeCompaction(nil, []byte(`{"model":"m","input":`+input+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := req.Source.Conversation(); err != nil {
		t.Fatal(err)
	}
	answer, err := llm.Collect(answers(summing))
	if err != nil {
		t.Fatal(err)
	}
	text, err := responses.Compaction().AppendAnswer(nil, req, answer)
	c := new(answered)
	if err := errors.Join(err, json.Unmarshal(text, c)); err != nil || !strings.HasPrefix(c.ID, "resp_") || c.Object != "response.compaction" ||
		c.CreatedAt != 1700000000 || !c.Usage.whole() || c.Output[len(c.Output)-1].Type != "compaction" {
		t.Fatalf("%v: %s", err, text)
	}
	return c.Output
}

func TestCompactKeepsTheUsersLastMessagesBeforeTheSummary(t *testing.T) {
	c := compact(t, `[{"role":"developer","content":"rules"},{"role":"user","content":"first"},{"role":"assistant","content":"a"},`+
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"second"},`+"\n"+`{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]},`+
		`{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"x"}]`)
	if len(c) != 3 || c[0].Content[0].Text != "first" || c[0].Role != "user" || c[1].Content[0].Text != "second" ||
		c[1].Content[1].Type != "input_image" || c[0].ID == c[1].ID {
		t.Errorf("%+v", c)
	}
	if c = compact(t, `"just a text"`); len(c) != 2 || c[0].Content[0].Text != "just a text" {
		t.Errorf("%+v", c)
	}
	long := strings.Repeat("x", 30_000)
	c = compact(t, fmt.Sprintf(`[{"role":"user","content":"1%s"},{"role":"user","content":"2%s"},{"role":"user","content":"3%s"},{"role":"user","content":"4%s"}]`,
		long, long, long, long))
	if len(c) != 3 || c[0].Content[0].Text[0] != '3' {
		t.Errorf("%d messages", len(c)-1)
	}
}
