package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"modelgateway/internal/scan"
	"modelgateway/llm"
	"modelgateway/providers/sse"
	"modelgateway/providers/upstream"
)

// openingWait is how long an upstream that has accepted a request may take to begin its
// answer while another one could still answer. Errors that it finds before the answer come
// within a second; a model that thinks may be silent for minutes.
const openingWait = 10 * time.Second

// events reads up to the first event of the answer and returns a stream that begins with
// the events before it.
func (n *native) events(ctx context.Context, events *upstream.Events, key string) (llm.Stream, error) {
	events.KeepRaw()
	s := &nativeStream{ctx: ctx, native: n, key: key, upstream: events}
	s.head = llm.Head{Model: n.model, Created: n.provider.now().Unix(), Counter: s}
	if err := s.open(); err != nil {
		events.Close()
		return nil, err
	}
	return s.all, nil
}

// nativeStream passes the events of an upstream on in their bytes, but for the ids of
// responses. Beside them it finds what the answer costs, why it ended and whether it is
// whole. Of an event that it does not know it reads the type only.
type nativeStream struct {
	ctx      context.Context
	native   *native
	key      string
	upstream *upstream.Events
	yield    func(*llm.Event, error) bool

	head  llm.Head
	event llm.Event // the current one
	data  []byte    // its data
	names renames
	held  []held // events that wait for the next one

	cursor   scan.Cursor
	fragment fragment

	answered answered
	begun    bool   // an event has come that tells the response
	problem  []byte // the error that an event says; the next one may say how the answer ended
	fresh    bool   // events have been sent since the last pause
	gone     bool   // the consumer has left during a pause
}

// held is an event and its bytes.
type held struct {
	event llm.Event
	raw   []byte
}

// fragment is how an event begins that adds to an item, up to its text. Of the next event
// that begins so only the text is read.
type fragment struct {
	head []byte
	kind llm.EventKind
}

// Counted is the usage so far: OpenAI sends the tokens last.
func (s *nativeStream) Counted() *llm.Usage { return s.answered.counted() }

// open reads up to the first event of the answer, and holds the events. An error that comes
// before it is as good as one in place of the stream.
func (s *nativeStream) open() error {
	for size := 0; ; {
		kind, err := s.next()
		switch {
		case err != nil:
			return err
		case kind == nativeFails:
			return s.native.failedEarly(problemOf(s.answered.problem))
		case kind == nativeProblem:
			return s.native.failedEarly(problemIn(s.problem))
		case kind != nativeOpens && !s.begun:
			return s.native.client.Malformed(errNotBegun)
		}
		if size += s.hold(); size > sse.MaxLine {
			return s.native.client.Malformed(errNotBegun)
		}
		if kind != nativeOpens || s.begun && !s.upstream.Await(openingWait) {
			return nil
		}
	}
}

var errNotBegun = errors.New("the stream does not begin with a response")

// hold keeps the current event, and returns its size.
func (s *nativeStream) hold() int {
	raw := bytes.Clone(s.upstream.Raw())
	s.held = append(s.held, held{s.event, raw})
	return len(raw)
}

// all yields the events up to the last one. Without that the answer is not whole, even if
// all of its text has come.
func (s *nativeStream) all(yield func(*llm.Event, error) bool) {
	defer s.upstream.Close()
	s.yield = yield
	s.upstream.BeforeRead(s.pause)
	for s.release() && !s.answered.complete {
		if err := s.pass(); err != nil && !s.gone {
			yield(nil, err)
			return
		}
	}
	if !s.gone {
		s.upstream.Drain()
	}
}

// pass reads one event and yields it. An event that says an error is the last one where no
// other follows: then it is told by the stream's error, as an answer that failed is.
func (s *nativeStream) pass() error {
	kind, err := s.next()
	if kind == nativeProblem {
		s.hold()
		if kind, err = s.next(); err != nil {
			s.held = nil
			return s.native.failedLate(problemIn(s.problem), s.problem)
		}
		s.release()
	}
	switch {
	case err != nil:
		return err
	case kind == nativeFails:
		if s.event.Usage != nil {
			s.send(nil)
		}
		return s.native.failedLate(problemOf(s.answered.problem), s.names.in(s.data))
	}
	s.send(s.names.in(s.upstream.Raw()))
	return nil
}

// release yields the events that were held; it is false if the consumer has left.
func (s *nativeStream) release() bool {
	if len(s.held) > 0 {
		current := s.event
		for i := range s.held {
			s.event = s.held[i].event
			s.send(s.names.in(s.held[i].raw))
		}
		s.event, s.held = current, nil
	}
	return !s.gone
}

// send yields the current event with its bytes.
func (s *nativeStream) send(raw []byte) {
	if s.gone {
		return
	}
	s.event.Raw = raw
	s.fresh = true
	s.gone = !s.yield(&s.event, nil)
}

// pause yields a pause, once, before the upstream is waited for.
func (s *nativeStream) pause() bool {
	if s.fresh && !s.gone {
		s.fresh = false
		s.gone = !s.yield(nil, nil)
	}
	return !s.gone
}

// next reads one event into s.event.
func (s *nativeStream) next() (nativeKind, error) {
	e, err := s.upstream.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nativeOther, s.cut()
	case err != nil:
		return nativeOther, s.native.client.Broken(s.ctx, err)
	}
	s.event = llm.Event{Kind: llm.EventOther, Head: &s.head, RawDialect: llm.Responses}
	s.data = e.Data
	if s.adds() {
		return nativeAdds, nil
	}
	return s.read(), nil
}

// cut is the error of a stream that ends without its last event.
func (s *nativeStream) cut() error {
	stray := s.upstream.Stray()
	switch p := problemIn(stray); {
	case len(stray) == 0:
		return s.native.client.Truncated()
	case p == nil:
		return s.native.client.Malformed(errNotBegun)
	default:
		return s.native.failedEarly(p)
	}
}
