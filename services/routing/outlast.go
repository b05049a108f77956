package routing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modelgateway/api"
)

// readOnTime is how long a call of a provider goes on after its client has left,
// where only its end says what it costs.
const readOnTime = 2 * time.Second

// errSlower ends the slower of two calls. It is a cancellation like that of a client
// that left, but nothing is read on.
var errSlower = fmt.Errorf("the other call has answered: %w", context.Canceled)

// outlast is the context of one call of a provider, which may outlast its client.
type outlast struct {
	context.Context

	end   context.CancelCauseFunc
	unpin func() bool // from the client's context
	more  func() bool // something has still to be read; it is called on any goroutine
}

// outlasting returns a context that ends with ctx, or readOnTime later if the client
// left and the plan wants to read the rest of the candidate's answer.
func (c *Candidate) outlasting(ctx context.Context) *outlast {
	o := &outlast{more: func() bool { return c.outlasts(c) }}
	o.Context, o.end = context.WithCancelCause(context.WithoutCancel(ctx))
	o.unpin = context.AfterFunc(ctx, func() { o.leave(context.Cause(ctx)) })
	return o
}

// leave ends the context, now or in readOnTime. It reports whether there is still
// something to read.
func (o *outlast) leave(cause error) bool {
	_, stopped := errors.AsType[*api.Error](cause) // by the gateway
	if stopped || errors.Is(cause, errSlower) || !o.more() {
		o.end(cause)
		return false
	}
	timer := time.AfterFunc(readOnTime, func() { o.end(cause) })
	context.AfterFunc(o.Context, func() { timer.Stop() })
	return true
}

// close ends the context at once.
func (o *outlast) close() {
	o.unpin()
	o.end(nil)
}
