package messages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/option"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// TestPictureAndPDFInTheResultOfAToolReachTheModel sends both beside other results, whose
// order stays.
func TestPictureAndPDFInTheResultOfAToolReachTheModel(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	members := said(user(text("q")), assistant(use("t1"), use("t2"), use("t3")), user(
		result("t1", `,"content":[`+text("a picture")+`,`+picture+`]`), result("t2", `,"content":[`+pdf+`]`),
		result("t3", `,"content":"words"`), text("and now?"),
	)) + tools
	for _, want := range []wanted{
		{gpt4, map[string]string{
			"messages.2": `{"role":"tool","tool_call_id":"t1","content":"a picture"}`,
			"messages.3": `{"role":"tool","tool_call_id":"t2","content":"The result follows in a message of the user."}`,
			"messages.4": `{"role":"tool","tool_call_id":"t3","content":"words"}`,
			"messages.5": `{"role":"user","content":[{"type":"text","text":"Images and files of the result of the tool call t1:"},` +
				pngURL +
				`,{"type":"text","text":"Images and files of the result of the tool call t2:"},` + pdfFile + `]}`,
			"messages.6": `{"role":"user","content":"and now?"}`,
		}, ""},
		{flash2, map[string]string{"contents.2.parts": `[{"functionResponse":{"name":"look","response":{"output":"a picture"}}},` +
			`{"functionResponse":{"name":"look","response":{"output":""}}},{"functionResponse":{"name":"look",` +
			`"response":{"output":"words"}}},` +
			pngInline + `,{"text":"<document title=\"paper.pdf\"/>"},` + pdfInline + `,{"text":"and now?"}]`}, ""},
		{flash3, map[string]string{
			"contents.2.parts.0.functionResponse.parts": `[` + pngInline +
				`]`, "contents.2.parts.2.functionResponse.response": `{"output":"words"}`,
			"contents.2.parts.1.functionResponse.parts.1": pdfInline, "contents.2.parts.3": `{"text":"and now?"}`,
		}, ""},
	} {
		sentWanted(t, p, r, members, want)
	}
}

// TestRequestsThatDifferInTheBillingLineAreEqualUpstream: Claude Code changes that line
// with every request.
func TestRequestsThatDifferInTheBillingLineAreEqualUpstream(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	for _, model := range []string{gpt4, flash3} {
		var bodies []string
		for i := range 2 {
			line := fmt.Sprintf("x-anthropic-billing-header: cc_version=2.1.%d; cc_entrypoint=cli;", i)
			x := call(t, p, `{"model":"`+model+`",`+hi+`,"system":[`+text(line)+`,{"type":"text","text":"You are an agent.",`+
				`"cache_control":{"type":"ephemeral"}}]}`, true)
			if x.err != nil {
				t.Fatal(x.err)
			}
			bodies = append(bodies, string(r.one(t).body))
		}
		if bodies[0] != bodies[1] || strings.Contains(bodies[0], "billing") || !strings.Contains(bodies[0], "You are an agent.") {
			t.Errorf("%s:\n%s\n%s", model, bodies[0], bodies[1])
		}
	}
}

// TestWebSearchAloneIsRefusedAndBesideOthersDropped: an answer from memory to a request
// that only searches would look like a search.
func TestWebSearchAloneIsRefusedAndBesideOthersDropped(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	const search = `{"type":"web_search_20250305","name":"web_search","max_uses":8}`
	for _, model := range []string{gpt4, flash3} {
		for _, members := range []string{
			`,"tools":[` + search + `],"tool_choice":{"type":"auto"}`,
			`,"tools":[` + tool + `,` + search + `],"tool_choice":{"type":"tool","name":"web_search"}`,
		} {
			x := call(t, p, `{"model":"`+model+`",`+hi+members+`}`, true)
			refused(t, x.err, 400, "invalid_request_error", "Anthropic model")
		}
		beside := `{"model":"` + model + `",` + hi + `,"tools":[` + search + `,` + tool + `]}`
		x := call(t, p, beside, false)
		if sent := r.take(); x.err != nil || len(sent) != 1 || strings.Contains(string(sent[0].body), "search") ||
			x.header.Get("X-Gateway-Ignored-Params") != "tools[].type" {
			t.Errorf("%s: %v, %v", model, x.err, x.header)
		}
		x = call(t, p, beside, false, option.WithHeader("X-Gateway-Strict-Params", "true"))
		refused(t, x.err, 400, "invalid_request_error", "tools[].type")
	}
	if sent := r.take(); len(sent) > 0 {
		t.Errorf("the upstream was asked: %s", sent[0].body)
	}
}

