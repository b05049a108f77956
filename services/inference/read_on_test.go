package inference

import (
	"context"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/tests/longtest"
)

// finishingUsage is the counter of a stream that has sent its end, but no usage.
type finishingUsage struct{ countedUsage }

func (finishingUsage) Finishing() bool { return true }

// leftStream is a stream of one word and a pause, then of rest until its context ends.
func leftStream(counter llm.UsageCounter, rest ...*llm.Event) *scripted {
	p := answering(catalog.Gemini, nil)
	p.stream = func(ctx context.Context) (llm.Stream, error) {
		return func(yield func(*llm.Event, error) bool) {
			word := chunkOf("hello")
			word.Head = &llm.Head{Counter: counter}
			if !yield(word, nil) || !yield(nil, nil) {
				return
			}
			for _, e := range rest {
				if !yield(e, nil) {
					return
				}
			}
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		}, nil
	}
	p.name = catalog.Gemini
	return p
}

// leave reads a stream up to its first pause and leaves it there.
func (c *fixture) leave(t *testing.T, ask Input, cause error) *models.Call {
	t.Helper()
	ctx, leave := context.WithCancelCause(t.Context())
	defer leave(nil)
	call, err := c.chat.Admit(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := call.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for event, failed := range stream {
		if err = failed; event == nil && failed == nil {
			leave(cause)
		}
	}
	return call.End(ctx, err)
}

func TestPaidStreamIsReadOnOnlyForAUsageThatNothingElseTells(t *testing.T) {
	usage := &llm.Event{Kind: llm.EventUsage, Usage: usedUp(70, 30)}
	stopping := &api.Error{Status: 503, Type: api.TypeAPI, Code: api.CodeServiceUnavailable}
	long := &llm.Event{Kind: llm.EventOther, Raw: []byte(strings.Repeat("x", readOnBytes))}
	gone := context.Canceled
	const left, plain = models.OutcomeClient, "gemini-2.0-flash"
	for name, tt := range map[string]struct {
		model   string
		free    bool // no budget pays
		effort  string
		cause   error
		counter llm.UsageCounter
		rest    []*llm.Event
		waits   time.Duration
		output  int64 // 0 = by the time, which is the most that is reserved
		outcome string
	}{
		"the model reasons":                 {flash, false, "", gone, nil, []*llm.Event{usage}, 2 * time.Second, 30, left},
		"its usage does not come":           {flash, false, "", gone, nil, nil, 2 * time.Second, 0, left},
		"its usage has come so far":         {flash, false, "", gone, countedUsage{reasoned()}, nil, 2 * time.Second, 9, left},
		"its usage is too far away":         {flash, false, "", gone, nil, []*llm.Event{long, usage}, 0, 0, left},
		"it was told not to reason":         {flash, false, "none", gone, nil, nil, 0, 1, left},
		"no budget pays":                    {flash, true, "", gone, nil, nil, 0, 1, left},
		"the gateway stops":                 {flash, false, "", stopping, nil, nil, 0, 0, models.OutcomeStopped},
		"the end has come without a usage":  {plain, false, "", gone, finishingUsage{}, []*llm.Event{usage}, 2 * time.Second, 30, left},
		"a model that shows all its tokens": {plain, false, "", gone, countedUsage{}, nil, 0, 1, left},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFixture(t, leftStream(tt.counter, tt.rest...))
			limits := ofMonth(microDollars)
			if tt.free {
				limits = models.Limits{}
			}
			ask := keyedStream(tt.model, limits)
			ask.Request.Effort = tt.effort
			began, late := time.Now(), longtest.Lateness(t)
			r := c.leave(t, ask, tt.cause)
			took := time.Since(began)
			if took < tt.waits || took > tt.waits+1500*time.Millisecond+late() || r.Outcome != tt.outcome {
				t.Errorf("%s after %s", r.Outcome, took)
			}
			if tt.output > 0 && r.OutputTokens != tt.output {
				t.Errorf("%d tokens, not %d", r.OutputTokens, tt.output)
			}
			most := int64(took.Seconds()*tokensPerSecond) + 1
			if tt.output == 0 && (!r.Estimated || r.OutputTokens < int64(tt.waits.Seconds()*tokensPerSecond) || r.OutputTokens > most) {
				t.Errorf("%d tokens in %s, estimated %v", r.OutputTokens, took, r.Estimated)
			}
			allIdle(t, c.chat.Router())
		})
	}
}

func reasoned() *llm.Usage { return &llm.Usage{Input: 70, Output: 9, HasReasoning: true, Reasoning: 8} }

// What was reserved for an answer bounds its estimate as well.
func TestEstimateOfALeftAnswerIsNotMoreThanItsReservation(t *testing.T) {
	c := newFixture(t, leftStream(nil))
	ask := keyedStream(flash, ofMonth(microDollars))
	ask.Request.OutputLimit = 100
	if r := c.leave(t, ask, context.Canceled); r.OutputTokens != 100 || !r.Estimated {
		t.Errorf("%+v", r)
	}
}

// The usage of an answer that was left is booked if it comes in time, and nothing of
// it is sent.
func TestPaidAnswerOfAReasoningModelIsReadOn(t *testing.T) {
	p := answering(catalog.Gemini, usedUp(70, 30))
	then := p.complete
	ctx, leave := context.WithCancel(t.Context())
	p.complete = func(ctx context.Context) (*llm.Answer, error) {
		leave()
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
			return then(ctx)
		}
	}
	c := newFixture(t, p)
	c.chat.Router().Retries = 3
	call, err := c.chat.Admit(t.Context(), keyed(flash, ofMonth(microDollars)))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := whole(call.Open(ctx))
	r := call.End(ctx, err)
	if answer != nil || r.Outcome != models.OutcomeClient || r.InputTokens != 70 || r.OutputTokens != 30 || r.Estimated || r.Attempts != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAnUpstreamThatFailsAfterItsClientHasLeftIsNoFailedCall(t *testing.T) {
	p := answering(catalog.Gemini, nil)
	p.stream = func(context.Context) (llm.Stream, error) {
		return func(yield func(*llm.Event, error) bool) {
			if yield(chunkOf("hello"), nil) && yield(nil, nil) && yield(chunkOf("more"), nil) {
				yield(nil, providerFault(0))
			}
		}, nil
	}
	c := newFixture(t, p)
	if r := c.leave(t, keyedStream(flash, ofMonth(microDollars)), context.Canceled); r.Outcome != models.OutcomeClient {
		t.Errorf("%+v", r)
	}
}
