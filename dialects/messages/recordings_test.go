package messages_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/providers/providertest"
	"modelgateway/tests/longtest"
)

// ways are requests to which the same answer is written differently.
func ways() map[string]*llm.Request {
	return map[string]*llm.Request{
		"thoughts":         anyRequest(),
		"no thoughts":      {NoThoughts: true},
		"omitted thoughts": {Thinking: &llm.Thinking{Type: "adaptive", Display: "omitted"}},
	}
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
		if head.Counter != nil {
			head.Counter = (*counter)(clone(head.Counter.Counted()))
		}
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
// rules, the same whole and as a stream, and read by Anthropic's SDK it says what the
// upstream said.
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
	e := *api.AsError(err)
	e.RequestID = "req_1"
	body := messages.Dialect{}.AppendError(nil, &e)
	var got errorMessage
	if err := json.Unmarshal(body, &got); err != nil || got.Error.Type == "" || got.Error.Message == "" || *got.RequestID != "req_1" {
		t.Errorf("%s: %v: %s", r.File, err, body)
	}
	status := messages.Dialect{}.ErrorStatus(&e)
	if strings.Contains(string(r.Body), "context_length_exceeded") && (status != 400 || !strings.HasPrefix(got.Error.Message, "prompt is too long: ")) {
		t.Errorf("%s: %d %s", r.File, status, body)
	}
}

// checkRecording writes a stream whole and broken off after each event.
func checkRecording(t *testing.T, req *llm.Request, events []*llm.Event, broken error) {
	t.Helper()
	w := messages.Dialect{}.NewWriter(req)
	var text []byte
	most := longtest.Size(60, 2000) // of the places where it breaks off
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
		if m, err := check(string(w.Fail(text, api.AsError(broken)))); err != nil || m.Failure == nil {
			t.Errorf("%v:\n%s", err, text)
		}
		return
	}
	text = w.Done(text)
	m, err := check(string(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	answer, err := llm.Collect(again(events))
	if err != nil {
		t.Fatal(err)
	}
	other := wholeOf(t, req, answer)
	if one, two := meaning(m), meaning(other); one != two {
		t.Errorf("the stream says\n%s\nthe whole answer\n%s", one, two)
	}
	says(t, req, answer, m)
	sdk, err := accumulated(text)
	if err != nil {
		t.Fatalf("the SDK: %v:\n%s", err, text)
	}
	if one, two := meaning(m), meaning(sdk); one != two {
		t.Errorf("the stream says\n%s\nthe SDK\n%s", one, two)
	}
}

func checkPart(t *testing.T, req *llm.Request, events []*llm.Event) {
	t.Helper()
	w := messages.Dialect{}.NewWriter(req)
	var text []byte
	for _, e := range events {
		text, _ = w.Append(text, e)
	}
	text = w.Fail(text, &api.Error{Status: 502, Code: api.CodeProviderError, Message: "broken"})
	if m, err := check(string(text)); err != nil || m.Failure == nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}

// says checks that a message says what the common form does.
func says(t *testing.T, req *llm.Request, answer *llm.Answer, m *message) {
	t.Helper()
	var text, thinking, gotText, gotThinking string
	var calls, gotCalls []string
	c := answer.Choices[0]
	for _, b := range c.Blocks {
		switch b.Kind {
		case llm.BlockText, llm.BlockRefusal:
			text += b.Text
		case llm.BlockMedia:
			text += b.Media.AsText()
		case llm.BlockThought:
			thinking += b.Text
		case llm.BlockCall:
			calls = append(calls, b.Call.Name)
		}
	}
	for _, b := range m.Content {
		gotText, gotThinking = gotText+b.Text, gotThinking+b.Thinking
		if b.Type == "tool_use" {
			gotCalls = append(gotCalls, b.Name)
		}
	}
	if req.NoThoughts || req.Thinking != nil {
		thinking = ""
	}
	if text != gotText || thinking != gotThinking || !slices.Equal(calls, gotCalls) {
		t.Errorf("the answer says %q, %q, %q, the message %q, %q, %q", text, thinking, calls, gotText, gotThinking, gotCalls)
	}
	if u := answer.Usage; u != nil && u.Input >= u.Cached+u.CacheWrite {
		if got := m.Usage; *got.Input+*got.CacheRead+*got.CacheWrite != u.Input || *got.Output != u.Output {
			t.Errorf("usage %+v became %s", u, meaning(m))
		}
	}
}

// accumulated is a stream as Anthropic's SDK puts it together.
func accumulated(text []byte) (*message, error) {
	response := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(text))),
	}
	stream := ssestream.NewStream[anthropic.MessageStreamEventUnion](ssestream.NewDecoder(response), nil)
	var sdk anthropic.Message
	for stream.Next() {
		if err := sdk.Accumulate(stream.Current()); err != nil {
			return nil, err
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	m := new(message)
	return m, json.Unmarshal([]byte(sdk.RawJSON()), m)
}

// cut plays a recording cut short at bytes of it, every one of a small recording: what is
// written keeps the rules, and ends with an error unless nothing was lost.
func (o *opener) cut(r providertest.Recording, events []*llm.Event) (cuts int) {
	o.t.Helper()
	whole := withoutIDs(streamed(o.t, anyRequest(), again(events)))
	most := longtest.Size(12, 512)
	for at := 1; at < len(r.Body); at += 1 + len(r.Body)/most {
		cuts++
		stream, err := o.open(r, r.Script().Cut(at, providertest.Proper))
		if err != nil {
			continue
		}
		w := messages.Dialect{}.NewWriter(anyRequest())
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
		m, wrong := check(string(text))
		if wrong != nil || (m.Failure == nil) != (err == nil) {
			o.t.Fatalf("%s cut at byte %d: %v, %v:\n%s", r.File, at, err, wrong, text)
		}
		if err != nil {
			continue
		}
		if got := withoutIDs(m); content(got) != content(whole) {
			o.t.Fatalf("%s cut at byte %d looks like a complete answer:\n%s\nwhole\n%s", r.File, at, got, whole)
		}
	}
	return cuts
}

// withoutIDs is the meaning of a message without the ids of its calls, which are in
// signatures of ours as well: providers make those that their upstream lacks.
func withoutIDs(m *message) string {
	for i := range m.Content {
		b := &m.Content[i]
		b.ID = ""
		if strings.HasPrefix(b.Signature, "mgw1.") {
			b.Signature = "ours"
		}
	}
	return meaning(m)
}

// content is a meaning without the usage, which comes after the end of an answer.
func content(meaning string) string { return meaning[:strings.Index(meaning, `{"input_tokens"`)] }
