package anthropic

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/internal/scan"
	"modelgateway/llm"
	"modelgateway/providers/sse"
	"modelgateway/providers/upstream"
)

// events reads up to message_start and returns a stream that begins with it.
func (n *native) events(ctx context.Context, events *upstream.Events, key string) (llm.Stream, error) {
	events.KeepRaw()
	s := &nativeStream{ctx: ctx, native: n, key: key, client: n.client, upstream: events}
	s.head = llm.Head{Model: n.model, Created: n.provider.now().Unix(), Counter: s}
	if err := s.readStart(); err != nil {
		events.Close()
		return nil, err
	}
	return s.all, nil
}

// nativeStream passes the events of an upstream on in their bytes. Beside them it finds
// what the answer costs, why it ended and whether it is whole. Of an event that it does not
// know it reads the type only.
type nativeStream struct {
	ctx      context.Context
	native   *native
	key      string
	client   *upstream.Client
	upstream *upstream.Events
	yield    func(*llm.Event, error) bool

	head  llm.Head
	event llm.Event // the current one
	held  []byte    // what came before message_start
	id    string    // the upstream's of the answer

	cursor   scan.Cursor
	fragment fragment

	usage   usage
	ending  ending // what of it is known
	early   bool   // blocks have followed its reason, such as one of message_start
	stopped bool   // message_stop has come
	fresh   bool   // events have been sent since the last pause
	gone    bool   // the consumer has left during a pause
}

// fragment is how an event begins that adds to a block, up to its text. Of the next event
// that begins so only the text is read.
type fragment struct {
	head []byte
	kind llm.EventKind
}

// Counted is the usage so far.
func (s *nativeStream) Counted() *llm.Usage { return s.usage.counted(s.ending.StopReason != "") }

// readStart reads up to message_start. What comes before it, such as pings, is sent with
// it: until then the upstream has not begun to answer.
func (s *nativeStream) readStart() error {
	for {
		e, err := s.next()
		if err != nil {
			return err
		}
		switch e {
		case typeMessageStart:
			return nil
		case typeBlockStart, typeBlockDelta, typeBlockStop, typeMessageDelta, typeMessageStop:
			return s.client.Malformed(errNoStart)
		}
		if s.held = append(s.held, s.upstream.Raw()...); len(s.held) > sse.MaxLine {
			return s.client.Malformed(errNoStart)
		}
	}
}

// all yields the events from message_start to message_stop. That alone may be missing: it
// adds nothing to the reason why the answer has ended.
func (s *nativeStream) all(yield func(*llm.Event, error) bool) {
	defer s.upstream.Close()
	s.yield = yield
	s.upstream.BeforeRead(s.pause)
	for s.send() {
		if s.stopped {
			s.upstream.Drain()
			return
		}
		if _, err := s.next(); err != nil {
			if !s.gone {
				yield(nil, err)
			}
			return
		}
	}
}

// send yields the current event.
func (s *nativeStream) send() bool {
	if s.event.Raw == nil {
		s.event.Raw = s.upstream.Raw()
	}
	if s.event.Kind == llm.EventBegin {
		s.event.Raw = renamed(s.event.Raw, s.id, s.head.ID)
	}
	if len(s.held) > 0 {
		s.event.Raw = append(s.held, s.event.Raw...)
		s.held = nil
	}
	s.fresh = true
	return s.yield(&s.event, nil)
}

// pause yields a pause, once, before the upstream is waited for.
func (s *nativeStream) pause() bool {
	if !s.fresh {
		return true
	}
	s.fresh = false
	s.gone = !s.yield(nil, nil)
	return !s.gone
}

// The end mark of a stream.
const (
	stopData  = `{"type":"message_stop"}`
	stopFrame = "event: message_stop\ndata: " + stopData + "\n\n"
)

// next reads one event into s.event and returns its type, empty for one that is not known.
func (s *nativeStream) next() (string, error) {
	e, err := s.upstream.Next()
	if errors.Is(err, io.EOF) {
		if s.ending.StopReason != "" && !s.early {
			s.event = llm.Event{Kind: llm.EventOther, Head: &s.head, RawDialect: llm.Messages, Raw: []byte(stopFrame)}
			return s.read([]byte(stopData)), nil
		}
		return "", passing(ended(s.client, s.upstream), s.upstream.Stray())
	}
	if err != nil {
		return "", s.client.Broken(s.ctx, err)
	}
	s.event = llm.Event{Kind: llm.EventOther, Head: &s.head, RawDialect: llm.Messages}
	if s.adds(e.Data) {
		return typeBlockDelta, nil
	}
	kind := s.read(e.Data)
	if kind == typeError || e.Name == typeError {
		return "", s.failed(e.Data)
	}
	return kind, nil
}

