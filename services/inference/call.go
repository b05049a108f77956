package inference

import (
	"errors"
	"sync/atomic"
	"time"

	"modelgateway/catalog"
	"modelgateway/internal/panics"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/budget"
	"modelgateway/services/metrics"
	"modelgateway/services/promptcache"
	"modelgateway/services/ratelimit"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
	"modelgateway/services/tracing"
)

// Call is one admitted request. End books it once, however it ended.
type Call struct {
	service *Service
	input   Input
	plan    routing.Plan

	route    routing.Route
	quota    *ratelimit.Quota
	reserved *budget.Reservation
	most     most
	expected int64 // micro-dollars; 0 where most is reserved
	growAt   int   // bytes of a stream's text from which grow compares again

	// usualPrice: the provider served the call in a way without a known price, or made
	// searches without one.
	usualPrice bool
	usage      *llm.Usage        // as the provider reported it; nil = not reported
	leave      func() bool       // tells the upstream that the client has left; false: the rest is not read
	counter    llm.UsageCounter  // of a stream whose usage has not come yet
	answer     *llm.Answer       // a whole answer without usage
	output     tokens.Sample     // the text of a stream, until its usage has come
	images     int64             // that have come
	gaps       *metrics.Gaps     // of a stream
	trace      *tracing.ChatEnd  // the attributes for its span; nil = not recorded
	look       *promptcache.Look // of the last call of the session; nil = the prompt is not followed
	price      catalog.Price     // at which used is paid
	used       catalog.Amounts   // as the provider reported it
	cache      *models.CallCache // nil = nothing was missed, or that is not known
	row        models.Call
	costs      []models.CallCost // of an unusual price; nil = they follow from the row
	err        error             // that ended the call; nil = none
	prompt     int64             // tokens; 0 = not estimated yet
	prompts    [3]int64          // tokens by vocabulary, from bytes; 0 = not estimated yet
	characters int64             // of the prompt's text; 0 = not counted yet
	opened     time.Time
	sent       bool // something has been sent to the client
	ended      bool

	// unbilled: the stream has shown its end, and its usage is still to come. It is
	// read on other goroutines.
	unbilled atomic.Bool
}

// ErrClientGone is the error of writing to a client that does not read.
var ErrClientGone = errors.New("the client has gone")

// StatusClientGone is logged and booked when the client left before the answer
// began. It is never sent. The number is nginx's (client closed request).
const StatusClientGone = 499

// Request is the request that is answered.
func (c *Call) Request() *llm.Request { return c.input.Request }

// Route says which model answers, as far as that is known.
func (c *Call) Route() routing.Route { return c.route }

// Began is when the request came.
func (c *Call) Began() time.Time { return c.input.Began }

// TokenStatus is the tightest token rate limit of the caller's key, user and team, and what
// remains of it; the zero value means that there is no limit.
func (c *Call) TokenStatus() ratelimit.TokenStatus { return c.quota.Status() }

// Settle has final called, on another goroutine, when an upstream has accepted a stream and
// has not begun it after that time: then no other model or key answers, and what final sends
// to the client begins the answer. Upstreams that speak the client's dialect are waited for.
func (c *Call) Settle(after time.Duration, final func(routing.Route)) {
	c.plan.Patience = &routing.Patience{After: after, Final: func(route routing.Route) {
		defer func() {
			if value := recover(); value != nil {
				c.service.Log.Error("beginning a stream failed", "request_id", c.input.RequestID,
					"error", panics.Text(value), "stack", panics.Stack(value))
			}
		}()
		c.sent = true
		final(route)
	}}
}

// Keep returns the function that stores the whole answer for later requests; nil: it is not
// stored here. It is for a call that has been opened.
func (c *Call) Keep() func(answer []byte) {
	if c.route.Native {
		return nil // its provider may
	}
	return c.input.Keep
}

// Sent records that sending the answer begins.
func (c *Call) Sent() {
	c.sent = true
	took := c.since()
	c.row.OverheadUS = max(took-(c.input.BodyTime+c.plan.Waited).Microseconds(), 0)
	if !c.row.Stream {
		c.row.FirstTokenUS = took
	}
}

// since is the time since the request came, in microseconds; at least 1.
func (c *Call) since() int64 { return max(c.service.Now().Sub(c.input.Began).Microseconds(), 1) }
