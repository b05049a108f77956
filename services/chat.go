package services

import (
	"context"
	"errors"
	"net/http"
	"strings"
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
}

// Ask is one request with what its headers say.
type Ask struct {
	Request *api.ChatRequest
	Strict  bool // refuse what cannot be honoured, rather than name it
}

// Served says who answered, and how faithfully. It is filled as far as the
// call came, also beside an error.
type Served struct {
	Provider   string
	Model      string   // the catalogue's id of the model that was asked
	Redirected string   // the successor that answered instead, or empty
	Ignored    []string // fields of the request that the provider could not honour
}

// Complete waits for the whole answer.
func (c *Chat) Complete(ctx context.Context, ask Ask) (*api.ChatCompletion, Served, error) {
	call, served, err := c.prepare(ask)
	if err != nil {
		return nil, served, err
	}
	answer, err := send(ctx, c, call, providers.Exchange.Complete)
	if err != nil {
		return nil, served, c.explain(err, call.model)
	}
	c.Metrics.Used(call.model.Provider, call.model.ID, answer.Usage)
	if c.Simulated {
		if err := answer.Open(); err != nil {
			return nil, served, err
		}
		answer.SystemFingerprint = Simulated
	}
	return answer, served, nil
}

// Stream waits for the first event. The stream must be ranged over, which
// closes it.
func (c *Chat) Stream(ctx context.Context, ask Ask) (providers.Stream, Served, error) {
	call, served, err := c.prepare(ask)
	if err != nil {
		return nil, served, err
	}
	stream, err := send(ctx, c, call, providers.Exchange.Stream)
	if err != nil {
		return nil, served, c.explain(err, call.model)
	}
	return c.watch(stream, call), served, nil
}

// call is an exchange that is ready to be sent.
type call struct {
	exchange providers.Exchange
	upstream *Upstream
	model    catalog.Model
}

func (c *Chat) prepare(ask Ask) (call, Served, error) {
	model, err := c.Models.Resolve(ask.Request.Model)
	if err != nil {
		return call{}, Served{}, err
	}
	served := Served{Provider: model.Provider, Model: model.ID}
	if c.Redirect && model.State(c.Now()) == catalog.Retired {
		if next, ok := c.Models.Successor(model); ok {
			model = next
			served.Provider, served.Redirected = model.Provider, model.ID
		}
	}
	upstream, ok := c.Upstreams[model.Provider]
	if !ok {
		return call{}, served, notConfigured(model.Provider)
	}
	exchange, err := upstream.provider.Prepare(providers.Call{Request: ask.Request, Model: model})
	if err != nil {
		return call{}, served, err
	}
	served.Ignored = exchange.Ignored()
	if ask.Strict && len(served.Ignored) > 0 {
		const most = 10
		return call{}, served, api.Invalid(api.CodeUnsupportedValue, served.Ignored[0],
			"%s cannot honour %s with the model %s", model.Provider, quoted(strings.Join(served.Ignored[:min(most, len(served.Ignored))], ", ")), quoted(model.ID))
	}
	return call{exchange: exchange, upstream: upstream, model: model}, served, nil
}

func notConfigured(provider string) *api.Error {
	return &api.Error{
		Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: provider,
		Message:    provider + " is not configured: the gateway has no key for it",
		RetryAfter: time.Minute, Final: true,
	}
}

// send goes through the provider's circuit.
func send[T any](ctx context.Context, c *Chat, to call, how func(providers.Exchange, context.Context) (T, error)) (answer T, err error) {
	report, err := to.upstream.admit()
	if err != nil {
		return answer, err
	}
	began := c.Now()
	defer func() { // also when how panics: a circuit waits for the word
		report(err)
		c.Metrics.Called(to.model.Provider, to.model.ID, outcome(err), c.Now().Sub(began))
	}()
	return how(to.exchange, ctx)
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
func (c *Chat) explain(err error, model catalog.Model) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.UpstreamStatus != http.StatusNotFound || model.State(c.Now()) == catalog.Active {
		return err
	}
	told := *e
	told.Message = model.Provider + " no longer serves the model " + quoted(model.ID)
	if next, ok := c.Models.Successor(model); ok {
		told.Message += "; its successor is " + quoted(next.ID)
	}
	return &told
}

// watch passes a stream on, and books its usage and its failure.
func (c *Chat) watch(stream providers.Stream, from call) providers.Stream {
	return func(yield func(*api.ChatChunk, error) bool) {
		for chunk, err := range stream {
			if err != nil {
				from.upstream.brokeOff(err)
				yield(nil, err)
				return
			}
			if chunk != nil && chunk.Usage != nil {
				c.Metrics.Used(from.model.Provider, from.model.ID, chunk.Usage)
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
