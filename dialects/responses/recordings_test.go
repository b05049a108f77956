package responses_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/openai/openai-go/v3/packages/ssestream"
	sdk "github.com/openai/openai-go/v3/responses"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/dialects/responses"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/providers/providertest"
	"modelgateway/tests/longtest"
)

// ways are requests to which the same answer is written differently.
func ways() map[string]*llm.Request {
	return map[string]*llm.Request{
		"summaries":    anyRequest(),
		"no summaries": {Model: "asked"},
	}
}

// thinks tells whether a stream has thoughts, which a response without summaries leaves out.
func thinks(events []*llm.Event) bool {
	return slices.ContainsFunc(events, func(e *llm.Event) bool { return e.Kind == llm.EventThought })
}

// recorded are the recordings of a provider.
func recorded(t *testing.T, provider string) []providertest.Recording {
	t.Helper()
	var mine []providertest.Recording
	for _, dir := range slices.Compact([]string{providertest.Own(), providertest.Dir()}) {
		for _, r := range providertest.Load(t, dir) {
			if r.Provider == provider {
				mine = append(mine, r)
			}
		}
	}
	if len(mine) == 0 {
		t.Fatalf("there are no recordings of %s", provider)
	}
	return mine
}

// opener asks a provider for an answer to the simplest request, in a dialect that it has to
// translate.
type opener struct {
	t        *testing.T
	up       *providertest.Upstream
	provider providers.Provider
	name     string
}

func (o *opener) open(r providertest.Recording, script providertest.Script) (llm.Stream, error) {
	o.t.Helper()
	model := providertest.Catalog(o.t).Derive(o.name, r.ModelID())
	body := fmt.Appendf(nil, `{"model":%q,"messages":[{"role":"user","content":"Hello"}],"stream":%t}`, model.ID, r.Stream)
	req, err := chat.Decode(nil, body)
	if err != nil {
		o.t.Fatal(err)
	}
	x, err := o.provider.Prepare(providers.Call{Request: providertest.Foreign(req), Model: model})
	if err != nil {
		o.t.Fatal(err)
	}
	o.up.Play(script)
	return x.Open(o.t.Context(), "sk-test")
}

// kept are the events of a stream, and its error.
func kept(stream llm.Stream) (events []*llm.Event, broken error) {
	for e, err := range stream {
		if err != nil {
			return events, err
		}
		if e == nil {
			continue
		}
		c := *e
		head := *e.Head
		c.Head, c.Thought, c.StopDetails = &head, clone(e.Thought), slices.Clone(e.StopDetails)
		c.Safety, c.Logprobs = slices.Clone(e.Safety), slices.Clone(e.Logprobs)
		head.Counter = nil
		if c.Media, c.Usage, c.Call = clone(e.Media), clone(e.Usage), clone(e.Call); c.Call != nil {
			c.Call.Thought = clone(c.Call.Thought)
		}
		events = append(events, &c)
	}
	return events, nil
}

func clone[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}

