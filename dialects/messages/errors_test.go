package messages_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/providers"
)

// refused is an upstream's refusal as clients are told it.
func refused(status int, code, message string) *api.Error {
	return (&providers.Refusal{Provider: "openai", Status: status, Code: code, Message: message}).ClientError()
}

// What clients and upstreams cause is in tests/messages.
func TestErrorsHaveAnthropicsTypesAndStatuses(t *testing.T) {
	own := func(status int, code string) *api.Error { return &api.Error{Status: status, Code: code, Message: "m"} }
	for _, tt := range []struct {
		name   string
		err    *api.Error
		status int
		kind   string
		retry  bool
	}{
		{"a wrong request", own(400, api.CodeInvalidValue), 400, "invalid_request_error", false},
		{"a budget", own(402, api.CodeBudgetExceeded), 402, "billing_error", false},
		{"a model that is not allowed", own(403, api.CodeModelNotAllowed), 403, "permission_error", false},
		{"a time-out", refused(504, "", "late"), 504, "timeout_error", true},
		{"Anthropic's overload", refused(529, "overloaded_error", "Overloaded"), 529, "overloaded_error", true},
		{"an open circuit", (&providers.Refusal{Provider: "p", Told: 503, Public: "paused", RetryAfter: time.Second}).ClientError(),
			529, "overloaded_error", true},
		{"a provider without a key", (&providers.Refusal{Provider: "p", Told: 503, Public: "none", Final: true}).ClientError(),
			503, "api_error", false},
		{"the gateway without its database", api.Unavailable(nil), 503, "api_error", true},
		{"a fault of the gateway", api.Internal(nil), 500, "api_error", true},
		{"an upstream's unknown model", refused(404, "", "gone"), 404, "not_found_error", false},
		{"content that cannot be processed", refused(422, "", "bad"), 422, "invalid_request_error", false},
	} {
		tt.err.RequestID = "req_1"
		body := messages.Dialect().AppendError(nil, tt.err)
		var got errorMessage
		if err := json.Unmarshal(body, &got); err != nil || got.Type != "error" || got.Error.Type != tt.kind || got.Error.Message == "" ||
			got.RequestID == nil || *got.RequestID != "req_1" {
			t.Errorf("%s: %v: %s", tt.name, err, body)
		}
		if status := messages.Dialect().ErrorStatus(tt.err); status != tt.status || tt.err.ShouldRetry() != tt.retry {
			t.Errorf("%s: status %d, retry %t", tt.name, status, tt.err.ShouldRetry())
		}
	}
}

// As an answer it passes as it is (tests/messages); as an event it is one line.
func TestAnErrorOfAnUpstreamThatSpeaksTheDialectIsOneEvent(t *testing.T) {
	e := refused(529, "overloaded_error", "Overloaded")
	e.Raw, e.RawDialect, e.RequestID = []byte("{\n \"type\": \"error\"\n}"), llm.Messages, "req_ours"
	text := string(messages.Dialect().NewWriter(anyRequest(), nil).Fail(nil, e))
	if text != "event: error\ndata: {\"type\":\"error\"}\n\n" {
		t.Errorf("%q", text)
	}
	e.Raw = []byte("{\n \"type\": ")
	if text = string(messages.Dialect().NewWriter(anyRequest(), nil).Fail(nil, e)); strings.Count(text, "\n") != 3 ||
		!strings.Contains(text, `"type":"overloaded_error"`) {
		t.Errorf("%q", text)
	}
	e.RawDialect = llm.Chat // as bytes of another dialect it is no answer
	if got := string(messages.Dialect().AppendError(nil, e)); strings.Contains(got, "\n") {
		t.Errorf("%s", got)
	}
}

func messageOf(t *testing.T, e *api.Error) string {
	t.Helper()
	var got errorMessage
	if err := json.Unmarshal(messages.Dialect().AppendError(nil, e), &got); err != nil {
		t.Fatal(err)
	}
	if got.RequestID != nil {
		t.Errorf("the request has no id, and the body has %q", *got.RequestID)
	}
	return got.Error.Message
}

