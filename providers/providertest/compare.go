package providertest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
)

// Compare returns how an outcome differs from the expectation of its recording.
// Text, refusal and reasoning must be exactly the same, tool calls the same by
// name and by the value of their arguments, the finish reason and the token
// counts the same where the recording has them; and no rule of the format may
// be broken. An error must have the status, type and code of the API, and all
// the text that came before it.
func Compare(rec Recording, got Outcome) error {
	want := rec.amended()
	var c comparison
	c.faults = append(c.faults, got.Breaches...)
	c.same("text", want.Text, got.Text)
	if rec.wantsError(want) {
		c.failure(rec.status(want), got.Failure)
		return errors.Join(c.faults...)
	}
	if got.Failure != nil {
		c.fault("the outcome is an error: %+v", *got.Failure)
		return errors.Join(c.faults...)
	}
	c.same("refusal", want.Refusal, got.Refusal)
	if want.Reasoning != nil {
		c.same("reasoning", *want.Reasoning, got.Reasoning)
	}
	c.calls(want.ToolCalls, got.ToolCalls)
	if want.FinishReason != nil {
		c.same("finish reason", *want.FinishReason, got.FinishReason)
	}
	c.usage(want.Usage, got.Usage)
	c.extra(rec.Provider, want, got)
	return errors.Join(c.faults...)
}

type comparison struct{ faults []error }

func (c *comparison) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(format, args...))
}

func (c *comparison) same(what, want, got string) {
	if want == got {
		return
	}
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	from := max(0, at-20)
	c.fault("%s differs at byte %d of %d: want …%.80q, got …%.80q", what, at, len(want), want[from:], got[from:])
}

func (c *comparison) calls(want, got []ToolCall) {
	if len(want) != len(got) {
		c.fault("%d tool calls, want %d: %v", len(got), len(want), got)
		return
	}
	for i := range want {
		c.same("name of tool call "+strconv.Itoa(i), want[i].Name, got[i].Name)
		if !sameValue(want[i].Arguments, got[i].Arguments) {
			c.same("arguments of tool call "+strconv.Itoa(i), want[i].Arguments, got[i].Arguments)
		}
		if got[i].ID == "" {
			c.fault("tool call %d has no id", i)
		}
	}
}

// extra compares what stands outside OpenAI's own members. An OpenAI upstream tells its
// reason in OpenAI's words.
func (c *comparison) extra(provider string, want Expect, got Outcome) {
	var told struct {
		Native string `json:"native_finish_reason"`
	}
	if got.Ending != "" && json.Unmarshal([]byte(got.Ending), &told) != nil {
		c.fault("what stands beside the finish reason is %s", got.Ending)
	}
	if want.Native != nil && provider != catalog.OpenAI {
		c.same("native finish reason", *want.Native, told.Native)
	}
	if len(want.Ending) > 0 && !sameValue(string(want.Ending), got.Ending) {
		c.same("what stands beside the finish reason", string(want.Ending), got.Ending)
	}
	if want.Annotations != nil {
		c.same("annotations", encoded(want.Annotations), encoded(got.Annotations))
	}
	if want.Files != nil && !slices.Equal(want.Files, got.Files) {
		c.fault("files are %q, want %q", got.Files, want.Files)
	}
	if want.Audio != "" {
		c.same("audio", want.Audio, got.Sound)
	}
}

func encoded(all []chat.Annotation) string {
	text, err := json.Marshal(all, api.Lenient)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// sameValue compares texts as JSON, with the digits of numbers as they are.
func sameValue(a, b string) bool {
	x, y := jsontext.Value(a), jsontext.Value(b)
	exact := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawInts(false),
		jsontext.CanonicalizeRawFloats(false)}
	return x.Format(exact...) == nil && y.Format(exact...) == nil && bytes.Equal(x, y)
}

func (c *comparison) usage(want *Counts, got *chat.Usage) {
	switch {
	case want == nil:
		return
	case got == nil:
		c.fault("the usage is missing")
		return
	}
	count := func(what string, want, got int64) {
		if want != got {
			c.fault("%s is %d, want %d", what, got, want)
		}
	}
	count("prompt_tokens", want.Prompt, got.PromptTokens)
	count("completion_tokens", want.Completion, got.CompletionTokens)
	count("total_tokens", want.Total, got.TotalTokens)
	if want.Reasoning != nil {
		details := cmp.Or(got.CompletionTokensDetails, new(chat.CompletionDetails))
		count("reasoning_tokens", *want.Reasoning, details.ReasoningTokens)
	}
	if want.Cached != nil {
		details := cmp.Or(got.PromptTokensDetails, new(chat.PromptDetails))
		count("cached_tokens", *want.Cached, details.CachedTokens)
	}
}

func (c *comparison) failure(status int, got *Failure) {
	if got == nil {
		c.fault("the outcome is not an error")
		return
	}
	if got.Type != api.TypeAPI || got.Code != api.CodeProviderError {
		c.fault("the error is %s/%s, want %s/%s", got.Type, got.Code, api.TypeAPI, api.CodeProviderError)
	}
	switch {
	case got.Status == 0: // the stream had begun
	case status != 0 && got.Status != status:
		c.fault("the error has the status %d, want %d", got.Status, status)
	case !slices.Contains(statuses, got.Status):
		c.fault("the error has the status %d, which provider_error never has", got.Status)
	}
}

// wantsError reports whether the recording must become an error: it is an
// error, has one inside, or breaks off. A stream with [DONE] is complete also
// when the upstream gave no reason for its end.
func (r Recording) wantsError(e Expect) bool {
	if r.Failed() || len(e.Error) > 0 && e.Error.Kind() != jsontext.KindNull {
		return true
	}
	return e.FinishReason == nil && !bytes.Contains(r.Body, []byte("[DONE]"))
}

// statuses are those of provider_error, where there is an upstream.
var statuses = []int{
	http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
	http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout,
}

// types are the statuses that fit the error types of events inside streams.
var types = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
	"not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
	"server_error": 500, "service_unavailable_error": 503, "timeout_error": 504, "overloaded_error": 529,
}

// status is the one the error must have: what is wrong with a request keeps
// its status, what is wrong with the gateway's credentials or with the
// upstream is a 502 or a 504. It is 0 when the recording does not tell.
func (r Recording) status(e Expect) int {
	var problem struct {
		Code    jsontext.Value `json:"code"`
		Type    string         `json:"type"`
		Details jsontext.Value `json:"details"`
	}
	status := r.Status
	// A body that cannot be decoded does not change the status.
	if json.Unmarshal(e.Error, &problem) == nil {
		if bytes.Contains(problem.Details, []byte(`"API_KEY_INVALID"`)) {
			return http.StatusBadGateway
		}
		if code, err := strconv.Atoi(string(problem.Code)); err == nil && !r.Failed() {
			status = code
		} else if !r.Failed() {
			status = types[problem.Type]
		}
	}
	switch {
	case status < http.StatusBadRequest && len(e.Error) == 0: // broken off
		return http.StatusBadGateway
	case status < http.StatusBadRequest:
		return 0
	case status == http.StatusGatewayTimeout, status == http.StatusRequestTimeout:
		return http.StatusGatewayTimeout
	case slices.Contains(statuses, status):
		return status
	default:
		return http.StatusBadGateway
	}
}
