package anthropic

import (
	"context"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/native"
	"modelgateway/providers/upstream"
)

// events is the stream of an answer, which begins with message_start.
func (n *nativeExchange) events(ctx context.Context, events *upstream.Events, key string) (llm.Stream, error) {
	head := llm.Head{Model: n.model, Created: n.provider.now().Unix()}
	return native.Open(ctx, n.client, events, llm.Messages, &messageReader{native: n, key: key}, head, errNoStart)
}

// messageReader reads the events of an answer that are passed on in their bytes.
type messageReader struct {
	native *nativeExchange
	key    string
	id     string // the upstream's of the answer

	begun  bool // message_start has come
	usage  usage
	ending ending // what of it is known
	early  bool   // blocks have followed its reason, such as one of message_start
}

// Counted is the usage so far.
func (m *messageReader) Counted() *llm.Usage { return m.usage.counted(m.ending.StopReason != "") }

// Begun says whether message_start has come.
func (m *messageReader) Begun() bool { return m.begun }

// Renamed has the client's name of the answer in message_start.
func (m *messageReader) Renamed(s *native.Stream, raw []byte) []byte {
	if s.Event.Kind == llm.EventBegin {
		return renamed(raw, m.id, s.Head.ID)
	}
	return raw
}

// The end mark of a stream.
const (
	stopData  = `{"type":"message_stop"}`
	stopFrame = "event: message_stop\ndata: " + stopData + "\n\n"
)

// Missing is message_stop: it adds nothing to the reason why the answer has ended.
func (m *messageReader) Missing() (frame, data []byte) {
	if m.ending.StopReason == "" || m.early {
		return nil, nil
	}
	return []byte(stopFrame), []byte(stopData)
}

// Cut is the error of a stream without its end.
func (m *messageReader) Cut(stray []byte) error { return passing(ended(m.native.client, stray), stray) }

// Failed is the error that an event says.
func (m *messageReader) Failed(s *native.Stream, _ native.Kind, _ bool) error {
	return m.native.refusedInside(s.Data)
}

// Read finds what an event says. What comes before message_start, such as pings, is sent with
// it: until then the upstream has not begun to answer.
func (m *messageReader) Read(s *native.Stream) native.Kind {
	var kind string
	for name, value := range jsonbytes.MembersAt(s.Data, 0) {
		switch {
		case name.Is("type"):
			kind = knownType(value.Of(s.Data))
		case name.Is("message"):
			m.readMessage(s, value.Of(s.Data))
		case name.Is("content_block"):
			readBlockStart(s, value.Of(s.Data))
		case name.Is("delta"):
			m.delta(s, value, kind)
		case name.Is("usage"):
			m.counts(s, value.Of(s.Data))
		}
	}
	if kind == typeError || s.Name == typeError {
		return native.Fails
	}
	switch kind {
	case typeMessageStart:
		m.begun = true
		s.Event.Kind = llm.EventBegin
	case typeBlockStart:
		m.early = m.early || m.ending.StopReason != ""
	case typeMessageDelta:
		s.Event.Usage = m.usage.common()
	case typeMessageStop:
		s.Event.Kind, s.Event.Usage, s.Event.Ending = llm.EventFinish, m.usage.common(), m.ending.common()
		return native.Ends
	case "":
		if !m.begun {
			s.Event.Kind, s.Event.Text = llm.EventOther, ""
			return native.Opens
		}
	}
	return native.Other
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

// readMessage reads the message of message_start.
func (m *messageReader) readMessage(s *native.Stream, message []byte) {
	for name, value := range jsonbytes.Members(message) {
		switch {
		case name.Is("id"):
			m.id = jsonbytes.Text(value)
			s.Head.ID = m.native.named(m.id, m.key)
		case name.Is("model"):
			if model := jsonbytes.Text(value); model != "" {
				s.Head.Model = model
			}
		case name.Is("stop_reason"):
			m.ending.StopReason = jsonbytes.Text(value)
		case name.Is("usage"):
			m.counts(s, value)
		case name.Is("content"): // of some proxies, which send a whole message
			s.Event.Text = textsOf(value)
		}
	}
}

// counts reads usage over what came before: no event has all counts.
func (m *messageReader) counts(s *native.Stream, value []byte) {
	_ = json.Unmarshal(value, &m.usage, api.Lenient) // what has another form is not counted
	s.Head.ServiceTier = m.usage.tier()
}

// delta reads what an event adds to a block or, as the client shall be told, to the message.
func (m *messageReader) delta(s *native.Stream, at jsonbytes.Span, kind string) {
	again := kind == typeBlockDelta // said before the text
	for name, value := range jsonbytes.MembersAt(s.Data, at.From) {
		switch {
		case name.Is("text"):
			s.Adds(llm.EventText, value, again)
		case name.Is("thinking"):
			s.Adds(llm.EventThought, value, again)
		case name.Is("partial_json"):
			s.Adds(llm.EventInput, value, again)
		case name.Is("stop_reason"):
			if reason := jsonbytes.Text(value.Of(s.Data)); reason != "" {
				m.ending.StopReason = reason
			}
		case name.Is("stop_sequence"):
			m.ending.StopSequence = word(jsonbytes.Text(value.Of(s.Data)))
		}
	}
}

// readBlockStart reads what a block begins with, for metering: its text, or what it calls.
func readBlockStart(s *native.Stream, text []byte) {
	for name, value := range jsonbytes.Members(text) {
		switch {
		case name.Is("text"):
			s.Event.Kind, s.Event.Text = llm.EventText, jsonbytes.Text(value)
		case name.Is("thinking"), name.Is("name"):
			s.Event.Text = jsonbytes.Text(value)
		}
	}
}
