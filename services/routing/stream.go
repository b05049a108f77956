package routing

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"modelgateway/models/api"
	"modelgateway/providers"
	"modelgateway/services/pool"
)

// Stream is a stream that has begun. It must be closed when it has been read.
type Stream struct {
	providers.Stream
	from answered[timedStream]
}

// Close ends what the stream has begun and gives its key back.
func (s Stream) Close() {
	s.from.answer.close()
	s.from.lease.End()
}

// BrokeOff books that the stream failed after it had begun.
func (s Stream) BrokeOff(err error) { s.from.lease.BrokeOff(err) }

// Complete has the request answered whole, by the first model of the plan that
// can. Served is filled as far as the call came, also beside an error.
func (p *Plan) Complete(ctx context.Context) (*api.ChatCompletion, Served, error) {
	p.hedgeAfter = p.router.HedgeAfter
	got, served, err := answeredBy(ctx, p, complete)
	if err != nil {
		return nil, served, err
	}
	got.lease.End()
	return got.answer, served, nil
}

// Stream has the request answered as a stream whose first event has come.
func (p *Plan) Stream(ctx context.Context) (Stream, Served, error) {
	got, served, err := answeredBy(ctx, p, begin)
	return Stream{Stream: got.answer.Stream, from: got}, served, err
}

// answeredBy has the request answered by the first of the plan that can.
func answeredBy[T any](ctx context.Context, p *Plan, ask asking[T]) (answered[T], Served, error) {
	got, served, err := first(ctx, p, ask)
	if err != nil {
		return got, served, p.router.explain(err, served)
	}
	p.Answered = got.route
	p.router.Metrics.FellBack(served.Model, served.Fallback)
	return got, served, nil
}

func complete(ctx context.Context, r *Route, l *pool.Lease) (*api.ChatCompletion, error) {
	return r.exchange.Complete(ctx, l.Secret())
}

// timedStream is a stream that its timer ends when it takes too long.
type timedStream struct {
	providers.Stream
	timer *time.Timer
	end   context.CancelCauseFunc
}

// close is for when the stream has been read.
func (s timedStream) close() {
	s.timer.Stop()
	s.end(nil)
}

func begin(ctx context.Context, r *Route, l *pool.Lease) (s timedStream, err error) {
	c := r.router
	ctx, s.end = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(cmp.Or(c.FirstToken, never), func() { s.end(late(r, "did not begin to answer in time")) })
	s.Stream, err = r.exchange.Stream(ctx, l.Secret())
	if err != nil {
		s.close()
		return s, err
	}
	l.Trace.FirstToken()
	if s.timer.Stop() { // else its word stands
		s.timer = time.AfterFunc(cmp.Or(c.MaxStream, never), func() { s.end(late(r, "did not come to the end of its answer in time")) })
	}
	return s, nil
}

const never = 1000 * time.Hour

func late(r *Route, what string) *api.Error {
	return &api.Error{
		Status: http.StatusGatewayTimeout, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: r.Model.Provider,
		Message: r.Model.Provider + " " + what, Worked: true,
	}
}