// TestRepeatedAndIllegalIDsOfCallsBecomeUniqueAndLegal sends a history with ids of other
// gateways, and reads an answer with such ids.
func TestRepeatedAndIllegalIDsOfCallsBecomeUniqueAndLegal(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	long := strings.Repeat("x", 60)
	first := []string{user(text("q")), assistant(use("functions.Bash:0"), use("a")), user(result("functions.Bash:0", `,"content":"1"`),
		result("a", `,"content":"2"`))}
	second := append(first, assistant(use("a"), use(long)), user(result("a", `,"content":"3"`), result(long, `,"content":"4"`)))
	ids := func(messages []string) (all []string) {
		x := call(t, p, `{"model":"`+gpt4+`",`+said(messages...)+tools+`}`, false)
		if x.err != nil {
			t.Fatal(x.err)
		}
		body := r.one(t).body
		for i := range 20 {
			for j := range 2 {
				if id := at(t, body, fmt.Sprintf("messages.%d.tool_calls.%d.id", i, j)); id != "" {
					all = append(all, id)
				}
			}
		}
		return all
	}
	before, after := ids(first), ids(second)
	seen := map[string]bool{}
	for i, id := range after {
		if seen[id] || len(id) > 42 || i < len(before) && before[i] != id ||
			strings.Trim(id, `"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-`) != "" {
			t.Errorf("%s of %q, before %q", id, after, before)
		}
		seen[id] = true
	}
	if len(after) != 4 {
		t.Errorf("ids %q", after)
	}
}

func TestIDsOfCallsInAnAnswerAreUniqueAndLegal(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+u.URL)
	calls := func(ids ...string) string {
		var all []string
		for i, id := range ids {
			all = append(all, fmt.Sprintf(`{"index":%d,"id":%q,"type":"function","function":{"name":"look","arguments":""}}`, i, id))
		}
		return strings.Join(all, ",")
	}
	const head = `"id":"x","created":5,"model":"gpt-4.1"`
	each(t, func(t *testing.T, streamed bool) {
		if all := calls("functions.Bash:0", "a", "a", ""); streamed {
			u.Play(gatewaytest.Events(providertest.Proper, `data: {`+head+`,"object":"chat.completion.chunk","choices":[{"index":0,`+
				`"delta":{"role":"assistant","tool_calls":[`+all+
				`]},"finish_reason":null}]}`+"\n\n", `data: {`+head+`,"choices":[{"index":0,"delta":{},`+
				`"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n"))
		} else {
			u.Play(gatewaytest.JSON(200, `{`+head+`,"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",`+
				`"content":null,"tool_calls":[`+all+`]},"finish_reason":"stop"}]}`))
		}
		x := call(t, p, `{"model":"`+gpt4+`",`+hi+tools+`}`, streamed)
		if x.err != nil || len(x.message.Content) != 4 || x.message.StopReason != "tool_use" {
			t.Fatalf("%v, %+v", x.err, x.message)
		}
		seen := map[string]bool{}
		for _, b := range x.message.Content {
			if b.ID == "" || seen[b.ID] || strings.ContainsAny(b.ID, ".:") || string(b.Input) != "{}" {
				t.Errorf("%q with %s", b.ID, b.Input)
			}
			seen[b.ID] = true
		}
	})
}
