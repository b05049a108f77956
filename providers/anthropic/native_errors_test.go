package anthropic

import (
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

func TestErrorsOfTheUpstreamArePassedOnInItsBytes(t *testing.T) {
	problem := func(kind, message string) string {
		return `{"type":"error", "error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_011"}`
	}
	invalid := problem("invalid_request_error", "prompt is too long: 210000 tokens \\u003e 200000 maximum")
	const text = "hello"
	for _, tt := range []struct {
		status int
		body   string
		want   string // empty: the error is the gateway's own
	}{
		{400, invalid, invalid},
		{404, problem("not_found_error", "model: claude-x"), problem("not_found_error", "model: claude-x")},
		{409, problem("conflict_error", "twice"), problem("conflict_error", "twice")},
		{413, problem("request_too_large", "32 MB"), problem("request_too_large", "32 MB")},
		{422, invalid, invalid},
		{429, problem("rate_limit_error", "slow down"), problem("rate_limit_error", "slow down")},
		{500, problem("api_error", "boom"), problem("api_error", "boom")},
		{503, problem("api_error", "boom"), problem("api_error", "boom")},
		{529, problem("overloaded_error", "Overloaded"), problem("overloaded_error", "Overloaded")},

		{400, problem("invalid_request_error", "Your credit balance is too low to access the API"), ""},
		{401, problem("authentication_error", "invalid x-api-key"), ""},
		{402, problem("billing_error", "pay"), ""},
		{403, problem("permission_error", "no"), ""},
		{405, invalid, ""},
		{302, invalid, ""},
		{413, `<html>too large</html>`, ""},
		{500, ``, ""},
		{500, `{"error":{"message":"of another API","type":"server_error"}}`, ""},
		{500, `{"type":"error","error":"boom"}`, ""},
		{500, `{"type":"error","error":{"type":"api_error"}}`, ""},
		{500, invalid + text, ""},

		{400, problem("invalid_request_error", "bad key sk-ant-api03-abcdefghij, see https://docs.claude.com"),
			problem("invalid_request_error", "bad key [redacted], see https://docs.claude.com")},
		{400, problem("invalid_request_error", "the key "+testKey+" is bad"), problem("invalid_request_error", "the key [redacted] is bad")},
		{429, problem("rate_limit_error", "the rate limit for your organization (12345678-90ab-cdef-1234-567890abcdef) of 30,000 input tokens per minute"),
			problem("rate_limit_error", "the rate limit for your organization ([account]) of 30,000 input tokens per minute")},
	} {
		script := jsonScript(tt.status, tt.body)
		script.Header.Set("Request-Id", "req_011")
		_, _, err := ask(t, `{"model":"m","max_tokens":9,"stream":true,"messages":[]}`, nil, script)
		e := api.AsError(err)
		if string(e.Raw) != tt.want || (e.RawDialect == llm.Messages) != (tt.want != "") || e.UpstreamStatus != tt.status {
			t.Errorf("%d %s: %s, %+v", tt.status, tt.body, e.Raw, e)
		}
	}
}

func TestAnErrorUnderStatus200IsPassedOnInItsBytes(t *testing.T) {
	const body = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`
	_, _, err := ask(t, `{"model":"m","messages":[]}`, nil, jsonScript(200, body))
	if e := api.AsError(err); string(e.Raw) != body || e.UpstreamStatus != 529 || e.UpstreamCode != "overloaded_error" {
		t.Errorf("%+v", e)
	}
}

func TestAnAnswerThatIsNoMessageIsNotPassedOn(t *testing.T) {
	for _, body := range []string{
		``, `no`, `[]`, `{}`, `{"type":"message"}`, `{"type":"message","content":"a"}`, `{"type":"other","content":[]}`,
		wholeMessageText[:len(wholeMessageText)-1], wholeMessageText + "x",
	} {
		_, _, err := ask(t, `{"model":"m","messages":[]}`, nil, jsonScript(200, body))
		if e := api.AsError(err); e.Status != 502 || e.Raw != nil {
			t.Errorf("%s: %+v", body, e)
		}
	}
	for _, body := range []string{" " + wholeMessageText + "\n", strings.Replace(wholeMessageText, `"id"`, `"new":1e9,"id"`, 1)} {
		stream, _, err := ask(t, `{"model":"m","messages":[]}`, nil, jsonScript(200, body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if answer, err := llm.Collect(stream); err != nil || string(answer.Raw) != body || answer.Usage.Input != 3 {
			t.Errorf("%s: %+v, %v", body, answer, err)
		}
	}
}

// Another dialect has no use for the upstream's words.
func TestErrorsOfTranslatedCallsHaveNoBody(t *testing.T) {
	upstream := providertest.Serve(t, jsonScript(400, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`))
	_, err := openTranslated(t, upstream.URL)
	if e := api.AsError(err); e.Raw != nil || e.RawDialect != "" || e.Message != "no" {
		t.Errorf("%+v", e)
	}
}

func openTranslated(t *testing.T, url string) (llm.Stream, error) {
	t.Helper()
	x, err := provider(url).Prepare(providers.Call{Request: chatRequest(t, `{"model":"m",`+talk(user("q"))+`}`), Model: model(t, budgetNew)})
	if err != nil {
		t.Fatal(err)
	}
	return x.Open(t.Context(), testKey)
}
