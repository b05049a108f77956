package providertest

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/chat"
)

func ptr[T any](v T) *T { return &v }

func good() (Recording, Outcome) {
	rec := Recording{File: "some.sse", Provider: "openai", Stream: true, Status: 200, Expect: Expect{
		Text: "Hello", Reasoning: ptr("why"), FinishReason: ptr("stop"),
		ToolCalls: []ToolCall{{ID: "upstream", Name: "f", Arguments: `{"a":1,"b":"é"}`}},
		Usage:     &Counts{Prompt: 1, Completion: 2, Total: 3, Reasoning: ptr[int64](1), Cached: ptr[int64](0)},
	}}
	got := Outcome{
		Choice: Choice{
			Text: "Hello", Reasoning: "why", FinishReason: "stop",
			ToolCalls: []ToolCall{{ID: "ours", Name: "f", Arguments: `{ "b": "\u00e9", "a": 1 }`}},
		},
		Usage: &chat.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3,
			CompletionTokensDetails: &chat.CompletionDetails{ReasoningTokens: 1}},
	}
	return rec, got
}

func TestCompareAcceptsEqualOutcomes(t *testing.T) {
	rec, got := good()
	if err := Compare(rec, got); err != nil {
		t.Error(err)
	}
	rec.Expect.Reasoning, rec.Expect.Usage = nil, nil
	got.Reasoning, got.Usage = "anything", nil
	if err := Compare(rec, got); err != nil {
		t.Errorf("what is not expected is compared: %v", err)
	}
}

func TestCompareReportsEveryDifference(t *testing.T) {
	for says, spoil := range map[string]func(o *Outcome){
		"text differs at byte 4":         func(o *Outcome) { o.Text = "Hell0" },
		"reasoning differs":              func(o *Outcome) { o.Reasoning = "" },
		"refusal differs":                func(o *Outcome) { o.Refusal = "no" },
		"0 tool calls, want 1":           func(o *Outcome) { o.ToolCalls = nil },
		"name of tool call 0":            func(o *Outcome) { o.ToolCalls[0].Name = "g" },
		"arguments of tool call 0":       func(o *Outcome) { o.ToolCalls[0].Arguments = `{"a":1.0,"b":"é"}` },
		"tool call 0 has no id":          func(o *Outcome) { o.ToolCalls[0].ID = "" },
		"finish reason differs":          func(o *Outcome) { o.FinishReason = "length" },
		"the usage is missing":           func(o *Outcome) { o.Usage = nil },
		"prompt_tokens is 9, want 1":     func(o *Outcome) { o.Usage.PromptTokens = 9 },
		"completion_tokens is 9, want 2": func(o *Outcome) { o.Usage.CompletionTokens = 9 },
		"total_tokens is 9, want 3":      func(o *Outcome) { o.Usage.TotalTokens = 9 },
		"reasoning_tokens is 0, want 1":  func(o *Outcome) { o.Usage.CompletionTokensDetails = nil },
		"cached_tokens is 9, want 0":     func(o *Outcome) { o.Usage.PromptTokensDetails = &chat.PromptDetails{CachedTokens: 9} },
		"the outcome is an error":        func(o *Outcome) { o.Failure = &Failure{Status: 502} },
		"a broken promise":               func(o *Outcome) { o.breach("a broken promise") },
	} {
		rec, got := good()
		spoil(&got)
		if err := Compare(rec, got); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, not %q", err, says)
		}
	}
}

func TestCompareComparesArgumentsThatAreNoJSONAsText(t *testing.T) {
	rec, got := good()
	rec.Expect.ToolCalls[0].Arguments = `{"a": "cut`
	got.ToolCalls[0].Arguments = `{"a": "cut`
	if err := Compare(rec, got); err != nil {
		t.Error(err)
	}
	got.ToolCalls[0].Arguments = `{"a":"cut`
	if Compare(rec, got) == nil {
		t.Error("a changed text passes")
	}
}

func TestCompareHoldsErrorsToTheContract(t *testing.T) {
	for _, c := range []struct {
		upstream int
		problem  string
		want     int
	}{
		{400, `{"type":"invalid_request_error"}`, 400}, {404, `{}`, 404}, {413, "", 413}, {422, `{}`, 422}, {429, `{"code":429}`, 429},
		{401, `{"code":"invalid_api_key"}`, 502}, {402, `{}`, 502}, {403, `{}`, 502}, {409, `{}`, 502},
		{400, `{"code":400,"details":[{"reason":"API_KEY_INVALID"}]}`, 502},
		{500, `{}`, 502}, {502, "", 502}, {503, `{"code":503}`, 502}, {529, `{}`, 502}, {504, `{}`, 504},
		{200, `{"type":"overloaded_error"}`, 502}, {200, `{"type":"rate_limit_error"}`, 429}, {200, `{"code":504}`, 504},
		{200, `{"type":"authentication_error"}`, 502}, {200, "", 502},
	} {
		rec := Recording{Stream: c.upstream == 200, Status: c.upstream, Expect: Expect{Text: "part", Error: jsontext.Value(c.problem)}}
		fails := func(status int) error {
			return Compare(rec, Outcome{Choice: Choice{Text: "part"},
				Failure: &Failure{Status: status, Type: api.TypeAPI, Code: api.CodeProviderError}})
		}
		if err := fails(c.want); err != nil {
			t.Errorf("%d %s: %v", c.upstream, c.problem, err)
		}
		for _, other := range []int{401, 402, 403, 503, 500, 418} {
			if fails(other) == nil {
				t.Errorf("%d %s: %d passes", c.upstream, c.problem, other)
			}
		}
		if fails(0) != nil {
			t.Errorf("%d: an error inside a stream has no status", c.upstream)
		}
	}
}

func TestCompareWantsAnErrorWhereTheRecordingIsNotWhole(t *testing.T) {
	failure := &Failure{Type: api.TypeAPI, Code: api.CodeProviderError}
	broken := Recording{Stream: true, Status: 200, Expect: Expect{Text: "Hel"}, Body: []byte("data: {}\n\n")}
	for _, c := range []struct {
		name string
		got  Outcome
		ok   bool
	}{
		{"the part and an error", Outcome{Choice: Choice{Text: "Hel"}, Failure: failure}, true},
		{"a part of the part", Outcome{Choice: Choice{Text: "He"}, Failure: failure}, false},
		{"an end", Outcome{Choice: Choice{Text: "Hel", FinishReason: "stop"}}, false},
		{"an error of another kind", Outcome{Choice: Choice{Text: "Hel"}, Failure: &Failure{Type: "server_error"}}, false},
	} {
		if err := Compare(broken, c.got); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	done := broken
	done.Body = []byte("data: {}\n\ndata: [DONE]\n\n")
	if err := Compare(done, Outcome{Choice: Choice{Text: "Hel", FinishReason: "tool_calls"}}); err != nil {
		t.Errorf("whole, only without a reason: %v", err)
	}
}

func TestDeviationsReplaceTheirExpectations(t *testing.T) {
	for _, d := range Deviations() {
		if d.Reason == "" {
			t.Errorf("%s: no reason", d.File)
		}
		rec := Recording{File: d.File, Expect: Expect{FinishReason: ptr("stop"), ToolCalls: []ToolCall{{Name: "x"}}}}
		if amended := rec.amended(); string(amended.Error) == "" && amended.ToolCalls[0] == rec.Expect.ToolCalls[0] {
			t.Errorf("%s: nothing is amended", d.File)
		}
		if rec.Expect.ToolCalls[0].Name != "x" {
			t.Errorf("%s: the recording itself is changed", d.File)
		}
	}
}