// again is a stream of kept events.
func again(events []*llm.Event) llm.Stream {
	return func(yield func(*llm.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Every recorded answer and stream of every provider is written in this dialect: by the
// rules, the same whole and as a stream, and read by OpenAI's SDK it says what the upstream
// said.
func TestEveryRecordingIsWrittenByTheRulesAndReadByTheSDK(t *testing.T) {
	for _, d := range all.Drivers() {
		if d.Name != "openai" && d.Name != "anthropic" && d.Name != "gemini" {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			o := &opener{t: t, up: providertest.Serve(t), name: d.Name}
			o.provider = d.New(providers.Options{
				Name: d.Name, BaseURL: o.up.URL, Now: time.Now, HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
			})
			recordings, cuts := recorded(t, d.Name), 0
			for _, r := range recordings {
				stream, err := o.open(r, r.Script())
				if err != nil {
					checkError(t, r, err)
					continue
				}
				events, broken := kept(stream)
				for name, req := range ways() {
					if name == "no summaries" && !thinks(events) && !longtest.On() {
						continue // it is written as with summaries
					}
					t.Run(r.File+"/"+name, func(t *testing.T) { checkRecording(t, req, events, broken) })
				}
				if r.Stream && broken == nil {
					cuts += o.cut(r, events)
				}
			}
			t.Logf("%d recordings, %d cuts", len(recordings), cuts)
		})
	}
}

func checkError(t *testing.T, r providertest.Recording, err error) {
	t.Helper()
	e := api.AsError(err)
	body := responses.Dialect{}.AppendError(nil, e)
	var got struct {
		Error struct {
			Type    string `json:"type"`
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &got, api.Lenient); err != nil || got.Error.Type == "" || got.Error.Code == "" || got.Error.Message == "" {
		t.Errorf("%s: %v: %s", r.File, err, body)
	}
	status := responses.Dialect{}.ErrorStatus(e)
	tooLong := strings.Contains(string(r.Body), "context_length_exceeded")
	if tooLong && (status != 400 || got.Error.Code != "context_length_exceeded") {
		t.Errorf("%s: %d %s", r.File, status, body)
	}
	w := responses.Dialect{}.NewWriter(anyRequest()).(*responses.Writer)
	if w.TellsEarly(e) != (got.Error.Code == "context_length_exceeded") {
		t.Errorf("%s: the error %s is told early: %t", r.File, got.Error.Code, w.TellsEarly(e))
	}
	if r, err := check(string(w.Fail(nil, e))); err != nil || tooLong && r.Error.Code != "context_length_exceeded" {
		t.Errorf("%v: %+v", err, r)
	}
}

// checkRecording writes a stream whole and broken off after each event.
func checkRecording(t *testing.T, req *llm.Request, events []*llm.Event, broken error) {
	t.Helper()
	w := responses.Dialect{}.NewWriter(req)
	var text []byte
	most := longtest.Size(20, 2000) // of the places where it breaks off
	for i, e := range events {
		var err error
		if text, err = w.Append(text, e); err != nil {
			t.Fatal(err)
		}
		if i%(1+len(events)/most) == 0 {
			checkPart(t, req, events[:i+1])
		}
	}
	if broken != nil {
		if r, err := check(string(w.Fail(text, api.AsError(broken)))); err != nil || r.Status != "failed" {
			t.Errorf("%v:\n%s", err, text)
		}
		return
	}
	text = w.Done(text)
	r, err := check(string(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	answer, err := llm.Collect(again(events))
	if err != nil {
		t.Fatal(err)
	}
	if one, two := meaning(r), meaning(wholeOf(t, req, answer)); one != two {
		t.Errorf("the stream says\n%s\nthe whole answer\n%s", one, two)
	}
	says(t, req, answer, r)
	readBySDK(t, string(text), r)
}

func checkPart(t *testing.T, req *llm.Request, events []*llm.Event) {
	t.Helper()
	w := responses.Dialect{}.NewWriter(req)
	var text []byte
	for _, e := range events {
		text, _ = w.Append(text, e)
	}
	text = w.Fail(text, &api.Error{Status: 502, Code: api.CodeProviderError, Message: "broken"})
	if r, err := check(string(text)); err != nil || r.Status != "failed" {
		t.Fatalf("%v:\n%s", err, text)
	}
}

// says checks that a response says what the common form does.
func says(t *testing.T, req *llm.Request, answer *llm.Answer, r *answered) {
	t.Helper()
	var text, thinking, gotText, gotThinking string
	var calls, gotCalls []string
	images, gotImages := 0, 0
	c := answer.Choices[0]
	for _, b := range c.Blocks {
		switch b.Kind {
		case llm.BlockText, llm.BlockRefusal:
			text += b.Text
		case llm.BlockThought:
			thinking += b.Text
		case llm.BlockCall:
			calls = append(calls, b.Call.Name)
		case llm.BlockMedia:
			images++
		}
	}
	for i := range r.Output {
		item := &r.Output[i]
		for _, p := range item.Content {
			if strings.HasPrefix(p.Text, "[audio left out: ") || strings.HasPrefix(p.Text, "[file left out: ") {
				gotImages++
				continue
			}
			gotText += p.Text + p.Refusal
		}
		for _, p := range item.Summary {
			gotThinking += p.Text
		}
		switch item.Type {
		case "function_call":
			gotCalls = append(gotCalls, item.Name)
		case "image_generation_call":
			gotImages++
		}
	}
	if req.Thinking == nil {
		thinking = ""
	}
	if text != gotText || thinking != gotThinking || !slices.Equal(calls, gotCalls) || images != gotImages {
		t.Errorf("the answer says %q, %q, %q, %d, the response %q, %q, %q, %d", text, thinking, calls, images, gotText, gotThinking, gotCalls, gotImages)
	}
	if u := answer.Usage; u != nil {
		if got := r.Usage; *got.Input != u.Input || *got.Output != u.Output || *got.InputDetails.Cached != u.Cached ||
			*got.OutputDetails.Reasoning != u.Reasoning {
			t.Errorf("usage %+v became %s", u, r.raw)
		}
	}
}

// readBySDK reads a stream with OpenAI's SDK: each event is one that it knows, and what its
// accumulator puts together is the response.
func readBySDK(t *testing.T, text string, r *answered) {
	t.Helper()
	response := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(text)),
	}
	stream := ssestream.NewStream[sdk.ResponseStreamEventUnion](ssestream.NewDecoder(response), nil)
	var sum sdk.ResponseAccumulator
	var final sdk.Response
	var texts, last strings.Builder
	events := 0
	for ; stream.Next(); events++ {
		e := stream.Current()
		if e.Type != r.events[events] || e.AsAny() == nil {
			t.Errorf("event %d is %s, not %s", events, e.Type, r.events[events])
		}
		if e.Type == "response.output_text.delta" {
			texts.WriteString(e.Delta)
		}
		if e.Type == "response.completed" || e.Type == "response.incomplete" {
			final = e.Response
		}
		var one sdk.ResponsesServerEventUnion
		if err := errors.Join(json.Unmarshal([]byte(e.RawJSON()), &one), sum.AddEvent(one)); err != nil {
			t.Fatalf("%v: %s", err, e.RawJSON())
		}
	}
	if err := stream.Err(); err != nil || events != len(r.events) {
		t.Fatalf("%v, %d events of %d", err, events, len(r.events))
	}
	for i := range r.Output {
		for _, p := range r.Output[i].Content {
			last.WriteString(p.Text)
		}
	}
	if texts.String() != last.String() || final.OutputText() != last.String() || len(final.Output) != len(r.Output) || final.Status == "" {
		t.Errorf("the deltas say %q, the last event %q, the response %q", &texts, final.OutputText(), &last)
	}
	whole, err := sum.ReconstructedResponse()
	if err != nil || whole.RawJSON() != r.raw {
		t.Errorf("%v: %s, not %s", err, whole.RawJSON(), r.raw)
	}
	for i, item := range sum.Snapshot().Output {
		if got := &r.Output[i]; item.ItemID != got.ID || item.Type != got.Type || item.CallID != got.CallID || item.Arguments != got.arguments() {
			t.Errorf("%+v, not %+v", item, got)
		}
	}
}

// cut plays a recording cut short at bytes of it, every one of a small recording: what is
// written keeps the rules, and ends with an error unless nothing was lost.
func (o *opener) cut(r providertest.Recording, events []*llm.Event) (cuts int) {
	o.t.Helper()
	whole := said(streamed(o.t, anyRequest(), again(events)))
	most := longtest.Size(6, 512)
	for at := 1; at < len(r.Body); at += 1 + len(r.Body)/most {
		cuts++
		stream, err := o.open(r, r.Script().Cut(at, providertest.Proper))
		if err != nil {
			continue
		}
		w := responses.Dialect{}.NewWriter(anyRequest())
		var text []byte
		for e, broke := range stream {
			switch {
			case broke != nil:
				err = broke
			case e != nil:
				text, _ = w.Append(text, e)
			}
		}
		if err == nil {
			text = w.Done(text)
		} else {
			text = w.Fail(text, api.AsError(err))
		}
		got, wrong := check(string(text))
		if wrong != nil || (got.Status == "failed") != (err != nil) {
			o.t.Fatalf("%s cut at byte %d: %v, %v:\n%s", r.File, at, err, wrong, text)
		}
		if err == nil && said(got) != whole {
			o.t.Fatalf("%s cut at byte %d looks like a complete answer:\n%s\nwhole\n%s", r.File, at, said(got), whole)
		}
	}
	return cuts
}

// said is what a response says, without the ids of its calls, which providers make where
// their upstream gives none, and without the usage, which comes after the end of an answer.
func said(r *answered) string {
	text := r.Status
	for i := range r.Output {
		item := &r.Output[i]
		text += fmt.Sprintf("\n%s %s %s %+v %+v %s", item.Type, item.Status, item.Name, item.Content, item.Summary, item.arguments())
	}
	return text
}
