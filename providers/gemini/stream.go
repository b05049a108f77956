package gemini

import (
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
	"modelgateway/providers/upstream"
)

// stream is the state of one upstream answer. A whole answer is read as a
// stream of one event, so that both give the same result.
type stream struct {
	ctx      context.Context
	exchange *exchange
	client   *upstream.Client
	events   *upstream.Events // nil for a whole answer
	reader   *reader
	answer   answer // the current event
	ended    bool   // the body has ended where it is allowed to

	head    llm.Head
	model   string // that was asked
	choices []choice
	blocked feedback
	usage   jsontext.Value // of the last event that had it

	out *llm.Emitter
}

// choice is the state of a candidate.
type choice struct {
	index   int
	reason  string // Gemini's, once it has arrived
	message string // Gemini's explanation of the reason
	usable  bool   // a text, an image or a call has arrived

	thoughts int // sent so far
	images   int // sent so far

	held     []byte // text that is sent only if the answer's function is not called
	answered bool   // it was called

	pending *pendingCall // a call of which parts are missing
	text    written
	sources sources
	safety  jsontext.Value // the last ratings
}

// start reads up to the first event with content. Until then nothing has been
// sent, and another upstream may be tried after an error.
func (x *exchange) start(ctx context.Context, body io.Reader) (*stream, error) {
	r, err := newReader(body)
	if err != nil {
		return nil, x.provider.client.Broken(ctx, err)
	}
	return x.read(ctx, r)
}

func (x *exchange) read(ctx context.Context, r *reader) (*stream, error) {
	s := &stream{
		ctx: ctx, exchange: x, client: x.provider.client, reader: r,
		head:  llm.Head{Created: x.provider.now().Unix()},
		model: modelName(x.call.Model.Upstream),
	}
	s.head.Counter = s
	for {
		if err := s.next(); err != nil {
			return nil, err
		}
		if s.ended || s.answer.hasContent() {
			break
		}
		s.record()
	}
	if s.ended {
		if err := s.failure(); err != nil {
			return nil, err
		}
	}
	s.identify()
	if s.head.Model == "" {
		s.head.Model = s.model
	}
	return s, nil
}

// hasContent says whether the event holds anything for the client to see.
func (a *answer) hasContent() bool {
	for i := range a.Candidates {
		if a.Candidates[i].LogprobsResult != nil {
			return true
		}
		for j := range a.Candidates[i].Content.Parts {
			p := &a.Candidates[i].Content.Parts[j]
			if p.Text != "" || p.called() || p.InlineData != nil || p.ThoughtSignature != "" {
				return true
			}
		}
	}
	return false
}

// next reads one event into s.answer, or sets s.ended.
func (s *stream) next() error {
	err := s.reader.next(&s.answer)
	switch {
	case err == nil && s.answer.Error != nil:
		return s.client.Refused(s.answer.Error.refusal(s.answer.Error.streamStatus()))
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		s.ended = true
		return nil
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return s.client.Truncated()
	case malformed(err):
		return s.client.Malformed(err)
	default:
		return s.client.Broken(s.ctx, err)
	}
}

// malformed reports whether the body has arrived and is not in Gemini's format.
func malformed(err error) bool {
	if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return true
	}
	_, ok := errors.AsType[*json.SemanticError](err)
	return ok || errors.Is(err, errNoAnswer)
}

// run is the stream of the answer's events. It closes the body.
func (s *stream) run(yield func(*llm.Event, error) bool) {
	defer s.close()
	s.out = llm.NewEmitter(yield, s.head)
	s.out.Malformed = s.client.Malformed
	if s.events != nil {
		s.events.BeforeRead(s.out.Pause)
	}
	for !s.ended {
		if !s.emit() {
			return
		}
		if err := s.next(); err != nil {
			s.out.Fail(err)
			return
		}
	}
	if err := s.failure(); err != nil {
		s.out.Fail(err)
		return
	}
	s.finish()
}

func (s *stream) close() {
	s.reader.close()
	if s.events != nil {
		s.events.Close()
	}
}

// identify keeps the first id and model that the upstream sends.
func (s *stream) identify() {
	if s.head.ID == "" {
		s.head.ID = s.answer.ResponseID
	}
	if s.head.Model == "" {
		s.head.Model = modelName(s.answer.ModelVersion)
	}
}

// record keeps what matters only at the end. Recording an event twice changes
// nothing.
func (s *stream) record() {
	a := &s.answer
	s.identify()
	if len(a.UsageMetadata) > 0 {
		s.usage = append(s.usage[:0], a.UsageMetadata...)
	}
	if a.PromptFeedback.any() {
		s.blocked = a.PromptFeedback
	}
	for i := range a.Candidates {
		if len(s.choices) > llm.MaxChoices {
			return // the answer is refused when the first of those is sent
		}
		from := &a.Candidates[i]
		c := s.choice(from.Index)
		if from.FinishReason != "" {
			c.reason, c.message = from.FinishReason, from.FinishMessage
		}
		c.usable = c.usable || from.usable()
		if len(from.SafetyRatings) > 0 {
			c.safety = append(c.safety[:0], from.SafetyRatings...)
		}
		c.sources.cited(from.CitationMetadata)
		c.sources.grounded(from, !c.text.empty())
	}
}

// usable says whether the event holds anything of the answer itself.
func (c *candidate) usable() bool {
	for i := range c.Content.Parts {
		p := &c.Content.Parts[i]
		if p.called() && !p.FunctionCall.WillContinue || !p.Thought && (p.Text != "" || p.InlineData != nil) {
			return true
		}
	}
	return false
}

// called says whether the part begins a call. A part without a name continues one or is none.
func (p *part) called() bool { return p.FunctionCall != nil && p.FunctionCall.Name != "" }

// emit sends what the event adds; it is false when the consumer has left.
func (s *stream) emit() bool {
	s.record()
	for i := range s.answer.Candidates {
		if !s.candidate(&s.answer.Candidates[i]) {
			return false
		}
	}
	return true
}

func (s *stream) choice(index int) *choice {
	for i := range s.choices {
		if s.choices[i].index == index {
			return &s.choices[i]
		}
	}
	s.choices = append(s.choices, choice{index: index})
	return &s.choices[len(s.choices)-1]
}
