package responses

import (
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/llm"
)

// What an upstream that speaks the dialect says of its failure is told in its words; the
// gateway's own errors follow the upstream's events.
func TestAFailureOfANativeStreamIsTold(t *testing.T) {
	const first = "event: response.created\ndata: {}\n\n"
	failure := func(raw string) string {
		w := Dialect{}.NewWriter(&llm.Request{Source: new(Request)})
		out, err := w.Append(nil, &llm.Event{Head: &llm.Head{ID: "resp_of_the_client", Model: "gpt-x"}, Raw: []byte(first), RawDialect: llm.Responses})
		if err != nil || string(out) != first {
			t.Fatalf("%s, %v", out, err)
		}
		return string(w.Fail(nil, &api.Error{
			Status: 502, Code: api.CodeProviderError, Message: "broken", UpstreamStatus: 500, Raw: []byte(raw), RawDialect: llm.Responses,
		}))
	}
	for raw, want := range map[string]string{
		`{"type":"response.failed","response":{"id":"r"}}`: "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\"}}\n\n",
		`{"type":"error","message":"m"}`:                   "event: error\ndata: {\"type\":\"error\",\"message\":\"m\"}\n\n",
		"{\"type\":\"error\",\n\"a\":1}":                   "event: error\ndata: {\"type\":\"error\",\"a\":1}\n\n",
	} {
		if got := failure(raw); got != want {
			t.Errorf("%s: %s", raw, got)
		}
	}
	for _, raw := range []string{"", `{"error":{"message":"m"}}`, `{"type":"new"}`} {
		got := failure(raw)
		if strings.Count(got, "event: ") != 2 || !strings.Contains(got, `"sequence_number":1`) || !strings.Contains(got, `"id":"resp_of_the_client"`) ||
			!strings.Contains(got, "event: response.failed\n") || !strings.Contains(got, "broken") {
			t.Errorf("%s: %s", raw, got)
		}
	}
}