func TestMessagesBeginWithTheField(t *testing.T) {
	for _, tt := range []struct {
		err  *api.Error
		want string
	}{
		{api.Missing("max_tokens"), "max_tokens: Field required"},
		{api.Missing("messages[3].content[0].text"), "messages.3.content.0.text: Field required"},
		{api.NotOneOf("messages[0].role", "robot", []string{"user", "assistant"}),
			`messages.0.role: must be one of user, assistant, not "robot"`},
		{api.Invalid(api.CodeInvalidValue, "messages[1].content[2]", "the call has no result"), "messages.1.content.2: the call has no result"},
		{api.Invalid(api.CodeInvalidValue, "messages[1]", "messages.1: has no text"), "messages.1: has no text"},
		{api.Invalid(api.CodeUnsupportedValue, "messages[].content[].cache_control", "no"), "messages.content.cache_control: no"},
		{api.Invalid(api.CodeInvalidJSON, "", "the body is empty"), "the body is empty"},
		{&api.Error{Status: 404, Code: api.CodeModelNotFound, Param: "model", Message: "there is no model", Model: "claude-none"}, "model: claude-none"},
		{refused(400, "", "messages: at least one message is required"), "messages: at least one message is required"},
	} {
		if got := messageOf(t, tt.err); got != tt.want {
			t.Errorf("%q, not %q", got, tt.want)
		}
	}
}

func TestContextOverflowIsToldInAnthropicsWords(t *testing.T) {
	const code = api.CodeContextLength
	for _, tt := range []struct {
		name     string
		err      *api.Error
		measured [2]int64 // the estimate, and the catalogue's context
		want     string
	}{
		{"Anthropic's", refused(400, "invalid_request_error", "prompt is too long: 3333404 tokens > 200000 maximum"), [2]int64{1, 2},
			"prompt is too long: 3333404 tokens > 200000 maximum"},
		{"Anthropic's of both", refused(400, "", "input length and `max_tokens` exceed context limit: 1 + 2 > 2, decrease"), [2]int64{1, 2},
			"input length and `max_tokens` exceed context limit: 1 + 2 > 2, decrease"},
		{"OpenAI's", refused(400, code, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. "+
			"Please reduce the length of the messages."), [2]int64{1, 2}, "prompt is too long: 9001 tokens > 8192 maximum"},
		{"OpenAI's with tools", refused(400, code, "This model's maximum context length is 8192 tokens. However, your messages resulted in "+
			"9001 tokens (9000 in the messages, 1 in the functions). Please reduce the length of the messages or functions."), [2]int64{},
			"prompt is too long: 9001 tokens > 8192 maximum"},
		{"OpenAI's with an answer", refused(400, code, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "+
			"(6000 in the messages, 1000 in the functions, and 2000 in the completion). Please reduce"), [2]int64{},
			"input length and `max_tokens` exceed context limit: 7000 + 2000 > 8192, decrease input length or `max_tokens` and try again"},
		{"vLLM's", refused(400, "400", "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, "+
			"500 in the completion). Please reduce the length of the messages or completion."), [2]int64{},
			"prompt is too long: 4500 tokens > 4096 maximum"},
		{"vLLM's of max_tokens", refused(400, "", "'max_tokens' or 'max_completion_tokens' is too large: 100000. This model's maximum context length "+
			"is 32768 tokens and your request has 1234 input tokens (100000 > 32768 - 1234)."), [2]int64{},
			"input length and `max_tokens` exceed context limit: 1234 + 100000 > 32768, decrease input length or `max_tokens` and try again"},
		{"Gemini's", refused(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
			[2]int64{}, "prompt is too long: 1200000 tokens > 1048576 maximum"},
		{"one without numbers", refused(400, code, "Your input exceeds the context window of this model. Please adjust your input and try again."),
			[2]int64{500, 400}, "prompt is too long: 500 tokens > 400 maximum"},
		{"a low estimate", refused(400, code, "Your input exceeds the context window of this model."),
			[2]int64{300, 400}, "prompt is too long: 401 tokens > 400 maximum"},
		{"a limit alone", refused(400, "", "This model's maximum context length is 4096 tokens."),
			[2]int64{5000, 400}, "prompt is too long: 5000 tokens > 4096 maximum"},
		{"a large body", refused(413, "", "This model's maximum context length is 4096 tokens."),
			[2]int64{5000, 400}, "prompt is too long: 5000 tokens > 4096 maximum"},
		{"a number that is none", refused(400, "", "This model's maximum context length is 99999999999999999999 tokens."), [2]int64{5, 4},
			"prompt is too long: 5 tokens > 4 maximum"},
		{"nothing known", refused(400, code, "Too long."), [2]int64{}, "prompt is too long: Too long."},
	} {
		tt.err.TooLong = func() (int64, int64) { return tt.measured[0], tt.measured[1] }
		if got := messageOf(t, tt.err); got != tt.want || messages.Dialect().ErrorStatus(tt.err) != 400 {
			t.Errorf("%s: %q, not %q", tt.name, got, tt.want)
		}
	}
	if got := messageOf(t, refused(400, code, "Too long.")); got != "prompt is too long: Too long." { // inside a stream
		t.Errorf("%q", got)
	}
	if got := messageOf(t, refused(500, code, "maximum context length")); got != "maximum context length" {
		t.Errorf("%q", got)
	}
}
