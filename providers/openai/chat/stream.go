package chat

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers/upstream"
)

const done = "[DONE]"

// events reads up to the first event and returns a stream that begins with it.
func (x *exchange) events(ctx context.Context, events *upstream.Events) (llm.Stream, error) {
	s := x.newStream(ctx, events)
	if err := s.first(); err != nil {
		events.Close()
		return nil, err
	}
	return s.all, nil
}

func (x *exchange) newStream(ctx context.Context, events *upstream.Events) *stream {
	return &stream{ctx: ctx, exchange: x, upstream: events, client: x.api.client, usageAsked: x.call.Request.Usage}
}

func (s *stream) all(yield func(*llm.Event, error) bool) {
	defer s.upstream.Close()
	s.run(yield)
}

// stream is the state of one upstream answer.
type stream struct {
	ctx        context.Context
	exchange   *exchange
	client     *upstream.Client
	upstream   *upstream.Events
	usageAsked bool // by the client

	reader reader
	event  *event // the current one
	raw    []byte // its bytes
	ended  bool   // [DONE] has arrived

	events  eventWriter
	out     *chat.Emitter
	forward forward        // of the template numbered
	number  int            // 0 = of none
	passes  bool           // events that match the template are forwarded unchanged
	calls   map[int][]call // the tool calls of each choice, as the upstream knows them
	ends    []ending       // of the choices that are complete
	spare   jsontext.Value // members of events without choices, for the next chunk that has one
	usage   *chat.Usage
}

// ending is the last chunk of a choice. It is held until the upstream has
// said that the whole stream is complete, so that no client sees an error after a
// finish reason.
type ending struct {
	index  int
	reason string
	extra  jsontext.Value // of the choice
	top    jsontext.Value // of the event
}

// first reads up to the first event that is not an error.
func (s *stream) first() error {
	err := s.next()
	for err == nil && !s.ended && s.event.prologue() {
		s.spare = joined(s.spare, s.event.Extra)
		err = s.next()
	}
	switch {
	case errors.Is(err, io.EOF):
		return s.client.Truncated()
	case err == nil && s.ended:
		return s.client.Malformed(errNoChoices)
	}
	return err
}

// next reads one event, s.event, or sets s.ended.
func (s *stream) next() error {
	raw, err := s.upstream.Next()
	switch {
	case errors.Is(err, io.EOF):
		return s.stray()
	case err != nil:
		return s.client.Broken(s.ctx, err)
	case string(raw.Data) == done:
		s.ended = true
		return nil
	case raw.Name == "error":
		return s.exchange.failed(raw.Data)
	}
	s.raw = raw.Data
	if s.event, err = s.reader.read(raw.Data); err != nil {
		return s.client.Malformed(err)
	}
	return s.exchange.failure(s.event, raw.Data)
}

func (s *stream) run(yield func(*llm.Event, error) bool) {
	var err error
	e := s.event
	head := s.exchange.head(e.ID, e.Model, e.Created)
	if s.exchange.foreign {
		events := s.exchange.translator(yield, llm.Head{ID: head.ID, Model: head.Model, Created: head.Created, Counter: s})
		s.out = chat.NewEmitter(events.chunk, head)
		s.upstream.BeforeRead(events.out.Pause)
	} else {
		s.out = chat.NewEmitter(s.events.chunk, head)
		s.events = eventWriter{yield: yield, usageAsked: s.usageAsked, head: llm.Head{
			ID: s.out.Chunk().ID, Model: head.Model, Created: head.Created, Counter: s,
		}}
		s.upstream.BeforeRead(s.events.pause)
	}
	s.calls = map[int][]call{}
	for err == nil && !s.ended {
		if !s.take() {
			return
		}
		err = s.next()
	}
	s.finish(err)
}

// Counted is the usage so far: OpenAI sends it last, some compatible servers
// with every event.
func (s *stream) Counted() *llm.Usage { return s.usage.Common() }

// Finishing reports whether a choice has ended whose last chunk is held until
// the usage arrives.
func (s *stream) Finishing() bool { return len(s.ends) > 0 }

