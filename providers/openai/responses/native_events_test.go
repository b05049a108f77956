package responses

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
)

const (
	firstEvent = `{"type":"response.created","response":{"id":"resp_0123456789","object":"response","status":"in_progress","model":"gpt-x",` +
		`"previous_response_id":null,"service_tier":"auto","output":[]},"sequence_number":0}`
	lastEvent = `{"type":"response.completed","response":{"id":"resp_0123456789","object":"response","status":"completed","model":"gpt-x",` +
		`"previous_response_id":null,"service_tier":"default","output":[],"usage":{"input_tokens":4,"output_tokens":9}},"sequence_number":9}`
)

// lines are events with this data.
func lines(data ...string) string {
	var all strings.Builder
	for _, d := range data {
		kind, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
		all.WriteString("event: " + kind + "\ndata: " + d + "\n\n")
	}
	return all.String()
}

func TestTheIDsOfResponsesAreReplacedWhereverTheyStand(t *testing.T) {
	body := lines(strings.Replace(firstEvent, `"previous_response_id":null`, `"previous_response_id":"resp_before"`, 1),
		`{"type":"response.new_event","of":["resp_0123456789","resp_before resp_0123456789"],"other":"resp_012345678"}`,
		`{"type":"response.output_text.delta","delta":"resp_0123456789"}`, lastEvent)
	n := nativeOf(t, `{"model":"m","previous_response_id":"resp_before_mgw_x","stream":true,"input":"hi"}`, func(r *llm.Request) {
		r.Kept = &llm.Kept{Provider: catalog.OpenAI, ID: "resp_before"}
	})
	want := strings.NewReplacer("resp_0123456789", "resp_0123456789_mgw_openai_k", "resp_before", "resp_before_mgw_x").Replace(body)
	if got := passOn(t, n, strings.NewReader(body)); got.Err != nil || got.Bytes != want {
		t.Errorf("%v\n%s\nwant\n%s", got.Err, got.Bytes, want)
	}
	n = nativeOf(t, streaming, func(r *llm.Request) { r.Handle = nil })
	got := passOn(t, n, strings.NewReader(body))
	if got.Err != nil || strings.Contains(got.Bytes, `"resp_0123456789"`) || strings.Count(got.Bytes, `"id":"resp_`) != 2 {
		t.Errorf("without handles: %v\n%s", got.Err, got.Bytes)
	}
}

func TestUsageOfAResponseHasEverythingThatCosts(t *testing.T) {
	item := func(item string) string { return `{"type":"response.output_item.done","item":` + item + `}` }
	last := strings.NewReplacer(`"default"`, `"priority"`, `{"input_tokens":4,"output_tokens":9}`,
		`{"input_tokens":40,"input_tokens_details":{"cached_tokens":7,"cache_write_tokens":5},"output_tokens":9,`+
			`"output_tokens_details":{"reasoning_tokens":3},"total_tokens":49}`).Replace(lastEvent)
	body := lines(firstEvent, item(`{"type":"web_search_call","action":{"type":"search"}}`), item(`{"type":"web_search_call","action":{"type":"open_page"}}`),
		item(`{"type":"web_search_call"}`), item(`{"type":"code_interpreter_call"}`), item(`{"type":"file_search_call"}`),
		item(`{"type":"shell_call","environment":{"type":"local"}}`), item(`{"type":"shell_call","environment":{"container_id":"c"}}`), last)
	want := &llm.Usage{
		Input: 40, Output: 9, Total: 49, HasCache: true, Cached: 7, CacheWrite: 5, HasReasoning: true, Reasoning: 3, Tier: "priority",
		Searches: 2, Tools: 3,
	}
	got := passOn(t, nativeOf(t, streaming), strings.NewReader(body))
	if got.Err != nil || !reflect.DeepEqual(got.Usage(), want) || got.Events[0].Head.ServiceTier != "priority" {
		t.Errorf("%+v, %v", got.Usage(), got.Err)
	}
	cut := passOn(t, nativeOf(t, streaming), strings.NewReader(body[:strings.Index(body, "event: response.completed")]))
	if u := cut.Events[0].Head.Counter.Counted(); u == nil || u.Searches != 2 || u.Tools != 3 || u.Input != 0 || cut.Err == nil {
		t.Errorf("cut before its end: %+v, %v", u, cut.Err)
	}
	told := strings.Replace(lastEvent, `"output":[]`, `"output":[{"type":"web_search_call"}],"tool_usage":{"web_search":{"num_requests":3}}`, 1)
	if got := passOn(t, nativeOf(t, streaming), strings.NewReader(lines(firstEvent, told))); got.Usage().Searches != 3 {
		t.Errorf("of more searches %+v, %v", got.Usage(), got.Err)
	}
}

func TestPiecesOfResponsesAreMeteredByTheirKinds(t *testing.T) {
	piece := func(kind, delta string) string {
		return `{"type":"response.` + kind + `.delta","item_id":"i","delta":` + delta + `,"sequence_number":1}`
	}
	body := lines(firstEvent, piece("reasoning_summary_text", `"so "`), piece("reasoning_summary_text", `"\u00e9"`),
		`{"type":"response.output_item.added","item":{"type":"function_call","name":"find"}}`, piece("function_call_arguments", `"{\"a\":"`),
		piece("function_call_arguments", `"1}"`), piece("output_text", `"a"`), piece("output_text", `"b\n"`), piece("refusal", `"no"`),
		`{"delta":"first","type":"response.output_text.delta"}`, `{"delta":"AAAA","type":"response.audio.delta"}`,
		piece("output_text", `{"a":1}`), `[1]`, `no JSON`, `{"type":"response.new","delta":`, lastEvent)
	got := passOn(t, nativeOf(t, streaming), strings.NewReader(body))
	byKind := map[llm.EventKind]string{}
	for i := range got.Events {
		byKind[got.Events[i].Kind] += got.Events[i].Text
	}
	want := map[llm.EventKind]string{
		llm.EventThought: "so é", llm.EventOther: "find", llm.EventInput: `{"a":1}`, llm.EventText: "ab\nnofirst", llm.EventFinish: "",
	}
	if got.Err != nil || !reflect.DeepEqual(byKind, want) {
		t.Errorf("%v, %v", byKind, got.Err)
	}
}

