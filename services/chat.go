package services

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/services/metrics"
)

// Simulated is the system fingerprint of every answer that a simulator gave.
const Simulated = "simulated"

// Chat answers chat completion requests.
type Chat struct {
	Models    *Models
	Upstreams map[string]*Upstream // the configured providers, by name
	Redirect  bool                 // serve a retired model's successor
	Simulated bool                 // the upstreams are simulators: say so in every answer
	Metrics   *metrics.Metrics
	Now       func() time.Time

	Fallbacks  map[string][]string // by model: which others stand in for it, in this order
	Retries    int                 // of one model at most; 0 = none
	HedgeAfter time.Duration       // when a second upstream is asked for an answer; 0 = never
	FirstToken time.Duration       // until a stream has to begin; 0 = any time
	MaxStream  time.Duration       // until a stream has to end; 0 = any time
}

// Ask is one request with what its headers say.
type Ask struct {
	Request    *api.ChatRequest
	Strict     bool // refuse what cannot be honoured, rather than name it
	NoFallback bool // no other model is to answer
}

// Served says who answered, and how faithfully. It is filled as far as the
// call came, also beside an error.
type Served struct {
	Provider   string
	Model      string   // the catalogue's id of the model that was asked
	Redirected string   // the successor that answered instead, or empty
	Fallback   string   // the model that stood in, or empty
	Ignored    []string // fields of the request that the provider could not honour
}

// Complete waits for the whole answer.
func (c *Chat) Complete(ctx context.Context, ask Ask) (*api.ChatCompletion, Served, error) {
	p := c.plan(ask)
	p.hedgeAfter = c.HedgeAfter
	got, served, err := first(ctx, p, complete)
	if err != nil {
		return nil, served, c.explain(err, served)
	}
	got.lease.end()
	c.Metrics.FellBack(served.Model, served.Fallback)
	answer, model := got.answer, got.route.model
	if answer.Usage == nil {
		answer.Usage = new(api.Usage) // clients rely on it
	}
	c.Metrics.Used(model.Provider, model.ID, answer.Usage)
	if c.Simulated {
		if err := answer.Open(); err != nil {
			return nil, served, err
		}
		answer.SystemFingerprint = Simulated
	}
	return answer, served, nil
}

func complete(ctx context.Context, r *route, l *lease) (*api.ChatCompletion, error) {
	return r.exchange.Complete(ctx, l.key.secret.Reveal())
}

// Stream waits for the first event. The stream must be ranged over, which
// closes it.
func (c *Chat) Stream(ctx context.Context, ask Ask) (providers.Stream, Served, error) {
	got, served, err := first(ctx, c.plan(ask), begin)
	if err != nil {
		return nil, served, c.explain(err, served)
	}
	c.Metrics.FellBack(served.Model, served.Fallback)
	return c.watch(got), served, nil
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

func begin(ctx context.Context, r *route, l *lease) (s timedStream, err error) {
	c := r.chat
	ctx, s.end = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(cmp.Or(c.FirstToken, never), func() { s.end(late(r, "did not begin to answer in time")) })
	s.Stream, err = r.exchange.Stream(ctx, l.key.secret.Reveal())
	if err != nil {
		s.close()
		return s, err
	}
	if s.timer.Stop() { // else its word stands
		s.timer = time.AfterFunc(cmp.Or(c.MaxStream, never), func() { s.end(late(r, "did not come to the end of its answer in time")) })
	}
	return s, nil
}

const never = 1000 * time.Hour

func late(r *route, what string) *api.Error {
	return &api.Error{
		Status: http.StatusGatewayTimeout, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: r.model.Provider,
		Message: r.model.Provider + " " + what,
	}
}

func notConfigured(provider string) *api.Error {
	return &api.Error{
		Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: provider,
		Message:    provider + " is not configured: the gateway has no key for it",
		RetryAfter: time.Minute, Final: true,
	}
}

func outcome(err error) string {
	switch {
	case err == nil:
		return metrics.OK
	case gone(err):
		return metrics.Canceled
	case failed(err):
		return metrics.Failed
	default:
		return metrics.Refused
	}
}

// explain adds to a provider's 404 what the catalogue knows of the model.
func (c *Chat) explain(err error, served Served) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.UpstreamStatus != http.StatusNotFound {
		return err
	}
	model, unknown := c.Models.Resolve(cmp.Or(served.Redirected, served.Fallback, served.Model))
	if unknown != nil || model.State(c.Now()) == catalog.Active {
		return err
	}
	told := *e
	told.Message = model.Provider + " no longer serves the model " + quoted(model.ID)
	if next, ok := c.Models.Successor(model); ok {
		told.Message += "; its successor is " + quoted(next.ID)
	}
	return &told
}

// watch passes a stream on, and books its usage, its failure and its end.
func (c *Chat) watch(got answered[timedStream]) providers.Stream {
	model := got.route.model
	return func(yield func(*api.ChatChunk, error) bool) {
		defer got.lease.end()
		defer got.answer.close()
		for chunk, err := range got.answer.Stream {
			if err != nil {
				got.lease.brokeOff(err)
				yield(nil, err)
				return
			}
			if chunk != nil && chunk.Usage != nil {
				c.Metrics.Used(model.Provider, model.ID, chunk.Usage)
			}
			if c.Simulated && chunk != nil {
				chunk.SystemFingerprint = Simulated
			}
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// Configured says whether a provider has an upstream.
func (c *Chat) Configured(provider string) bool {
	_, ok := c.Upstreams[provider]
	return ok
}

// Statuses is the health of each of the three providers.
func (c *Chat) Statuses() map[string]string {
	all := map[string]string{}
	for _, name := range catalog.Providers() {
		all[name] = Unhealthy // not configured
		if u, ok := c.Upstreams[name]; ok {
			all[name] = u.Status()
		}
	}
	return all
}
