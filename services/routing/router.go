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

	Fallbacks  map[string][]string // by model, in the order in which they are asked
	Retries    int                 // of one model at most; 0 = none
	HedgeAfter time.Duration       // when a second upstream is asked for an answer; 0 = never
	FirstToken time.Duration       // until a stream has to begin; 0 = any time
	MaxStream  time.Duration       // until a stream has to end; 0 = any time
}

// Ask is one request, and what its caller wants of its routes.
type Ask struct {
	Request    *llm.Request
	Limits     *models.Limits // whose models may answer; nil = any
	Strict     bool           // refuse what cannot be honoured, rather than name it
	NoFallback bool           // no other model may answer
}

// Served says which model answered, and what of the request was left out. It is
// filled as far as the call came, also beside an error.
type Served struct {
	Provider   string
	Model      string   // the catalogue's id of the model that was asked
	Redirected string   // the successor that answered instead, or empty
	Fallback   string   // the fallback that answered, or empty
	Ignored    []string // fields of the request that the provider could not honour
}

// explain adds to a provider's 404 what the catalogue knows of the model.
func (r *Router) explain(err error, served Served) error {
	refusal, ok := errors.AsType[*providers.Refusal](err)
	if !ok || refusal.Status != http.StatusNotFound {
		return err
	}
	model, unknown := r.Models.Resolve(cmp.Or(served.Redirected, served.Fallback, served.Model))
	if unknown != nil || model.State(r.Now()) == catalog.Active {
		return err
	}
	told := refusal.ClientError()
	told.Message = model.Provider + " no longer serves the model " + api.Quoted(model.ID)
	if next, ok := r.Models.Successor(model); ok {
		told.Message += "; its successor is " + api.Quoted(next.ID)
	}
	return told
}
