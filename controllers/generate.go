package controllers

import (
	"cmp"
	"errors"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/middleware"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
	"modelgateway/services/routing"
)

// Generate serves the requests to a model in one dialect.
type Generate struct {
	Dialect     api.Dialect
	Continue    Continue // nil: no request of the dialect goes on from an earlier answer
	Service     *inference.Service
	Concurrency *inflight.Limiter
	MaxBytes    int64
	Strict      bool          // of requests without the header
	KeepAlive   time.Duration // after this silence of a stream a comment is sent; 0 = never
	Now         func() time.Time
}

// Create answers a request, whole or as a stream.
func (h *Generate) Create(c *gin.Context) (err error) {
	from := middleware.RequestOf(c)
	slot, err := h.Concurrency.Acquire(from.Caller)
	if err != nil {
		return err
	}
	defer slot.Release()
	r := reading{h.Dialect, h.Dialect.Decode, h.Continue, h.MaxBytes, h.Strict, h.Now}
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
	answer, parts, failure := call.Open(c.Request.Context())
	if out == nil || !out.hasBegun() {
		h.describe(c, call, call.Route())
	}
	switch {
	case out != nil && failure != nil:
		return out.refuse(c, call, failure)
	case failure != nil:
		return failure
	case out != nil:
		return out.all(c, call, parts)
	case parts != nil:
		return writePieces(c, parts)
	}
	return h.writeAnswer(c, call, answer)
}

var errPanicked = errors.New("a panic ended the call")

// events makes the writer of a stream that answers a call.
func (h *Generate) events(c *gin.Context, call *inference.Call) *eventWriter {
	format := h.Dialect.(api.Streamer).NewWriter(call.Request())
	if counter, ok := format.(api.PromptCounter); ok {
		counter.CountPrompt(func() int64 {
			c.Writer.Header()[tokenCountHeader] = tokenCountEstimate // the first event has not been sent
			return call.PromptTokens()
		})
	}
	out := newEventWriter(c.Writer, format, h.KeepAlive)
	opener, ok := format.(api.Opener)
	if !ok || h.KeepAlive <= 0 {
		return out
	}
	// The events that begin a stream are sent when its upstream has accepted the call and is
	// silent for as long as the client may be.
	call.Settle(h.KeepAlive, func(route routing.Route) {
		out.mu.Lock()
		defer out.mu.Unlock()
		h.describe(c, call, route)
		out.begin()
		model := cmp.Or(route.Fallback, route.Redirected, route.Alias, route.Model)
		buf := out.waiting()
		*buf = opener.Open(*buf, &llm.Head{Model: model, Created: h.Now().Unix()})
		_ = out.send() // if the client has disconnected, the next event fails
	})
	return out
}
