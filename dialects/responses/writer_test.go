package responses

import (
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/llm"
)

func eventsOf(text string) string {
	var all []string
	for event := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		name, _, _ := strings.Cut(event, "\n")
		all = append(all, strings.TrimPrefix(strings.TrimPrefix(name, "event: "), "response."))
	}
	return strings.Join(all, " ")
}

func TestSilentStreamRepeatsThatItIsInProgress(t *testing.T) {
	now := time.Unix(1700000000, 0)
	w := newWriter(&llm.Request{Model: "m"}, nil).(*Writer)
	w.now = func() time.Time { return now }
	after := func(wait time.Duration) string {
		now = now.Add(wait)
		return eventsOf(string(w.Ping(nil)))
	}
	if got := after(0) + after(200*time.Second) + after(time.Second); got != ": ping: ping: ping" {
		t.Errorf("before the answer: %s", got)
	}
	head := &llm.Head{Model: "m"}
	text, _ := w.Append(nil, &llm.Event{Kind: llm.EventText, Head: head, Text: "a"})
	for _, step := range []struct {
		wait time.Duration
		want string
	}{
		{15 * time.Second, ": ping"}, {50 * time.Second, ": ping"}, {50 * time.Second, "in_progress"}, {99 * time.Second, ": ping"},
		{time.Second, "in_progress"},
	} {
		if got := after(step.wait); got != step.want {
			t.Errorf("%s, not %s", got, step.want)
		}
	}
	more, _ := w.Append(nil, &llm.Event{Kind: llm.EventText, Head: head, Text: "b"})
	if got := after(99 * time.Second); got != ": ping" {
		t.Errorf("after an event: %s", got)
	}
	if !strings.Contains(string(more), `"sequence_number":7}`) || !strings.Contains(string(text), `"delta":"a"`) { // two were repeated
		t.Errorf("%s", more)
	}
	w.Done(nil)
	if got := w.Ping(nil); len(got) > 0 {
		t.Errorf("after the end: %s", got)
	}
}

// What is done stays so in a response that failed, and what is open is not told as done:
// agents run calls as soon as they are.
func TestFailureLeavesTheOpenItemOpen(t *testing.T) {
	w := newWriter(&llm.Request{Model: "m"}, nil)
	head := &llm.Head{Model: "m", Counter: counter{Input: 7, Total: 7}}
	text, _ := w.Append(nil, &llm.Event{Kind: llm.EventText, Head: head, Text: "a"})
	text, _ = w.Append(text, &llm.Event{Kind: llm.EventCall, Head: head, Call: &llm.CallStart{ID: "1", Name: "f", Arguments: `{"a":1}`}})
	text = w.Fail(text, &api.Error{Status: 502, Type: api.TypeAPI, Code: api.CodeProviderError, Message: "broken"})
	said := string(text)
	if strings.Count(said, "event: response.output_item.added") != 2 || strings.Count(said, "event: response.output_item.done") != 1 {
		t.Errorf("%s", said)
	}
	last := said[strings.LastIndex(said, "event: "):]
	if !strings.Contains(last, `"output":[{"id":"msg_`) || strings.Contains(last, "function_call") || !strings.Contains(last, `"input_tokens":7`) {
		t.Errorf("%s", last)
	}
}

type counter llm.Usage

func (c counter) Counted() *llm.Usage { u := llm.Usage(c); return &u }

func TestStreamThatIsOpenedEarlyGoesOn(t *testing.T) {
	w := newWriter(&llm.Request{Model: "asked"}, nil).(*Writer)
	text := w.Open(nil, &llm.Head{Model: "m", Created: 5})
	if eventsOf(string(text)) != "created in_progress" {
		t.Errorf("%s", text)
	}
	head := &llm.Head{Model: "m-2", Created: 9}
	for _, e := range []*llm.Event{
		{Kind: llm.EventText, Head: head, Text: "a"}, {Kind: llm.EventFinish, Head: head, Ending: llm.Ending{Finish: llm.FinishStop}},
	} {
		text, _ = w.Append(text, e)
	}
	text = w.Done(text)
	said := string(text)
	if strings.Count(said, "event: response.created") != 1 || strings.Count(said, `"created_at":5`) != 3 || !strings.Contains(said, `"model":"m-2"`) ||
		!strings.Contains(said, `"usage":{"input_tokens":0,`) {
		t.Errorf("%s", said)
	}
}

// What an upstream that speaks the dialect says of its failure is told in its words; the
// gateway's own errors follow the upstream's events.
func TestAFailureOfANativeStreamIsTold(t *testing.T) {
	const first = "event: response.created\ndata: {}\n\n"
	failure := func(raw string) string {
		w := newWriter(&llm.Request{Source: new(Request)}, nil)
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
