package controllers

import (
	"cmp"
	"errors"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/models/llm"
	"modelgateway/providers"
	"modelgateway/services/inference"
	"modelgateway/services/routing"
)

// stream writes the answer of the call as server-sent events.
func (h *Generate) stream(c *gin.Context, req *llm.Request, call *inference.Call) error {
	out := newEventWriter(c.Writer, h.writer(c, req, call), h.KeepAlive)
	defer out.close()
	h.keeping(c, call, out)
	h.settle(c, out, call)
	_, stream, err := call.Open(c.Request.Context())
	if !out.hasBegun() {
		h.describe(c, call, call.Route())
	}
	if err != nil {
		return out.refuse(c, call, err)
	}
	return out.all(c, stream)
}

// writer makes the writer of a stream. The prompt is counted while the upstream is waited
// for, where the dialect tells its size before the answer.
func (h *Generate) writer(c *gin.Context, req *llm.Request, call *inference.Call) api.StreamWriter {
	writer := h.Dialect.(api.Streamer).NewWriter(req)
	if counter, ok := writer.(api.PromptCounter); ok {
		call.CountPrompt()
		counter.CountPrompt(func() int64 {
			c.Writer.Header()[tokenCountHeader] = tokenCountEstimate // the first event has not been sent
			return call.PromptTokens()
		})
	}
	return writer
}

// settle has the events sent that begin a stream when its upstream has accepted the call
// and is silent for as long as the client may be, where the dialect has such events.
func (h *Generate) settle(c *gin.Context, out *eventWriter, call *inference.Call) {
	opener, ok := out.format.(api.Opener)
	if !ok || h.KeepAlive <= 0 {
		return
	}
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
}

// all sends a stream. An error is sent as the last event, without the end mark, and the
// connection is closed, so that no client mistakes the part for the whole.
func (e *eventWriter) all(c *gin.Context, stream llm.Stream) error {
	e.ready()
	var broken error
	for event, err := range stream {
		if err != nil {
			broken = err
			break
		}
		if event == nil {
			err = e.flush()
		} else {
			err = e.add(event)
		}
		if err != nil {
			broken = err // leaving the loop ends the upstream call
			break
		}
	}
	if broken != nil {
		e.failFor(c, broken)
		return broken
	}
	return e.done()
}

// failFor sends the error that ends a stream, unless the client has left. The gateway itself
// may have ended the request, for a reason that the client is told.
func (e *eventWriter) failFor(c *gin.Context, err error) {
	if isTold(err) || !errors.Is(err, inference.ErrClientGone) && c.Request.Context().Err() == nil {
		e.fail(err)
	}
}

// refuse ends a stream of which no event of the answer has come. Most errors are for the
// middleware to answer; it cannot do that where the stream has begun, and some clients
// understand some errors in a stream only.
func (e *eventWriter) refuse(c *gin.Context, call *inference.Call, err error) error {
	if e.hasBegun() {
		e.failFor(c, err)
		return err
	}
	teller, ok := e.format.(api.EarlyTeller)
	if !ok || !isTold(err) || !teller.TellsEarly(api.AsError(err)) {
		return err
	}
	call.Sent()
	e.ready()
	e.fail(err)
	return middleware.Told{Err: err}
}

// isTold reports whether an error has a message for the client.
func isTold(err error) bool {
	if _, ok := errors.AsType[*api.Error](err); ok {
		return true
	}
	_, ok := errors.AsType[*providers.Refusal](err)
	return ok
}
