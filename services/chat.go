// Package services is what is not yet in a package of its own.
package services

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/services/auth"
	"modelgateway/services/budget"
	"modelgateway/services/ledger"
	"modelgateway/services/metrics"
	"modelgateway/services/ratelimit"
	"modelgateway/services/registry"
	"modelgateway/services/tracing"
)

// Simulated is the system fingerprint of every answer that a simulator gave.
const Simulated = "simulated"

// Chat answers chat completion requests.
type Chat struct {
	Models    *registry.Models
	Upstreams map[string]*Upstream // the configured providers, by name
	Redirect  bool                 // serve a retired model's successor
	Simulated bool                 // the upstreams are simulators: say so in every answer
	Metrics   *metrics.Metrics
	Tracer    *tracing.Tracer // nil traces nothing
	Log       *slog.Logger
	Now       func() time.Time

	Ledger       *ledger.Writer // nil keeps nothing
	Budgets      *budget.Service
	Quotas       *ratelimit.Quotas
	Budget       *budget.Budget // of all calls together; nil = any amount
	DefaultPrice catalog.Price  // of models without one

	Fallbacks  map[string][]string // by model: which others stand in for it, in this order
	Retries    int                 // of one model at most; 0 = none
	HedgeAfter time.Duration       // when a second upstream is asked for an answer; 0 = never
	FirstToken time.Duration       // until a stream has to begin; 0 = any time
	MaxStream  time.Duration       // until a stream has to end; 0 = any time

	estimator estimator
}

// Ask is one request with what its headers say.
type Ask struct {
	Request    *api.ChatRequest
	Caller     auth.Caller
	RequestID  string
	Began      time.Time     // when the request came
	Reading    time.Duration // what its client took to send the body
	Strict     bool          // refuse what cannot be honoured, rather than name it
	NoFallback bool          // no other model is to answer
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

func complete(ctx context.Context, r *route, l *lease) (*api.ChatCompletion, error) {
	return r.exchange.Complete(ctx, l.key.secret.Reveal())
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
	l.trace.FirstToken()
	if s.timer.Stop() { // else its word stands
		s.timer = time.AfterFunc(cmp.Or(c.MaxStream, never), func() { s.end(late(r, "did not come to the end of its answer in time")) })
	}
	return s, nil
}

const never = 1000 * time.Hour

func late(r *route, what string) *api.Error {
	return &api.Error{
		Status: http.StatusGatewayTimeout, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: r.model.Provider,
		Message: r.model.Provider + " " + what, Worked: true,
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
	told.Message = model.Provider + " no longer serves the model " + api.Quoted(model.ID)
	if next, ok := c.Models.Successor(model); ok {
		told.Message += "; its successor is " + api.Quoted(next.ID)
	}
	return &told
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

// ProvidersUp says of each provider how it is: 1 healthy, 0.5 degraded, 0
// unhealthy or not configured.
func (c *Chat) ProvidersUp() map[string]float64 {
	all := map[string]float64{}
	for name, status := range c.Statuses() {
		switch status {
		case Healthy:
			all[name] = 1
		case Degraded:
			all[name] = 0.5
		default:
			all[name] = 0
		}
	}
	return all
}

// CircuitsOpen says of each configured provider the share of its keys whose
// circuit is open.
func (c *Chat) CircuitsOpen() map[string]float64 {
	all := map[string]float64{}
	for name, u := range c.Upstreams {
		open := 0
		for _, k := range u.keys {
			if k.open() {
				open++
			}
		}
		all[name] = float64(open) / float64(len(u.keys))
	}
	return all
}
