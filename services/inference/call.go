package inference

import (
	"context"
	"errors"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/providers"
	"modelgateway/services/budget"
	"modelgateway/services/metrics"
	"modelgateway/services/ratelimit"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
	"modelgateway/services/tracing"
)

// Call is one request that was let in. Whatever becomes of it, End books it
// once.
type Call struct {
	service *Service
	ask     Ask
	plan    routing.Plan

	served   routing.Served
	quota    *ratelimit.Quota
	reserved *budget.Reservation

	usage   *api.Usage          // what the provider told; nil = nothing
	counter api.UsageCounter    // of a stream that has not come to its usage
	answer  *api.ChatCompletion // one without usage
	said    tokens.Sample       // the text of a stream, until its usage has come
	gaps    *metrics.Gaps       // of a stream
	trace   *tracing.ChatEnd    // what its span is told; nil = there is none
	row     models.Call
	found   error // how the call ended; nil = well
	counted int64 // tokens of the prompt, once they were needed
	sent    bool  // something has been sent to the client
	ended   bool
}

// ErrClientGone is the error of writing to a client that does not read.
var ErrClientGone = errors.New("the client has gone")

// StatusClientGone is what is logged and booked of a client that left before
// anything was sent; nobody is there to read it (the number is nginx's).
const StatusClientGone = 499

// Served says who answers, as far as that is known.
func (c *Call) Served() routing.Served { return c.served }

// Began is when the request came.
func (c *Call) Began() time.Time { return c.ask.Began }

// Standing is how the key stands with its tokens a minute; the zero Standing is
// that of a key that may use any number.
func (c *Call) Standing() ratelimit.TokenStanding { return c.quota.Standing() }

// Complete waits for the whole answer.
func (c *Call) Complete(ctx context.Context) (*api.ChatCompletion, error) {
	ctx, c.plan.Trace = c.span(ctx)
	answer, served, err := c.plan.Complete(ctx)
	c.served = served
	if err != nil {
		return nil, err
	}
	if c.trace != nil {
		c.traceAnswer(answer)
	}
	c.usage = answer.Usage
	if blank(answer.Usage) {
		c.answer = answer
	}
	if answer.Usage == nil {
		answer.Usage = new(api.Usage) // clients rely on it
	}
	if c.service.Simulated {
		if err := answer.Open(); err != nil {
			return nil, err
		}
		answer.SystemFingerprint = Simulated
	}
	return answer, nil
}

// Stream waits for the first event. The stream must be ranged over, which
// closes it.
func (c *Call) Stream(ctx context.Context) (providers.Stream, error) {
	ctx, c.plan.Trace = c.span(ctx)
	stream, served, err := c.plan.Stream(ctx)
	c.served = served
	if err != nil {
		return nil, err
	}
	return c.watch(stream), nil
}

// watch passes a stream on, and notes what it uses and how it ends.
func (c *Call) watch(stream routing.Stream) providers.Stream {
	return func(yield func(*api.ChatChunk, error) bool) {
		c.Sent()
		defer stream.Close()
		c.gaps = new(metrics.Gaps)
		var paused time.Time
		for chunk, err := range stream.Stream {
			switch {
			case err != nil:
				stream.BrokeOff(err)
				yield(nil, err)
				return
			case chunk == nil:
				if !yield(nil, nil) {
					return
				}
				paused = c.service.Now()
				continue
			case !paused.IsZero():
				c.gaps.Add(c.service.Now().Sub(paused))
				paused = time.Time{}
			}
			c.note(chunk)
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

func (c *Call) note(chunk *api.ChatChunk) {
	if chunk.Usage != nil {
		usage := *chunk.Usage // the chunk is valid only now
		c.usage = &usage
	} else if blank(c.usage) {
		c.counter = chunk.Counter
		c.said.Hear(chunk)
		if c.row.FirstTokenUS == 0 && (c.said.Len() > 0 || shows(chunk)) {
			c.row.FirstTokenUS = c.since()
		}
	}
	if c.service.Simulated {
		chunk.SystemFingerprint = Simulated
	}
	if c.trace != nil {
		c.traceChunk(chunk)
	}
}

// Sent notes that the answer is about to be sent, or begins to be.
func (c *Call) Sent() {
	c.sent = true
	took := c.since()
	c.row.OverheadUS = max(took-(c.ask.Reading+c.plan.Waited).Microseconds(), 0)
	if !c.row.Stream {
		c.row.FirstTokenUS = took
	}
}

// since is how many microseconds ago the request came; one at least.
func (c *Call) since() int64 { return max(c.service.Now().Sub(c.ask.Began).Microseconds(), 1) }