// adds reads an event that begins as the one before that added to a block.
func (s *nativeStream) adds(data []byte) bool {
	if len(s.fragment.head) == 0 || !bytes.HasPrefix(data, s.fragment.head) {
		return false
	}
	s.cursor.Reset(data)
	s.cursor.SkipBytes(s.fragment.head)
	text := s.cursor.String()
	if s.cursor.Peek() == 0 { // no string, or nothing after it
		return false
	}
	s.event.Kind, s.event.Text = s.fragment.kind, string(text)
	return true
}

// read finds what an event says and returns its type.
func (s *nativeStream) read(data []byte) (kind string) {
	for name, value := range scan.MembersAt(data, 0) {
		switch {
		case name.Is("type"):
			kind = knownType(value.Of(data))
		case name.Is("message"):
			s.begins(value.Of(data))
		case name.Is("content_block"):
			s.block(value.Of(data))
		case name.Is("delta"):
			s.delta(data, value, kind)
		case name.Is("usage"):
			s.counts(value.Of(data))
		}
	}
	switch kind {
	case typeMessageStart:
		s.event.Kind = llm.EventBegin
	case typeBlockStart:
		s.early = s.early || s.ending.StopReason != ""
	case typeMessageDelta:
		s.event.Usage = s.usage.common()
	case typeMessageStop:
		s.stopped = true
		s.event.Kind, s.event.Usage, s.event.Ending = llm.EventFinish, s.usage.common(), s.ended()
	}
	return kind
}

// knownType is the type of an event in memory of its own; empty for another one.
func knownType(value []byte) string {
	for _, known := range []string{
		typeBlockDelta, typeBlockStart, typeBlockStop, typeMessageStart, typeMessageDelta, typeMessageStop, typeError,
	} {
		if len(value) == len(known)+len(`""`) && string(value[1:len(value)-1]) == known {
			return known
		}
	}
	return ""
}

// begins reads the message of message_start.
func (s *nativeStream) begins(message []byte) {
	for name, value := range scan.Members(message) {
		switch {
		case name.Is("id"):
			s.id = scan.Text(value)
			s.head.ID = s.native.named(s.id, s.key)
		case name.Is("model"):
			if model := scan.Text(value); model != "" {
				s.head.Model = model
			}
		case name.Is("stop_reason"):
			s.ending.StopReason = scan.Text(value)
		case name.Is("usage"):
			s.counts(value)
		case name.Is("content"): // of some proxies, which send a whole message
			s.event.Text = textsOf(value)
		}
	}
}

// counts reads usage over what came before: no event has all counts.
func (s *nativeStream) counts(value []byte) {
	_ = json.Unmarshal(value, &s.usage, api.Lenient) // what has another form is not counted
	s.head.ServiceTier = s.usage.tier()
}

// delta reads what an event adds to a block or, as the client shall be told, to the message.
func (s *nativeStream) delta(data []byte, at scan.Span, kind string) {
	for name, value := range scan.MembersAt(data, at.From) {
		switch {
		case name.Is("text"):
			s.adding(data, value, kind, llm.EventText)
		case name.Is("thinking"):
			s.adding(data, value, kind, llm.EventThought)
		case name.Is("partial_json"):
			s.adding(data, value, kind, llm.EventInput)
		case name.Is("stop_reason"):
			if reason := scan.Text(value.Of(data)); reason != "" {
				s.ending.StopReason = reason
			}
		case name.Is("stop_sequence"):
			s.ending.StopSequence = word(scan.Text(value.Of(data)))
		}
	}
}

// adding reads a piece of text, and how its event begins.
func (s *nativeStream) adding(data []byte, at scan.Span, kind string, as llm.EventKind) {
	s.event.Kind, s.event.Text = as, scan.Text(at.Of(data))
	if kind == typeBlockDelta { // said before the text
		s.fragment = fragment{head: append(s.fragment.head[:0], data[:at.From]...), kind: as}
	}
}

func (s *nativeStream) ended() llm.Ending {
	return llm.Ending{
		Finish: s.ending.finish(), NativeReason: s.ending.StopReason, StopSequence: string(s.ending.StopSequence),
	}
}

// failed is the error that an event says.
func (s *nativeStream) failed(data []byte) error {
	var e struct {
		Error problem `json:"error"`
	}
	_ = json.Unmarshal(data, &e, api.Lenient) // of another form it is an error all the same
	return passing(s.client.Refused(e.Error.refusal()), data)
}

// block reads what a block begins with, for metering: its text, or what it calls.
func (s *nativeStream) block(block []byte) {
	for name, value := range scan.Members(block) {
		switch {
		case name.Is("text"):
			s.event.Kind, s.event.Text = llm.EventText, scan.Text(value)
		case name.Is("thinking"), name.Is("name"):
			s.event.Text = scan.Text(value)
		}
	}
}
