package gemini

import (
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers/chunk"
	"modelgateway/providers/upstream"
)

// stream is the state of one upstream answer. A whole answer is a stream of
// one event, so that the two cannot differ.
type stream struct {
	ctx    context.Context
	client *upstream.Client
	events *upstream.Events // nil for a whole answer
	source *source
	answer answer // the event at hand
	ended  bool   // the body has ended where it may

	head     chunk.Head
	model    string // that was asked
	function bool   // the client knows one function_call only
	choices  []choice
	blocked  feedback
	usage    jsontext.Value // of the last event that had it

	out *chunk.Emitter
}

// choice is a candidate in the making.
type choice struct {
	index   int
	reason  string // Gemini's, once it has come
	message string // Gemini's words on the reason
	said    bool   // text or pictures have come
	calls   int
	details int // reasoning details sent so far

	pictures int // sent so far
}

// start reads up to the first event that says something. Until then nothing
// has been sent, and an error may still be met with another upstream.
func (x *exchange) start(ctx context.Context, body io.Reader) (*stream, error) {
	from, err := open(body)
	if err != nil {
		return nil, x.provider.client.Broken(ctx, err)
	}
	return x.begin(ctx, from)
}

func (x *exchange) begin(ctx context.Context, from *source) (*stream, error) {
	s := &stream{
		ctx: ctx, client: x.provider.client, source: from,
		head:     chunk.Head{Created: x.provider.now().Unix()},
		model:    modelName(x.call.Model.Upstream),
		function: len(x.call.Request.Tools) == 0 && len(x.call.Request.Functions) > 0,
	}
	for {
		if err := s.next(); err != nil {
			return nil, err
		}
		if s.ended || s.answer.speaks() {
			break
		}
		s.note()
	}
	if s.ended {
		if err := s.fault(); err != nil {
			return nil, err
		}
	}
	s.identify()
	if s.head.Model == "" {
		s.head.Model = s.model
	}
	return s, nil
}

// speaks says whether the event holds anything for the client to see.
func (a *answer) speaks() bool {
	for i := range a.Candidates {
		if a.Candidates[i].LogprobsResult != nil {
			return true
		}
		for j := range a.Candidates[i].Content.Parts {
			p := &a.Candidates[i].Content.Parts[j]
			if p.Text != "" || p.FunctionCall != nil || p.InlineData != nil || p.ThoughtSignature != "" {
				return true
			}
		}
	}
	return false
}

// next reads one event into s.answer, or sets s.ended.
func (s *stream) next() error {
	err := s.source.next(&s.answer)
	switch {
	case err == nil && s.answer.Error != nil:
		return s.answer.Error.refusal(s.answer.Error.streamStatus()).Error(catalog.Gemini)
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		s.ended = true
		return nil
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case err == io.ErrUnexpectedEOF:
		return s.client.Truncated()
	case malformed(err):
		return s.client.Nonsense(err)
	default:
		return s.client.Broken(s.ctx, err)
	}
}

// malformed says whether the body arrived but is not what it should be.
func malformed(err error) bool {
	if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return true
	}
	_, ok := errors.AsType[*json.SemanticError](err)
	return ok || errors.Is(err, errNoAnswer)
}

func (s *stream) run(yield func(*api.ChatChunk, error) bool) {
	s.out = chunk.New(yield, s.head)
	s.out.Chunk().Counter = s
	if s.events != nil {
		s.events.BeforeRead(s.out.Pause)
	}
	for !s.ended {
		if !s.take() {
			return
		}
		if err := s.next(); err != nil {
			s.out.Fail(err)
			return
		}
	}
	if err := s.fault(); err != nil {
		s.out.Fail(err)
		return
	}
	s.finish()
}

// identify keeps the first id and model that the upstream says.
func (s *stream) identify() {
	if s.head.ID == "" {
		s.head.ID = s.answer.ResponseID
	}
	if s.head.Model == "" {
		s.head.Model = modelName(s.answer.ModelVersion)
	}
}

// note keeps what matters only at the end.
func (s *stream) note() {
	a := &s.answer
	s.identify()
	if len(a.UsageMetadata) > 0 {
		s.usage = append(s.usage[:0], a.UsageMetadata...)
	}
	if a.PromptFeedback.BlockReason != "" {
		s.blocked = a.PromptFeedback
	}
	for i := range a.Candidates {
		c := s.choice(a.Candidates[i].Index)
		if reason := a.Candidates[i].FinishReason; reason != "" {
			c.reason, c.message = reason, a.Candidates[i].FinishMessage
		}
	}
}

// take emits what the event adds; it is false when the consumer has left.
func (s *stream) take() bool {
	s.note()
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
