package inference

import (
	"context"
	"slices"
	"time"

	"modelgateway/llm"
	"modelgateway/services/metrics"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
	"modelgateway/services/tracing"
)

// Answer has a call answered: it waits for the first event of its stream, or for the
// whole answer, which is a stream of one event. The stream must be ranged over, which closes it.
type Answer func(ctx context.Context, c *Call) (llm.Stream, error)

// Around wraps the way to an answer. It may answer by itself, and see or change each event.
type Around func(next Answer) Answer

// Answered is the way to the answer of every call, wrapped by others, the outermost first.
func Answered(others ...Around) Answer {
	answer := metered(routed)
	for _, around := range slices.Backward(append(others, readOn, traced)) {
		answer = around(answer)
	}
	return answer
}

// Open has the call answered.
func (c *Call) Open(ctx context.Context) (llm.Stream, error) { return c.service.Answer(ctx, c) }

// routed has the call answered by a candidate of its plan.
func routed(ctx context.Context, c *Call) (llm.Stream, error) {
	c.opened = c.service.Now()
	c.followPrompt()
	if c.plan.Paid {
		c.plan.Outlasts = c.readsAfterLeaving
	}
	got, route, err := c.plan.Open(ctx)
	c.route = route
	if err != nil {
		return nil, c.measured(err)
	}
	c.leave = got.Leave
	if got.Answer != nil {
		got.Close()
		return llm.Single(got.Answer), nil
	}
	return func(yield func(*llm.Event, error) bool) {
		defer got.Close()
		for event, err := range got.Stream {
			if err != nil {
				got.StreamFailed(err)
			}
			if !yield(event, err) {
				return
			}
		}
	}, nil
}

// metered records the usage of an answer.
func metered(next Answer) Answer {
	return func(ctx context.Context, c *Call) (llm.Stream, error) {
		stream, err := next(ctx, c)
		if err != nil {
			return nil, err
		}
		return func(yield func(*llm.Event, error) bool) {
			var paused time.Time
			for event, err := range stream {
				switch {
				case err != nil:
				case event == nil:
					if c.plan.Paid {
						c.unbilled.Store(c.finishing())
					}
				case event.Answer != nil:
					c.meterAnswer(event.Answer)
				default:
					if c.gaps == nil {
						c.gaps = new(metrics.Gaps)
					}
					if !paused.IsZero() {
						c.gaps.Add(c.service.Now().Sub(paused))
						paused = time.Time{}
					}
					c.meterEvent(event)
					c.grow()
				}
				if !yield(event, err) {
					return
				}
				if event == nil {
					paused = c.service.Now()
				}
			}
		}, nil
	}
}

func (c *Call) meterAnswer(answer *llm.Answer) {
	c.usage, c.images = answer.Usage, answer.CountImages()
	if c.usage != nil && c.usage.Tier == "" {
		c.usage.Tier = answer.ServiceTier
	}
	if !answer.Usage.Counts() {
		c.answer = answer
		if !c.input.Request.Kind.Writes() { // all that such an answer says besides is the size of its prompt
			tokens := c.promptTokens()
			answer.Usage = &llm.Usage{Input: tokens, Total: tokens}
		}
	}
	if c.service.Simulated {
		answer.Fingerprint = Simulated
	}
}

func (c *Call) meterEvent(e *llm.Event) {
	if e.Head != nil {
		c.images = max(c.images, e.Head.Images)
	}
	if e.Media != nil && e.Media.Kind == llm.Image {
		c.images++
	}
	if e.Usage != nil {
		usage := *e.Usage // the event is valid only until the next one
		if usage.Tier == "" && e.Head != nil {
			usage.Tier = e.Head.ServiceTier
		}
		c.usage = &usage
	} else if !c.usage.Counts() {
		if e.Head != nil {
			c.counter = e.Head.Counter
		}
		c.output.AddEvent(e)
		if c.row.FirstTokenUS == 0 && (c.output.Len() > 0 || e.Kind == llm.EventMedia) {
			c.row.FirstTokenUS = c.since()
		}
	}
	if c.service.Simulated && e.Head != nil {
		e.Head.Fingerprint = Simulated
	}
}

// traced has the span of the call say what the answer was. Call.End ends it.
func traced(next Answer) Answer {
	return func(ctx context.Context, c *Call) (llm.Stream, error) {
		if c.service.Tracer == nil {
			return next(ctx, c)
		}
		ctx, c.plan.Trace = c.service.Tracer.Chat(ctx, tracing.ChatStart{
			Provider: c.route.Provider, Request: c.input.Request, RequestID: c.input.RequestID, KeyID: c.input.Caller.KeyID,
			Session: c.input.Origin.Session, Project: c.input.Origin.Project,
		})
		if c.plan.Trace.Recording() {
			c.trace = new(tracing.ChatEnd)
		}
		stream, err := next(ctx, c)
		if err != nil || c.trace == nil {
			return stream, err
		}
		return func(yield func(*llm.Event, error) bool) {
			for event, err := range stream {
				if event != nil {
					c.traceEvent(event)
				}
				if !yield(event, err) {
					return
				}
			}
		}, nil
	}
}

// readOnBytes is how much of a stream is read after its client has left.
const readOnBytes = 1 << 20

// readOn reads the rest of a paid answer for its usage after the client has left.
func readOn(next Answer) Answer {
	return func(ctx context.Context, c *Call) (llm.Stream, error) {
		stream, err := next(ctx, c)
		if err != nil || !c.plan.Paid {
			return stream, err
		}
		return func(yield func(*llm.Event, error) bool) {
			reads, left, size := true, false, 0 // reads: the consumer may be yielded to
			for event, err := range stream {
				if err != nil && !left {
					yield(nil, err)
					return
				}
				if err != nil {
					break // it tells the client that has left nothing
				}
				if !left {
					if ctx.Err() == nil {
						if reads = yield(event, nil); reads {
							continue
						}
					}
					if left = c.leave(); !left {
						break
					}
				}
				if size += eventSize(event); size > readOnBytes {
					break
				}
			}
			if reads && ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
			}
		}, nil
	}
}

// readsAfterLeaving says whether the rest of a candidate's answer is read after the client has
// left. Of a model that reasons only the usage tells what it has written; of another
// one the text does, and the usage only where that is all that is missing.
func (c *Call) readsAfterLeaving(by *routing.Candidate) bool {
	return tokens.Reasons(c.input.Request, by.Model.Traits) || c.unbilled.Load()
}

// finishing says whether the stream's provider has sent its end, but not its usage.
func (c *Call) finishing() bool {
	finishing, ok := c.counter.(llm.Finishing)
	return ok && !c.usage.Counts() && finishing.Finishing()
}

// eventSize is about the bytes of an event in the upstream's stream.
func eventSize(e *llm.Event) int {
	const frame = 64
	if e == nil {
		return 0
	}
	size := frame + len(e.Text) + len(e.Raw)
	if e.Call != nil {
		size += len(e.Call.Arguments)
	}
	return size
}
