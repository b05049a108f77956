package controllers

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/middleware"
	"modelgateway/services/conversation"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
	"modelgateway/services/origin"
	"modelgateway/services/routing"
)

// Generate serves the requests to a model in one dialect.
type Generate struct {
	Dialect       *api.Dialect
	Service       *inference.Service
	Conversations *conversation.Service
	Origins       *origin.Service
	Concurrency   *inflight.Limiter
	MaxBytes      int64
	Strict        bool          // of requests without the header
	KeepAlive     time.Duration // after this silence of a stream a comment is sent; 0 = never
	Now           func() time.Time
}

// Create answers a request, whole or as a stream.
func (h *Generate) Create(c *gin.Context) (err error) {
	from := middleware.RequestOf(c)
	slot, err := h.Concurrency.Acquire(from.Caller)
	if err != nil {
		return err
	}
	defer slot.Release()
	r := reading{h.Dialect, h.Dialect.Decode, h.Conversations, h.Origins, h.MaxBytes, h.Strict, h.Now, h.Service.NewID}
	input, err := r.input(c, from, &slot)
	if err != nil {
		return err
	}
	call, err := h.Service.Admit(c.Request.Context(), input)
	if err != nil {
		from.Model = input.Request.Model
		h.describe(c, call, call.Route())
		return err
	}
	err = errPanicked // until there is another end
	defer func() { from.Call = call.End(c.Request.Context(), err) }()
	var out *eventWriter // nil: the answer is no stream
	if input.Request.Stream {
		out = h.events(c, call)
		defer out.close()
	}
	answer, failure := call.Open(c.Request.Context())
	if out == nil || !out.hasBegun() {
		h.describe(c, call, call.Route())
	}
	switch {
	case out != nil && failure != nil:
		return h.refuse(c, out, call, failure)
	case failure != nil:
		return failure
	case out != nil:
		return out.all(c, call, answer)
	}
	return h.write(c, call, answer)
}

var errPanicked = errors.New("a panic ended the call")

// events makes the writer of a stream that answers a call.
func (h *Generate) events(c *gin.Context, call *inference.Call) *eventWriter {
	out := newEventWriter(c.Writer, h.Dialect.NewWriter(call.Request(), func() int64 {
		c.Writer.Header()[tokenCountHeader] = tokenCountEstimate // the first event has not been sent
		return call.PromptTokens()
	}), h.KeepAlive)
	if !h.Dialect.OpensEarly || h.KeepAlive <= 0 {
		return out
	}
	// The events that begin a stream are sent when its upstream has accepted the call and is
	// silent for as long as the client may be.
	call.Settle(h.KeepAlive, func(route routing.Route) {
		out.mu.Lock()
		defer out.mu.Unlock()
		h.describe(c, call, route)
		out.writeHeaders()
		model := cmp.Or(route.Fallback, route.Redirected, route.Alias, route.Model)
		buf := out.waiting()
		*buf = out.format.Open(*buf, &llm.Head{Model: model, Created: h.Now().Unix()})
		_ = out.send() // if the client has disconnected, the next event fails
	})
	return out
}

// Count serves the requests for the size of a prompt in one dialect.
type Count struct {
	Dialect       *api.Dialect
	Service       *inference.Service
	Conversations *conversation.Service
	Concurrency   *inflight.Limiter
	MaxBytes      int64
}

// Create answers with the number of tokens, and says in a header whether it is exact.
func (h *Count) Create(c *gin.Context) error {
	from := middleware.RequestOf(c)
	slot, err := h.Concurrency.Acquire(from.Caller)
	if err != nil {
		return err
	}
	defer slot.Release()
	r := reading{
		dialect: h.Dialect, decode: h.Dialect.DecodeCount, conversations: h.Conversations, maxBytes: h.MaxBytes, now: time.Now,
		newID: h.Service.NewID,
	}
	input, err := r.input(c, from, &slot)
	if err != nil {
		return err
	}
	from.Model = input.Request.Model
	counted, err := h.Service.Count(c.Request.Context(), input)
	describeRoute(c, h.Dialect, counted.Route)
	if err != nil {
		return err
	}
	c.Writer.Header()[tokenCountHeader] = tokenCountEstimate
	if counted.Exact {
		c.Writer.Header()[tokenCountHeader] = tokenCountExact
	}
	text := counted.Raw
	if text == nil {
		text = h.Dialect.AppendCount(nil, counted.Tokens)
	}
	return writeBody(c, http.StatusOK, text)
}

// tokenCountHeader says how the number of a prompt's tokens is known that an answer begins
// with.
const tokenCountHeader = "X-Gateway-Token-Count"

// The values of tokenCountHeader are shared by all answers and never changed.
var (
	tokenCountExact    = []string{"exact"}
	tokenCountEstimate = []string{"estimate"}
)
