package responses_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/dialects/responses"
	"modelgateway/llm"
)

// asked is a request in the client's form, whose conversation has been made for a provider.
func asked(t testing.TB, body string) *llm.Request {
	t.Helper()
	req, err := responses.Decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	if _, err := req.Source.Conversation(); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	return req
}

// functions are the names of the functions that a provider is shown.
func functions(t testing.TB, req *llm.Request) (names []string) {
	t.Helper()
	c, err := req.Source.Conversation()
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Tools {
		names = append(names, c.Tools[i].Name)
	}
	return names
}

// calling is an answer with one call, in pieces.
func calling(name string, pieces ...string) llm.Stream {
	return answers(func(e *llm.Emitter) {
		at, _ := e.Call(0, &llm.CallStart{ID: "toolu_1", Name: name})
		for _, piece := range pieces {
			e.Input(0, at, piece)
		}
		finish(e, llm.FinishToolCalls)
	})
}

const patch = "*** Begin Patch\n*** Update File: a \"b\".go\n-\told \\n\n+\tnew „Grüße“ 🙂\u2028\n*** End Patch"

func custom(t testing.TB) *llm.Request {
	t.Helper()
	return asked(t, `{"model":"m","input":"x","stream":true,"tools":[{"type":"custom","name":"apply_patch",
		"format":{"type":"grammar","syntax":"lark","definition":"start: x"}}]}`)
}

func TestCustomToolIsCalledWithItsExactText(t *testing.T) {
	whole, err := json.Marshal(map[string]string{"input": patch})
	if err != nil {
		t.Fatal(err)
	}
	for name, pieces := range map[string][]string{
		"whole": {string(whole)}, "byte by byte": strings.Split(string(whole), ""), "after spaces": {" \n", string(whole), " {}"},
		"as it is": {patch}, "as it is, in lines": strings.SplitAfter(patch, "\n"),
	} {
		r := dialect.Both(t, custom(t), calling("apply_patch", pieces...))
		if kinds(r) != "custom_tool_call" || r.Output[0].Input != patch || r.Output[0].Name != "apply_patch" ||
			r.Output[0].CallID != "toolu_1" || r.Output[0].Status != "completed" || !strings.HasPrefix(r.Output[0].ID, "ctc_") {
			t.Errorf("%s: %s", name, r.raw)
		}
		deltas := 0
		for _, e := range r.events {
			if e == "response.custom_tool_call_input.delta" {
				deltas++
			}
		}
		if deltas != 1 {
			t.Errorf("%s: %d deltas", name, deltas)
		}
	}
}

// A custom tool whose call is cut has the text as far as it came.
func TestCallThatIsCutIsIncomplete(t *testing.T) {
	cut := func(name, arguments string) llm.Stream {
		return answers(func(e *llm.Emitter) {
			e.Text(0, "a")
			e.Call(0, &llm.CallStart{ID: "1", Name: name, Arguments: arguments})
			finish(e, llm.FinishLength)
		})
	}
	whole, _ := json.Marshal(map[string]string{"input": patch})
	for at := len(`{"input":"`); at < len(whole); at++ {
		r := dialect.Both(t, custom(t), cut("apply_patch", string(whole[:at])))
		call := r.Output[1]
		if r.Status != "incomplete" || r.Incomplete.Reason != "max_output_tokens" || r.Output[0].Status != "completed" ||
			call.Status != "incomplete" || !strings.HasPrefix(patch, strings.TrimRight(call.Input, "\uFFFD")) {
			t.Fatalf("cut at %d: %s", at, r.raw)
		}
	}
	r := dialect.Both(t, anyRequest(), cut("f", `{"a": "b`))
	if call := r.Output[1]; call.Status != "incomplete" || call.arguments() != `{"a": "b` {
		t.Errorf("%s", r.raw)
	}
	if r = dialect.Both(t, anyRequest(), cut("f", ``)); r.Output[1].Status != "incomplete" || r.Output[1].arguments() != "" {
		t.Errorf("%s", r.raw)
	}
	if r = dialect.Both(t, anyRequest(), cut("f", `{"a":1}`)); r.Output[1].Status != "completed" || r.Status != "incomplete" {
		t.Errorf("%s", r.raw)
	}
	if r = dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) { e.Text(0, "a"); finish(e, llm.FinishLength) })); r.Output[0].Status != "incomplete" {
		t.Errorf("%s", r.raw)
	}
}

func TestToolsThatTheClientRunsHaveTheirOwnItems(t *testing.T) {
	const body = `{"model":"m","input":"x","tools":[{"type":"local_shell"},{"type":"shell","environment":{"type":"local"}},` +
		`{"type":"apply_patch"},{"type":"tool_search","execution":"client"}]}`
	req := asked(t, body)
	names := functions(t, req)
	if len(names) != 4 {
		t.Fatal(names)
	}
	for _, tt := range []struct{ name, arguments, kind, want string }{
		{names[0], `{"command":["ls","-l"],"working_directory":"/a","timeout_ms":100,"env":{"A":"b"}}`, "local_shell_call",
			`"action":{"type":"exec","command":["ls","-l"],"env":{"A":"b"},"timeout_ms":100,"working_directory":"/a"}`},
		{names[0], `{"command":"ls -l | wc"}`, "local_shell_call",
			`"action":{"type":"exec","command":["bash","-lc","ls -l | wc"],"env":{}}`},
		{names[0], `{"command":7,"env":{"A":1}}`, "local_shell_call",
			`"action":{"type":"exec","command":[],"env":{}}`},
		{names[1], `{"commands":["a","b"],"timeout_ms":1,"max_output_length":2}`, "shell_call",
			`"environment":{"type":"local"},"action":{"commands":["a","b"],"timeout_ms":1,"max_output_length":2}`},
		{names[1], `{"command":"a"}`, "shell_call",
			`"environment":{"type":"local"},"action":{"commands":["a"],"timeout_ms":null,"max_output_length":null}`},
		{names[2], `{"type":"create_file","path":"a","diff":"+b\n"}`, "apply_patch_call",
			`"operation":{"type":"create_file","path":"a","diff":"+b\n"}`},
		{names[2], `{"operation":{"type":"delete_file","path":"a"}}`, "apply_patch_call", `"operation":{"type":"delete_file","path":"a"}`},
		{names[2], `{"type":"edit","path":1}`, "apply_patch_call", `"operation":{"type":"update_file","path":"","diff":""}`},
		{names[3], `{ "query": "a",` + "\n" + `"limit":2}`, "tool_search_call", `"execution":"client","arguments":{"query":"a","limit":2}`},
		{names[3], `nothing`, "tool_search_call", `"execution":"client","arguments":{}`},
	} {
		r := dialect.Both(t, req, calling(tt.name, tt.arguments))
		if kinds(r) != tt.kind || !strings.Contains(r.raw, tt.want) || r.Output[0].CallID != "toolu_1" {
			t.Errorf("%s: not %s in %s", tt.arguments, tt.want, r.raw)
		}
	}
}
