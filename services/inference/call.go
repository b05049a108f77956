package inference

import (
	"context"
	"errors"
	"time"

	"modelgateway/models"
	"modelgateway/models/llm"
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

	usage   *llm.Usage       // what the provider told; nil = nothing
	counter llm.UsageCounter // of a stream that has not come to its usage
	answer  *llm.Answer      // one without usage
	said    tokens.Sample    // the text of a stream, until its usage has come
	gaps    *metrics.Gaps    // of a stream
	trace   *tracing.ChatEnd // what its span is told; nil = there is none
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

// Open waits for the whole answer, or for the first event of a stream, which
// must then be ranged over: that closes it. One of the two is nil.
func (c *Call) Open(ctx context.Context) (*llm.Answer, llm.Stream, error) {
	ctx, c.plan.Trace = c.span(ctx)
	got, served, err := c.plan.Open(ctx)
	c.served = served
	if err != nil {
		return nil, nil, err
	}
	if got.Answer == nil {
		return nil, c.watch(got), nil
	}
	got.Close()
	answer := got.Answer
	if c.trace != nil {
		c.traceAnswer(answer)
	}
	c.usage = answer.Usage
	if !answer.Usage.Counts() {
		c.answer = answer
	}
	if c.service.Simulated {
		answer.Fingerprint = Simulated
	}
	return answer, nil, nil
}

// watch passes a stream on, and notes what it uses and how it ends.
func (c *Call) watch(got *routing.Result) llm.Stream {
	return func(yield func(*llm.Event, error) bool) {
		c.Sent()
		defer got.Close()
		c.gaps = new(metrics.Gaps)
		var paused time.Time
		for event, err := range got.Stream {
			switch {
			case err != nil:
				got.BrokeOff(err)
				yield(nil, err)
				return
			case event == nil:
				if !yield(nil, nil) {
					return
				}
				paused = c.service.Now()
				continue
			case !paused.IsZero():
				c.gaps.Add(c.service.Now().Sub(paused))
				paused = time.Time{}
			}
			c.note(event)
			if !yield(event, nil) {
				return
			}
		}
	}
}

func (c *Call) note(e *llm.Event) {
	if e.Usage != nil {
		usage := *e.Usage // the event is valid only now
		c.usage = &usage
	} else if !c.usage.Counts() {
		if e.Head != nil {
			c.counter = e.Head.Counter
		}
		c.said.Hear(e)
		if c.row.FirstTokenUS == 0 && (c.said.Len() > 0 || e.Kind == llm.EventMedia) {
			c.row.FirstTokenUS = c.since()
		}
	}
	if c.service.Simulated && e.Head != nil {
		e.Head.Fingerprint = Simulated
	}
	if c.trace != nil {
		c.traceEvent(e)
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

// span begins the span of a call.
func (c *Call) span(ctx context.Context) (context.Context, *tracing.Chat) {
	if c.service.Tracer == nil {
		return ctx, nil
	}
	ctx, span := c.service.Tracer.Chat(ctx, tracing.ChatStart{
		Provider: c.served.Provider, Request: c.ask.Request, RequestID: c.ask.RequestID, KeyID: c.ask.Caller.KeyID,
	})
	if span.Recording() {
		c.trace = new(tracing.ChatEnd)
	}
	return ctx, span
}
