// Package routing chooses the model, the provider and the key that answer a
// request: it fails over, retries and hedges until one accepts or refuses for
// good.
package routing

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/providers"
	"modelgateway/services/metrics"
	"modelgateway/services/pool"
	"modelgateway/services/registry"
)

// Router makes the plan for each request.
type Router struct {
	Models    *registry.Models
	Upstreams pool.Set
	Redirect  bool // serve a retired model's successor
	Metrics   *metrics.Metrics
	Now       func() time.Time

	Fallbacks  map[string][]string // by model, in the order in which they are tried
	Retries    int                 // at most, of one model; 0 = none
	HedgeAfter time.Duration       // after this time a second upstream is called for a whole answer; 0 = never
	FirstToken time.Duration       // timeout of a stream's first event; 0 = none
	MaxStream  time.Duration       // timeout of a whole stream; 0 = none
}

// Input is one request and how it may be routed.
type Input struct {
	Request    *llm.Request
	Limits     *models.Limits // whose models may answer; nil = any
	Strict     bool           // refuse a request with fields that the provider cannot honour
	NoFallback bool           // no other model may answer
	Caller     string         // identifies the caller; empty = unknown
}

// Route says which model answered, and which fields of the request were ignored.
// It is filled as far as the call came, also when there is an error.
type Route struct {
	Provider   string
	Model      string   // the catalogue's id of the requested model
	Redirected string   // the successor that answered instead, or empty
	Fallback   string   // the fallback that answered, or empty
	RequestID  string   // of the provider for the answer or the error; empty where it gave none
	Ignored    []string // fields of the request that the provider could not honour
}

// explain adds to a provider's 404 that the catalogue lists the model as
// deprecated or retired, and its successor.
func (r *Router) explain(err error, route Route) error {
	refusal, ok := errors.AsType[*providers.Refusal](err)
	if !ok || refusal.Status != http.StatusNotFound {
		return err
	}
	model, unknown := r.Models.Resolve(cmp.Or(route.Redirected, route.Fallback, route.Model))
	if unknown != nil || model.State(r.Now()) == catalog.Active {
		return err
	}
	e := refusal.ClientError()
	e.Message = model.Provider + " no longer serves the model " + api.Quoted(model.ID)
	if next, ok := r.Models.Successor(model); ok {
		e.Message += "; its successor is " + api.Quoted(next.ID)
	}
	return e
}
