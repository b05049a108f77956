package openai

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api/chat"
	"modelgateway/models/llm"
	"modelgateway/providers/upstream"
)

// event is one event of a stream: a chunk or an error.
type event struct {
	ID                string         `json:"id"`
	Created           int64          `json:"created"`
	Model             string         `json:"model"`
	Choices           []eventChoice  `json:"choices"`
	Usage             *chat.Usage    `json:"usage"`
	ServiceTier       string         `json:"service_tier"`
	SystemFingerprint string         `json:"system_fingerprint"`
	Object            string         `json:"object"`
	Error             *problem       `json:"error"`
	Obfuscation       string         `json:"obfuscation"` // padding, dropped
	Extra             jsontext.Value `json:",embed"`
}

type eventChoice struct {
	Index        int            `json:"index"`
	Delta        eventDelta     `json:"delta"`
	Logprobs     jsontext.Value `json:"logprobs"`
	FinishReason string         `json:"finish_reason"`
	Extra        jsontext.Value `json:",embed"`
}

type eventDelta struct {
	Role             string                 `json:"role"`
	Content          *string                `json:"content"`
	Refusal          *string                `json:"refusal"`
	ReasoningContent string                 `json:"reasoning_content"`
	Reasoning        string                 `json:"reasoning"` // the name some compatible servers use
	ReasoningDetails []chat.ReasoningDetail `json:"reasoning_details"`
	ToolCalls        []eventCall            `json:"tool_calls"`
	FunctionCall     *chat.FunctionDelta    `json:"function_call"`
	Images           []chat.Image           `json:"images"`
	Extra            jsontext.Value         `json:",embed"`
}

// delta is what the event adds but for tool calls, in the words of the API.
func (d *eventDelta) delta() chat.Delta {
	out := chat.Delta{
		Content: d.Content, Refusal: d.Refusal, ReasoningContent: d.ReasoningContent,
		ReasoningDetails: d.ReasoningDetails, FunctionCall: d.FunctionCall, Images: d.Images, Extra: d.Extra,
	}
	if out.ReasoningContent == "" {
		out.ReasoningContent = d.Reasoning
	}
	return out
}

type eventCall struct {
	Index        *int                `json:"index"` // compatible servers leave it out
	ID           string              `json:"id"`
	Type         string              `json:"type"`
	Function     *chat.FunctionDelta `json:"function"`
	Custom       jsontext.Value      `json:"custom"`
	ExtraContent *chat.ExtraContent  `json:"extra_content"`
}

const done = "[DONE]"

// events reads up to the first event and returns a stream that begins with it.
func (x *exchange) events(ctx context.Context, events *upstream.Events) (llm.Stream, error) {
	s := &stream{ctx: ctx, exchange: x, upstream: events, client: x.provider.client, usageAsked: x.call.Request.Usage}
	if err := s.first(); err != nil {
		events.Close()
		return nil, err
	}
	return func(yield func(*llm.Event, error) bool) {
		defer events.Close()
		s.run(yield)
	}, nil
}

// stream is the state of one upstream answer.
type stream struct {
	ctx        context.Context
	exchange   *exchange
	client     *upstream.Client
	upstream   *upstream.Events
	usageAsked bool // by the client

	event *event // the current one
	raw   []byte // its bytes
	full  event
	fast  fastReader
	ended bool // [DONE] has arrived

	events  eventWriter
	out     *chat.Emitter
	forward forward        // of the template numbered
	number  int            // 0 = of none
	sound   bool           // events that match the template are forwarded unchanged
	calls   map[int][]call // the tool calls of each choice, as the upstream knows them
	ends    []ending       // of the choices that are complete
	usage   *chat.Usage
}

// ending is the last chunk of a choice. It is held until the upstream has
// said that the whole stream is complete, so that no client sees an error after a
// finish reason.
type ending struct {
	index  int
	reason string
	extra  jsontext.Value
}

// call is a tool call that is being streamed.
type call struct {
	index     int    // upstream's, or -1 where it has none
	id        string // upstream's
	at        int    // ours
	named     bool   // its function's name has arrived
	arguments bool   // a fragment has arrived
}