func TestAStreamOfResponsesThatDoesNotBeginIsRefused(t *testing.T) {
	inProgress := strings.Replace(firstEvent, "response.created", "response.in_progress", 1)
	failed := func(code string) string {
		return strings.NewReplacer("response.created", "response.failed", `"output":[]`, `"output":[],"error":{"code":"`+code+`","message":"for a reason"}`).Replace(firstEvent)
	}
	for _, tt := range []struct {
		name, body string
		status     int    // of the refusal
		raw        string // what clients of the API are told; empty = nothing
	}{
		{"an error first", lines(`{"type":"error","code":"server_is_overloaded","message":"Overloaded","param":null,"sequence_number":0}`), 503,
			`{"error":{"message":"Overloaded","type":"server_error","param":null,"code":"server_is_overloaded"}}`},
		{"an error in an object", lines(firstEvent, inProgress, `{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded",`+
			`"message":"too long for org-abc","param":"input"},"sequence_number":2}`, failed("context_length_exceeded")), 400,
			`{"error":{"message":"too long for [account]","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`},
		{"a response that fails", lines(firstEvent, failed("rate_limit_exceeded")), 429,
			`{"error":{"message":"for a reason","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`},
		{"a response that fails at the server", lines(failed("server_error")), 500,
			`{"error":{"message":"for a reason","type":"server_error","param":null,"code":"server_error"}}`},
		{"a bad image", lines(firstEvent, failed("invalid_image_url")), 400,
			`{"error":{"message":"for a reason","type":"invalid_request_error","param":null,"code":"invalid_image_url"}}`},
		{"without words", lines(firstEvent, strings.Replace(firstEvent, "response.created", "response.failed", 1)), 500, ""},
		{"JSON", `{"error":{"message":"no","type":"server_error","code":null}}`, 500,
			`{"error":{"message":"no","type":"server_error","param":null,"code":null}}`},
		{"no start", lines(`{"type":"response.output_text.delta","delta":"a"}`), 0, ""},
		{"nothing", "", 0, ""},
		{"only its start", lines(firstEvent, inProgress), 0, ""},
		{"no event", "<html></html>", 0, ""},
	} {
		got := passOn(t, nativeOf(t, streaming), strings.NewReader(tt.body))
		r, ok := errors.AsType[*providers.Refusal](got.Err)
		if !ok || r.Status != tt.status || string(r.Body) != tt.raw || (r.Dialect == llm.Responses) != (tt.raw != "") || got.Bytes != "" {
			t.Errorf("%s: %d %s, %v %q", tt.name, r.Status, r.Body, got.Err, got.Bytes)
		}
	}
}

// The event that says how an answer failed is for the error that ends the stream; what came
// before it is passed on.
func TestAFailureInsideAStreamOfResponsesIsToldInTheUpstreamsWords(t *testing.T) {
	const added = `{"type":"response.output_item.added","item":{"type":"message"},"sequence_number":1}`
	const problem = `{"type":"error","error":{"type":"server_error","code":"server_error","message":"broken at sk-proj-abcdefgh"},"sequence_number":2}`
	failed := strings.NewReplacer("response.completed", "response.failed", `"status":"completed"`,
		`"status":"failed","error":{"code":"server_error","message":"broken at sk-proj-abcdefgh"}`).Replace(lastEvent)
	clean := strings.NewReplacer("sk-proj-abcdefgh", "[redacted]", "resp_0123456789", "resp_0123456789_mgw_openai_k")
	for _, tt := range []struct{ name, body, passed, told string }{
		{"a response", lines(firstEvent, added, failed), lines(firstEvent, added), failed},
		{"an error and a response", lines(firstEvent, added, problem, failed), lines(firstEvent, added, problem), failed},
		{"an error", lines(firstEvent, added, problem), lines(firstEvent, added), problem},
	} {
		got := passOn(t, nativeOf(t, streaming), strings.NewReader(tt.body))
		r, ok := errors.AsType[*providers.Refusal](got.Err)
		if !ok || r.Status != 500 || string(r.Body) != clean.Replace(tt.told) {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if passed := strings.ReplaceAll(tt.passed, "resp_0123456789", "resp_0123456789_mgw_openai_k"); got.Bytes != passed {
			t.Errorf("%s: %s\nwant\n%s", tt.name, got.Bytes, passed)
		}
		if strings.HasSuffix(tt.told, failed) && got.Usage().Output != 9 {
			t.Errorf("%s: %+v", tt.name, got.Usage())
		}
	}
	noisy := lines(firstEvent, added, problem, `{"type":"response.output_text.delta","delta":"on"}`, lastEvent)
	if got := passOn(t, nativeOf(t, streaming), strings.NewReader(noisy)); got.Err != nil || len(got.Events) != 5 {
		t.Errorf("an error that is not the end: %v, %d events", got.Err, len(got.Events))
	}
}
