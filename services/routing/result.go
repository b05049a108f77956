package routing

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/services/pool"
)

// Result is a candidate's whole answer, or its stream whose first event has come.
// It must be closed when it has been read.
type Result struct {
	Answer *llm.Answer // nil for a stream
	Stream llm.Stream  // nil for a whole answer that does not come in pieces

	candidate *Candidate
	lease     *pool.Lease
	timer     *time.Timer             // of a stream
	end       context.CancelCauseFunc // of a stream
	outlast   *outlast                // nil: the call ends when its client leaves
}

// Close stops the timer and ends the lease.
func (r *Result) Close() {
	r.stop()
	r.lease.End()
}

// Leave tells a stream that its client does not read it, and reports whether the rest
// has to be read: for 2 s at most, after which the stream fails.
func (r *Result) Leave() bool { return r.outlast != nil && r.outlast.leave(context.Canceled) }

// StreamFailed records that the stream failed after its first event.
func (r *Result) StreamFailed(err error) { r.lease.StreamFailed(err) }

func (r *Result) stop() {
	if r.timer != nil {
		r.timer.Stop()
		r.end(nil)
	}
	if r.outlast != nil {
		r.outlast.close()
	}
}

// open sends the request and waits for a whole answer, or for the first event
// of a stream.
func (c *Candidate) open(ctx context.Context, l *pool.Lease) (*Result, error) { //nolint:contextcheck // an outlast ends after ctx
	got := &Result{candidate: c, lease: l}
	// Whether a whole answer is read after its client has left is known before it begins.
	if c.outlasts != nil && (c.stream || c.outlasts(c)) {
		got.outlast = c.outlasting(ctx)
		ctx = got.outlast.Context
	}
	var err error
	if c.known.InPieces {
		if got.Stream, err = c.exchange.Open(ctx, l.Secret()); err != nil {
			got.stop()
		}
		return got, err
	}
	if !c.stream {
		defer got.stop()
		var stream llm.Stream
		if stream, err = c.exchange.Open(ctx, l.Secret()); err == nil {
			got.Answer, err = llm.Collect(stream)
		}
		return got, err
	}
	if got.outlast != nil {
		got.end = got.outlast.end
	} else {
		ctx, got.end = context.WithCancelCause(ctx)
	}
	if c.patience != nil && !c.route.Native {
		wait := c.patience.with(c.route)
		l.Call.Accepted = wait.start
		defer wait.end()
	}
	if c.accept > 0 {
		stop := c.acceptWithin(got, l)
		defer stop()
	}
	first := cmp.Or(c.upstream.FirstToken, c.router.FirstToken, never)
	got.timer = time.AfterFunc(first, func() { got.end(c.late("did not begin to answer in time")) })
	if got.Stream, err = c.exchange.Open(ctx, l.Secret()); err != nil {
		got.stop()
		return got, err
	}
	l.Trace.FirstToken()
	if got.timer.Stop() { // else the stream ends with the timer's error
		got.timer = time.AfterFunc(cmp.Or(c.router.MaxStream, never), func() {
			got.end(c.late("did not come to the end of its answer in time"))
		})
	}
	return got, nil
}

// acceptWithin ends a call whose upstream does not accept it in time: another candidate can
// still answer.
func (c *Candidate) acceptWithin(got *Result, l *pool.Lease) (stop func()) {
	timer := time.AfterFunc(c.accept, func() { got.end(c.late("did not answer in time")) })
	accepted := l.Call.Accepted
	l.Call.Accepted = func() {
		timer.Stop()
		if accepted != nil {
			accepted()
		}
	}
	return func() { timer.Stop() }
}

const never = 1000 * time.Hour

// late is the error of an upstream that took too long, and may have worked on
// the request.
func (c *Candidate) late(what string) *providers.Refusal {
	return &providers.Refusal{
		Provider: c.Model.Provider, Told: http.StatusGatewayTimeout, Public: c.Model.Provider + " " + what, Worked: true,
	}
}