// first reads up to the first event that is not an error.
func (s *stream) first() error {
	err := s.next()
	for err == nil && !s.ended && s.event.prologue() {
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
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return s.client.Broken(s.ctx, err)
	}
	if string(raw.Data) == done {
		s.ended = true
		return nil
	}
	s.raw = raw.Data
	if e, ok := s.fast.read(raw.Data); ok {
		s.event = e
		return nil
	}
	s.full = event{}
	if err := decode(raw.Data, "delta", &s.full); err != nil {
		return s.client.Malformed(err)
	}
	s.event = &s.full
	if p := s.event.Error; p != nil {
		return s.client.Refused(p.refusal(p.streamStatus()))
	}
	return nil
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

// prologue reports whether an event has neither choices, id, model nor usage,
// as Azure's first event: the head of all chunks is read from the next event,
// and an error may still follow.
func (e *event) prologue() bool {
	return e.ID == "" && e.Model == "" && len(e.Choices) == 0 && e.Usage == nil
}

// take emits what one event adds; it is false if the consumer has left.
func (s *stream) take() bool {
	e := s.event
	if !s.exchange.foreign {
		if s.fast.matched && s.fast.to-s.fast.from > len(`""`) && s.forwards() {
			return s.events.text(&s.forward, s.raw[s.fast.from:s.fast.to], e)
		}
		if !s.fast.matched && s.soundEvent(e) {
			if raw, _, ok := asItCame(s.raw, s.usageAsked); ok {
				return s.events.whole(raw, e)
			}
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
	c.Extra = e.Extra
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
	t := &s.fast.template
	if s.number != t.number {
		s.number = t.number
		e, c := &t.event, &t.choice
		s.sound = s.sameHead(e) && e.Usage == nil && c.FinishReason == "" && c.Delta.ReasoningContent == ""
		if s.sound {
			s.forward, s.sound = around(t.text, t.from, t.to, s.usageAsked)
		}
	}
	return s.sound
}

func (s *stream) choice(c *eventChoice) bool {
	d := &c.Delta
	s.out.With(nil, nil)
	if !s.out.Begin(c.Index) {
		return false
	}
	delta := d.delta()
	logprobs := c.Logprobs
	if logprobs.Kind() == jsontext.KindNull {
		logprobs = nil
	}
	s.out.With(logprobs, c.Extra)
	if !s.out.Delta(c.Index, delta) {
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
	s.ends = append(s.ends, ending{c.Index, c.FinishReason, c.Extra})
	return s.closeCalls(c.Index)
}

// toolCall finds the call of a fragment: by its index, else by its id, else it
// is the last call.
func (s *stream) toolCall(choice int, f *eventCall) bool {
	known := s.calls[choice]
	at := slices.IndexFunc(known, func(c call) bool {
		if f.Index != nil {
			return c.index == *f.Index && (f.ID == "" || c.id == "" || c.id == f.ID)
		}
		return f.ID != "" && c.id == f.ID
	})
	if at < 0 && f.Index == nil && f.ID == "" && (f.Function == nil || f.Function.Name == "") {
		at = len(known) - 1
	}
	if at < 0 {
		return s.newCall(choice, f)
	}
	c := &known[at]
	if f.Function == nil {
		return s.out.Fragment(choice, chat.ToolCallDelta{Index: c.at, Custom: f.Custom})
	}
	delta := chat.ToolCallDelta{Index: c.at, Function: &chat.FunctionDelta{Arguments: f.Function.Arguments}}
	if !c.named { // some compatible servers repeat the name, others send it late
		delta.Function.Name, c.named = f.Function.Name, f.Function.Name != ""
	}
	c.arguments = c.arguments || f.Function.Arguments != ""
	return s.out.Fragment(choice, delta)
}

func (s *stream) newCall(choice int, f *eventCall) bool {
	start := chat.ToolCall{ID: f.ID, Type: f.Type, Custom: f.Custom, ExtraContent: f.ExtraContent}
	if f.Function != nil {
		start.Function = &chat.FunctionCall{Name: f.Function.Name, Arguments: f.Function.Arguments}
	}
	if start.ID == "" {
		start.ID = llm.NewID("call_")
	}
	at, ok := s.out.Call(choice, start)
	c := call{index: -1, id: f.ID, at: at, named: start.Function != nil && start.Function.Name != ""}
	c.arguments = f.Function == nil || f.Function.Arguments != ""
	if f.Index != nil {
		c.index = *f.Index
	}
	s.calls[choice] = append(s.calls[choice], c)
	return ok
}

// closeCalls gives calls that had no arguments an empty object.
func (s *stream) closeCalls(choice int) bool {
	for i := range s.calls[choice] {
		c := &s.calls[choice][i]
		if c.arguments {
			continue
		}
		c.arguments = true
		if !s.out.Arguments(choice, c.at, "{}") {
			return false
		}
	}
	return true
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
	for _, e := range s.ends {
		s.out.With(nil, e.extra)
		if !s.out.Finish(e.index, e.reason) {
			return
		}
	}
	s.out.With(nil, nil)
	for _, choice := range s.out.Open() { // [DONE] without a reason: compatible servers
		if !s.closeCalls(choice) || !s.out.Finish(choice, inferred(len(s.calls[choice]))) {
			return
		}
	}
	s.out.Chunk().Extra = nil
	if s.out.Usage(s.usage) && s.ended {
		s.upstream.Drain()
	}
}
