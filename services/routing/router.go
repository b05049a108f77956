// Package routing finds who answers a request: over models, keys and retries,
// until one accepts or refuses for good.
package routing

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/services/metrics"
	"modelgateway/services/pool"
	"modelgateway/services/registry"
)

// Router finds who answers a request: over the models that may, each with its
// provider's keys, until one accepts.
type Router struct {
	Models    *registry.Models
	Upstreams pool.Set
	Redirect  bool // serve a retired model's successor
	Metrics   *metrics.Metrics
	Now       func() time.Time

	Fallbacks  map[string][]string // by model: which others stand in for it, in this order
	Retries    int                 // of one model at most; 0 = none
	HedgeAfter time.Duration       // when a second upstream is asked for an answer; 0 = never
	FirstToken time.Duration       // until a stream has to begin; 0 = any time
	MaxStream  time.Duration       // until a stream has to end; 0 = any time
}

// Ask is one request, and what its caller wants of its routes.
type Ask struct {
	Request    *api.ChatRequest
	Limits     *models.Limits // whose models may answer; nil = any
	Strict     bool           // refuse what cannot be honoured, rather than name it
	NoFallback bool           // no other model is to answer
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

// explain adds to a provider's 404 what the catalogue knows of the model.
func (c *Router) explain(err error, served Served) error {
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