// take emits what one event adds; it is false if the consumer has left.
func (s *stream) take() bool {
	e := s.event
	if !s.exchange.foreign {
		at := s.reader.content
		switch matched := s.reader.matched; {
		case matched && at.To-at.From > len(`""`) && s.forwards():
			return s.events.text(&s.forward, s.raw[at.From:at.To], e)
		case !matched && s.forwardable(e):
			raw, _ := asItCame(s.raw, s.usageAsked)
			return s.events.whole(raw, e)
		}
	}
	if e.Usage != nil {
		s.usage = repairUsage(e.Usage)
	}
	c := s.out.Chunk()
	if e.ServiceTier != "" {
		c.ServiceTier = e.ServiceTier
	}
	if e.SystemFingerprint != "" {
		c.SystemFingerprint = e.SystemFingerprint
	}
	if len(e.Choices) == 0 {
		s.spare = joined(s.spare, e.Extra)
		return true
	}
	c.Extra, s.spare = joined(s.spare, e.Extra), nil
	for i := range e.Choices {
		if !s.choice(&e.Choices[i]) {
			return false
		}
	}
	return true
}

// forwards says whether the current event, which matches the template, is sent to
// the client unchanged.
func (s *stream) forwards() bool {
	t := &s.reader.template
	if s.number != t.number {
		s.number = t.number
		e, c := &t.event, &t.choice
		s.passes = s.complete(e) && s.sameHead(e) && c.FinishReason == "" && c.Delta.ReasoningContent == ""
		if s.passes {
			s.forward = splitAt(t.content, t.text, s.usageAsked)
		}
	}
	return s.passes
}

func (s *stream) choice(c *eventChoice) bool {
	d := &c.Delta
	if most := s.mostChoices(); !s.out.Begun(c.Index) && s.out.Choices() == most {
		s.out.Fail(s.client.Malformed(llm.ErrManyChoices))
		return false
	}
	if !s.begin(c) {
		return false
	}
	s.out.With(llm.Present(c.Logprobs), c.Extra)
	if !s.out.Delta(c.Index, d.delta()) {
		return false
	}
	s.out.With(nil, c.Extra) // the log probabilities have been sent
	for i := range d.ToolCalls {
		if !s.toolCall(c.Index, &d.ToolCalls[i]) {
			return false
		}
	}
	if c.FinishReason == "" {
		return true
	}
	end := ending{index: c.Index, top: s.event.Extra}
	end.reason, end.extra = finishWord(c.FinishReason, c.Extra)
	if at := slices.IndexFunc(s.ends, func(e ending) bool { return e.index == c.Index }); at >= 0 {
		s.ends[at] = end // OpenRouter says it again with the usage
		return true
	}
	s.ends = append(s.ends, end)
	return s.closeCalls(c.Index)
}

// mostChoices is how many choices the answer may have: as many as were asked for. Of more
// than the usual one some servers send what they like.
func (s *stream) mostChoices() int {
	if n := s.exchange.call.Request.Choices; n > 1 {
		return int(n)
	}
	return llm.MaxChoices
}

// begin sends the role of a choice, unless it has been sent. What only this upstream
// says of a choice goes along if the event adds nothing else: so do the judgements
// of Azure's filters, which may come late.
func (s *stream) begin(c *eventChoice) bool {
	s.out.With(nil, nil)
	begun, bare := s.out.Begun(c.Index), c.FinishReason == "" && len(c.Extra) > 0 && c.Delta.bare()
	if bare {
		s.out.With(nil, c.Extra)
	}
	switch {
	case begun && bare:
		return s.out.Bare(c.Index)
	case begun:
		return true
	}
	begin := s.out.Begin
	if c.Delta.Content == nil {
		begin = s.out.BeginNull
	}
	ok := begin(c.Index)
	s.out.Chunk().Extra = s.event.Extra // without the spare members, which have been sent
	return ok
}

// finish ends the stream. The end mark is [DONE]; of compatible servers that have
// none the answer is whole when each of its choices has a finish reason, or when
// the requested usage has come after one.
func (s *stream) finish(err error) {
	if errors.Is(err, io.EOF) && len(s.ends) > 0 && (s.usage != nil || len(s.ends) >= len(s.out.Open())) {
		err = nil
	}
	switch {
	case errors.Is(err, io.EOF):
		err = s.client.Truncated()
	case err == nil && !s.out.Started():
		err = s.client.Malformed(errNoChoices)
	}
	if err != nil {
		s.out.Fail(err)
		return
	}
	for i, e := range s.ends {
		s.out.With(nil, e.extra)
		if s.out.Chunk().Extra = e.top; i == 0 {
			s.out.Chunk().Extra = joined(e.top, s.spare)
		}
		if !s.out.Finish(e.index, e.reason) {
			return
		}
	}
	s.out.With(nil, nil)
	s.out.Chunk().Extra = nil
	for _, choice := range s.out.Open() { // [DONE] without a reason: compatible servers
		if !s.closeCalls(choice) || !s.out.Finish(choice, inferred(len(s.calls[choice]))) {
			return
		}
	}
	if s.out.Usage(s.usage) && s.ended {
		s.upstream.Drain()
	}
}
