package messages_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
)

// counter has reported a prompt.
type counter llm.Usage

func (c *counter) Counted() *llm.Usage { return (*llm.Usage)(c) }

func TestMessageStartHasTheSizeOfThePrompt(t *testing.T) {
	calls := 0
	estimate := func() int64 { calls++; return 77 }
	for _, tt := range []struct {
		name    string
		counter llm.UsageCounter
		input   int64
		cached  int64
		calls   int
	}{
		{"the upstream's count", (*counter)(&llm.Usage{Input: 50, HasCache: true, Cached: 20}), 30, 20, 0},
		{"no count", nil, 77, 0, 1},
		{"a count of nothing", (*counter)(&llm.Usage{}), 77, 0, 1},
		{"none yet", (*counter)(nil), 77, 0, 1},
	} {
		calls = 0
		w := messages.Dialect().NewWriter(anyRequest(), estimate)
		var text []byte
		for e := range from(llm.Head{Model: "m", Counter: tt.counter}, func(e *llm.Emitter) {
			e.Text(0, "a")
			e.Finish(0, llm.Ending{Finish: llm.FinishStop})
		}) {
			var err error
			if text, err = w.Append(text, e); err != nil {
				t.Fatal(err)
			}
		}
		m, err := check(string(w.Done(text)))
		if err != nil || *m.Early.Input != tt.input || *m.Early.CacheRead != tt.cached || calls != tt.calls {
			t.Errorf("%s: %d calls, %v: %s", tt.name, calls, err, text)
		}
		if *m.Usage.Input != tt.input { // the stream has reported no other usage
			t.Errorf("%s: the whole usage is %s", tt.name, meaning(m))
		}
	}
}

func TestInputExcludesCachedTokens(t *testing.T) {
	for _, u := range []llm.Usage{
		{Input: 100, Output: 7, HasCache: true, Cached: 60, CacheWrite: 30, CacheWriteHour: 10, Reasoning: 3},
		{Input: 100, Output: 7},
		{Input: 10, Output: 7, HasCache: true, Cached: 60}, // a server that counts wrongly
	} {
		m := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
			e.Text(0, "a")
			e.Finish(0, llm.Ending{Finish: llm.FinishStop})
			e.Usage(&u)
		}))
		got := m.Usage
		sum := *got.Input + *got.CacheRead + *got.CacheWrite
		if sum != max(u.Input, u.Cached+u.CacheWrite) || *got.CacheRead != u.Cached || *got.CacheWrite != u.CacheWrite ||
			*got.Creation.Hour != u.CacheWriteHour || *got.Creation.Minutes != u.CacheWrite-u.CacheWriteHour || *got.Output != 7 ||
			*got.Details.Thinking != u.Reasoning {
			t.Errorf("%+v became %s", u, meaning(m))
		}
	}
}

func TestServiceTierAndSearchesAreInAnthropicsWords(t *testing.T) {
	for tier, want := range map[string]string{"": "standard", "default": "standard", "flex": "standard", "priority": "priority"} {
		m := dialect.Both(t, anyRequest(), from(llm.Head{Model: "m", ServiceTier: tier}, func(e *llm.Emitter) {
			e.Finish(0, llm.Ending{Finish: llm.FinishStop})
			e.Usage(&llm.Usage{Searches: 2})
		}))
		if m.Usage.Tier != want || m.Usage.Tools == nil || m.Usage.Tools.Searches != 2 || len(m.Content) != 0 || m.StopReason != "end_turn" {
			t.Errorf("%s: %s", tier, meaning(m))
		}
	}
}

func TestContentFilterIsARefusal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		said    string
		ending  llm.Ending
		details string
	}{
		{"a filter", "", llm.Ending{Finish: llm.FinishContentFilter}, `{"type":"refusal","category":null,"explanation":null}`},
		{"OpenAI's refusal", "I cannot", llm.Ending{Finish: llm.FinishStop}, `{"type":"refusal","category":null,"explanation":"I cannot"}`},
		{"Anthropic's", "", llm.Ending{Finish: llm.FinishContentFilter, StopDetails: jsontext.Value(`{"type":"refusal","category":"cyber"}`)},
			`{"type":"refusal","category":"cyber"}`},
		{"one that is no JSON", "", llm.Ending{Finish: llm.FinishContentFilter, StopDetails: jsontext.Value(`{`)},
			`{"type":"refusal","category":null,"explanation":null}`},
	} {
		m := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
			e.Refusal(0, tt.said)
			e.Finish(0, tt.ending)
			e.Usage(&llm.Usage{})
		}))
		if m.StopReason != "refusal" || string(m.StopDetails) != tt.details || tt.said != "" && m.Content[0].Text != tt.said {
			t.Errorf("%s: %s", tt.name, meaning(m))
		}
	}
}

func TestStopReasons(t *testing.T) {
	for _, tt := range []struct {
		ending llm.Ending
		calls  []string // their arguments
		want   string
	}{
		{llm.Ending{Finish: llm.FinishStop}, nil, "end_turn"},
		{llm.Ending{Finish: "eos"}, nil, "end_turn"},
		{llm.Ending{Finish: llm.FinishStop, StopSequence: "\nHuman:"}, nil, "stop_sequence"},
		{llm.Ending{Finish: llm.FinishStop}, []string{"{}"}, "tool_use"},
		{llm.Ending{Finish: llm.FinishStop}, []string{`{"a`}, "end_turn"},
		{llm.Ending{Finish: llm.FinishToolCalls}, []string{`{"a`}, "tool_use"},
		{llm.Ending{Finish: llm.FinishToolCalls}, nil, "end_turn"},
		{llm.Ending{Finish: llm.FinishLength}, []string{"{}"}, "max_tokens"},
		{llm.Ending{Finish: llm.FinishLength, NativeReason: "model_context_window_exceeded"}, nil, "model_context_window_exceeded"},
		{llm.Ending{Finish: llm.FinishContentFilter}, []string{"{}"}, "refusal"},
	} {
		m := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
			for _, arguments := range tt.calls {
				e.Call(0, &llm.CallStart{Name: "f", ID: "c", Arguments: arguments})
			}
			e.Finish(0, tt.ending)
			e.Usage(&llm.Usage{})
		}))
		sequence := ""
		if m.StopSequence != nil {
			sequence = *m.StopSequence
		}
		if m.StopReason != tt.want || sequence != tt.ending.StopSequence {
			t.Errorf("%+v with %q: %s, %q", tt.ending, tt.calls, m.StopReason, sequence)
		}
	}
}

func TestPingIsAnEvent(t *testing.T) {
	w := messages.Dialect().NewWriter(anyRequest(), nil)
	if got := string(w.Ping(nil)); got != "event: ping\ndata: {\"type\": \"ping\"}\n\n" {
		t.Errorf("%q", got)
	}
	if w.Done(nil); len(w.Ping(nil)) > 0 {
		t.Error("a ping follows the end")
	}
	w = messages.Dialect().NewWriter(anyRequest(), nil)
	if w.Fail(nil, &api.Error{Status: 502, Message: "broken"}); len(w.Ping(nil)) > 0 {
		t.Error("a ping follows an error")
	}
}
