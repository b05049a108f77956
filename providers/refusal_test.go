package providers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
)

func TestRefusalsAndTheirStatus(t *testing.T) {
	for _, tt := range []struct {
		refusal Refusal
		status  int
		retry   bool
	}{
		{Refusal{Status: 400}, 400, false},
		{Refusal{Status: 400, Key: true}, 502, false},
		{Refusal{Status: 401}, 502, false},
		{Refusal{Status: 402}, 502, false},
		{Refusal{Status: 403}, 502, false},
		{Refusal{Status: 404}, 404, false},
		{Refusal{Status: 405}, 502, true},
		{Refusal{Status: 408}, 504, true},
		{Refusal{Status: 409}, 502, true},
		{Refusal{Status: 413}, 413, false},
		{Refusal{Status: 422}, 422, false},
		{Refusal{Status: 429}, 429, true},
		{Refusal{Status: 429, Final: true}, 429, false},
		{Refusal{Status: 429, RetryAfter: time.Hour}, 429, false},
		{Refusal{Status: 499}, 502, true},
		{Refusal{Status: 500}, 502, true},
		{Refusal{Status: 503}, 502, true},
		{Refusal{Status: 504}, 504, true},
		{Refusal{Status: 529}, 502, true},
	} {
		tt.refusal.Provider = "openai"
		e := tt.refusal.ClientError()
		if e.Status != tt.status || e.ShouldRetry() != tt.retry || e.Type != api.TypeAPI || e.UpstreamStatus != tt.refusal.Status ||
			e.Message == "" {
			t.Errorf("%+v became %d, retry %v: %s", tt.refusal, e.Status, e.ShouldRetry(), e.Message)
		}
	}
}

func TestUpstreamCodesAndFieldsAreToldToClients(t *testing.T) {
	for _, tt := range []struct {
		refusal     Refusal
		code, param string
	}{
		{Refusal{Status: 400, Code: "context_length_exceeded", Param: "messages", Message: "too long"}, "context_length_exceeded", "messages"},
		{Refusal{Status: 400, Code: "invalid_request_error", Message: "prompt is too long: 3333404 tokens > 200000 maximum"},
			"context_length_exceeded", ""},
		{Refusal{Status: 400, Code: "invalid_request_error", Message: "input length and `max_tokens` exceed context limit: 1 + 2 > 2"},
			"context_length_exceeded", ""},
		{Refusal{Status: 400, Code: "INVALID_ARGUMENT",
			Message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}, "context_length_exceeded", ""},
		{Refusal{Status: 400, Code: "400", Message: "This model's maximum context length is 4096 tokens."}, "context_length_exceeded", ""},
		{Refusal{Status: 400, Code: "400", Message: "no"}, "", ""},
		{Refusal{Status: 400, Code: "a\nb", Param: "https://host.example.com/x"}, "", "[address]"},
		{Refusal{Status: 500, Code: "api_error", Message: "maximum context length"}, "api_error", ""},
		{Refusal{Status: 401, Code: "invalid_api_key", Param: "key"}, "", ""},
	} {
		if e := tt.refusal.ClientError(); e.UpstreamCode != tt.code || e.Param != tt.param {
			t.Errorf("%+v became %q, %q", tt.refusal, e.UpstreamCode, e.Param)
		}
	}
}

func TestMessagesAreCleaned(t *testing.T) {
	for in, want := range map[string]string{
		"max_tokens: Field required":                       "max_tokens: Field required",
		"Incorrect API key provided: sk-ab***yz. You can":  "Incorrect API key provided: [redacted] You can",
		"bad key AIzaSyA1234567890":                        "bad key [redacted]",
		"see https://platform.openai.com/account/api-keys": "see [address]",
		"dial tcp 10.1.2.3:443: refused":                   "dial tcp [address]: refused",
		"proxy llm-7.internal:8080 failed":                 "proxy [address] failed",
		"in organization org-Abc123 on requests":           "in organization [account] on requests",
		"for projects/my-project-1 quota":                  "for [account] quota",
		"a\r\nb\x1b[31mc\u2028d":                           "a b [31mc d",
		"Authorization: Bearer abc.def":                    "Authorization: [redacted]",
		"bad \xff bytes":                                   "bad bytes",
		"messages.0.content: text is e.g. empty":           "messages.0.content: text is e.g. empty",
		"model gpt-4.1 costs 1.5":                          "model gpt-4.1 costs 1.5",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := clean(strings.Repeat("wörd ", 1000)); len(got) > 300 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestAnErrorHasNoOrganization(t *testing.T) {
	r := &Refusal{
		Provider: "anthropic", Status: 429, Code: "rate_limit_error",
		Message: "the rate limit for your organization (12345678-90ab-cdef-1234-567890abcdef) of 30,000 input tokens per minute",
	}
	e := r.ClientError()
	for what, text := range map[string]string{"client": e.Message, "log": e.Error(), "log of the refusal": r.Error()} {
		if strings.Contains(text, "12345678") || !strings.Contains(text, "your organization ([account]) of 30,000") {
			t.Errorf("the %s gets %q", what, text)
		}
	}
}

// Both remove the same secrets, but for addresses.
func TestAMessageThatIsPassedOnHasNoSecretsEither(t *testing.T) {
	const id = "12345678-90ab-cdef-1234-567890abcdef"
	for in, want := range map[string]string{
		"Incorrect API key provided: sk-ab***yz. You can": "Incorrect API key provided: [redacted] You can",
		"in organization org-Abc123 on requests":          "in organization [account] on requests",
		"your organization " + id + " on requests":        "your organization [account] on requests",
		"Organisation ID: " + strings.ToUpper(id):         "Organisation ID: [account]",
		"for projects/my-project-1 quota":                 "for [account] quota",
		"no file " + id + " in this organization":         "no file " + id + " in this organization",
	} {
		if passed, cleaned := Redact(in), clean(in); passed != want || cleaned != want {
			t.Errorf("%q became %q and %q", in, passed, cleaned)
		}
	}
	if in := "see https://docs.example.com/a"; Redact(in) != in {
		t.Errorf("%q", Redact(in))
	}
	if got := clean("https://host.example.com/projects/my-project-1/x failed"); got != "[address] failed" {
		t.Errorf("%q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("Incorrect API key provided: sk-abcdef123456 at https://x.example.com/a")
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text + " sk-canary123456 https://host.example.com/x")
		if len(got) > 300 || strings.ContainsAny(got, "\r\n") {
			t.Fatalf("%q", got)
		}
		if len(text) < 100 && strings.Contains(got, "host.example.com") {
			t.Fatalf("%q", got)
		}
	})
}

func ExampleRefusal_ClientError() {
	r := Refusal{Provider: "openai", Status: 401, Message: "Incorrect API key provided: sk-123"}
	fmt.Println(strings.ReplaceAll(r.ClientError().Message, ": ", ":\n"))
	// Output:
	// openai refused the gateway's credentials:
	// an operator of the gateway has to check the provider's key and its permissions
}
