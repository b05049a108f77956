package native

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/sse"
	"modelgateway/providers/upstream"
)

// Kind is what an event means for its stream.
type Kind int

// The kinds of events.
const (
	Other   Kind = iota
	Opens        // tells nothing of the answer yet: another upstream could still answer
	Ends         // is the last one: the answer is whole, or as long as it may be
	Fails        // says why there is no more of the answer
	Problem      // is an error; the next event may say how the answer ended
)

// Format reads the events of one answer in one dialect. Of an event that it does not know it
// reads the type only.
type Format interface {
	// Counted is the usage so far.
	llm.UsageCounter
	// Read finds what the current event says and sets that in Stream.Event.
	Read(s *Stream) Kind
	// Begun says whether an event has told of the answer.
	Begun() bool
	// Renamed is what the client gets of the current event: raw, with its own names for the
	// ids in it.
	Renamed(s *Stream, raw []byte) []byte
	// Missing is the last event and its data, where the upstream has left only that out. It is
	// nil where the answer is not whole without it.
	Missing() (frame, data []byte)
	// Failed is the error that an event has said; early: nothing has been sent to the client.
	Failed(s *Stream, kind Kind, early bool) error
	// Cut is the error of a stream that ended with stray, which is no event.
	Cut(stray []byte) error
}

// openingWait is how long an upstream that has accepted a request may take to begin its
// answer while another one could still answer. Errors that it finds before the answer come
// within a second; a model that thinks may be silent for minutes.
const openingWait = 10 * time.Second

// Stream passes the events of one answer on.
type Stream struct {
	Head  llm.Head
	Event llm.Event // the current one
	Name  string    // of the event, as its lines say
	Data  []byte    // of the event

	ctx      context.Context
	client   *upstream.Client
	upstream *upstream.Events
	dialect  llm.Dialect
	format   Format
	yield    func(*llm.Event, error) bool

	raw  []byte // of the current event
	held []held // events that wait for the next one

	cursor   jsonbytes.Cursor
	fragment fragment

	whole bool // the last event has come
	fresh bool // events have been sent since the last pause
	gone  bool // the consumer has left
}

// held is an event and its bytes.
type held struct {
	event llm.Event
	raw   []byte
}

// fragment is how an event begins that adds to a part of the answer, up to its text. Of the
// next event that begins so only the text is read.
type fragment struct {
	head []byte
	kind llm.EventKind
}

// Open reads up to the first event of the answer and returns a stream that begins with the
// events before it. An error that comes before it is as good as one in place of the stream.
// A stream that does not begin is malformed, with the error notBegun. The head is filled in as
// the format reads.
func Open(
	ctx context.Context, client *upstream.Client, events *upstream.Events,
	dialect llm.Dialect, format Format, head llm.Head, notBegun error,
) (llm.Stream, error) {
	events.KeepRaw()
	head.Counter = format
	s := &Stream{Head: head, ctx: ctx, client: client, upstream: events, dialect: dialect, format: format}
	if err := s.open(notBegun); err != nil {
		events.Close()
		return nil, err
	}
	return s.all, nil
}

func (s *Stream) open(notBegun error) error {
	for size := 0; ; {
		kind, err := s.next()
		switch {
		case err != nil:
			return err
		case kind == Fails || kind == Problem:
			return s.format.Failed(s, kind, true)
		case kind != Opens && !s.format.Begun():
			return s.client.Malformed(notBegun)
		}
		if size += s.hold(); size > sse.MaxLine {
			return s.client.Malformed(notBegun)
		}
		if kind != Opens || s.format.Begun() && !s.upstream.Await(openingWait) {
			return nil
		}
	}
}

// hold keeps the current event, and returns its size.
func (s *Stream) hold() int {
	s.held = append(s.held, held{s.Event, bytes.Clone(s.raw)})
	return len(s.raw)
}

// all yields the events up to the last one. Without that the answer is not whole, even if
// all of its text has come.
func (s *Stream) all(yield func(*llm.Event, error) bool) {
	defer s.upstream.Close()
	s.yield = yield
	s.upstream.BeforeRead(s.pause)
	for s.release() && !s.whole {
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
func (s *Stream) pass() error {
	kind, err := s.next()
	if kind == Problem {
		s.hold()
		if kind, err = s.next(); err != nil {
			s.held = nil
			return s.format.Failed(s, Problem, false)
		}
		s.release()
	}
	switch {
	case err != nil:
		return err
	case kind == Fails:
		if s.Event.Usage != nil {
			s.send(nil)
		}
		return s.format.Failed(s, Fails, false)
	}
	s.send(s.format.Renamed(s, s.raw))
	return nil
}

// release yields the events that were held; it is false if the consumer has left.
func (s *Stream) release() bool {
	if len(s.held) > 0 {
		current := s.Event
		for i := range s.held {
			s.Event = s.held[i].event
			s.send(s.format.Renamed(s, s.held[i].raw))
		}
		s.Event, s.held = current, nil
	}
	return !s.gone
}

// send yields the current event with its bytes.
func (s *Stream) send(raw []byte) {
	if s.gone {
		return
	}
	s.Event.Raw = raw
	s.fresh = true
	s.gone = !s.yield(&s.Event, nil)
}

// pause yields a pause, once, before the upstream is waited for.
func (s *Stream) pause() bool {
	if s.fresh && !s.gone {
		s.fresh = false
		s.gone = !s.yield(nil, nil)
	}
	return !s.gone
}

// next reads one event.
func (s *Stream) next() (Kind, error) {
	e, err := s.upstream.Next()
	switch {
	case errors.Is(err, io.EOF):
		frame, data := s.format.Missing()
		if frame == nil {
			return Other, s.format.Cut(s.upstream.Stray())
		}
		s.Name, s.Data, s.raw = "", data, frame
	case err != nil:
		return Other, s.client.Broken(s.ctx, err)
	default:
		s.Name, s.Data, s.raw = e.Name, e.Data, s.upstream.Raw()
	}
	s.Event = llm.Event{Kind: llm.EventOther, Head: &s.Head, RawDialect: s.dialect}
	if s.continues() {
		return Other, nil
	}
	kind := s.format.Read(s)
	s.whole = s.whole || kind == Ends
	return kind, nil
}

// continues reads an event that begins as the one before that added to the answer.
func (s *Stream) continues() bool {
	if len(s.fragment.head) == 0 || !bytes.HasPrefix(s.Data, s.fragment.head) {
		return false
	}
	s.cursor.Reset(s.Data)
	s.cursor.SkipBytes(s.fragment.head)
	text := s.cursor.String()
	if s.cursor.Peek() == 0 { // no string, or nothing after it
		return false
	}
	s.Event.Kind, s.Event.Text = s.fragment.kind, string(text)
	return true
}

// Adds says that the current event adds the text at a place in its data. again: the bytes up
// to there say all else of it, so that an event that begins with them is one of the same kind.
func (s *Stream) Adds(kind llm.EventKind, at jsonbytes.Span, again bool) {
	s.Event.Kind, s.Event.Text = kind, jsonbytes.Text(at.Of(s.Data))
	if again {
		s.fragment = fragment{head: append(s.fragment.head[:0], s.Data[:at.From]...), kind: kind}
	}
}
