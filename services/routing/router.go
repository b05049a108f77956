// Package routing chooses the model, the provider and the key that answer a
// request: it fails over, retries and hedges until one accepts or refuses for
// good.
package routing

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
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

	Fallbacks  map[string][]string // by model or pattern, in the order in which they are tried
	Patterns   []string            // those of Fallbacks: the beginning of a name and a * at its end
	Retries    int                 // at most, of one model; 0 = none
	HedgeAfter time.Duration       // after this time a second upstream is called for a whole answer; 0 = never
	FirstToken time.Duration       // timeout of a stream's first event; 0 = none
	Accept     time.Duration       // timeout for a stream to be accepted while another candidate is left; 0 = none
	MaxStream  time.Duration       // timeout of a whole stream; 0 = none
}

// Images bound the tokens of the pictures in a request to a provider.
func (r *Router) Images(provider string) providers.Images {
	if u := r.Upstreams[provider]; u != nil {
		return u.Images
	}
	return providers.Images{}
}

// Vendors says whether each upstream that takes requests of a dialect as they are is at the
// address of the vendor whose API it is.
func (r *Router) Vendors(d llm.Dialect) bool {
	for _, u := range r.Upstreams {
		if !u.Vendor && u.Speaks(d, nil) {
			return false
		}
	}
	return true
}

// Input is one request and how it may be routed.
type Input struct {
	Request    *llm.Request
	Levels     models.Levels // whose models may answer
	Strict     bool          // refuse a request with fields that the provider does not support
	NoFallback bool          // no other model may answer
	Fallbacks  []string      // the client's own fallbacks, which the caller may request; nil: the gateway's
	Caller     string        // identifies the caller; empty = unknown
	UserID     string        // of the caller; empty = it has none
	TeamID     string        // of the caller; empty = it has none
	Ignored    []string      // fields of the request that the gateway itself has left out
}

// Route says which model answered, and which fields of the request were ignored.
// It is filled as far as the call came, also when there is an error.
type Route struct {
	Provider   string
	Model      string   // as requested
	Alias      string   // the id of the model that the request means, where that is another name; else empty
	Redirected string   // the successor that answered instead, or empty
	Fallback   string   // the fallback that answered, or empty
	RequestID  string   // of the provider for the answer or the error; empty where it gave none
	Native     bool     // the provider speaks the client's dialect itself
	Ignored    []string // fields of the request that the gateway or the provider did not support
	Decoded    string   // the vocabulary of the client's tokens that the provider got as text, or empty

	// Headers of the answer that the client reads itself, of a provider that speaks its
	// dialect.
	Headers []llm.Header
}

// moved says whether the gateway chose another model than the client: not where the client's
// name is another one of the same model, such as one without its date.
func (r *Route) moved() bool {
	if r.Redirected != "" || r.Fallback != "" {
		return true
	}
	name, _, _ := strings.Cut(r.Model, "[")
	return r.Alias != "" && !strings.HasPrefix(r.Alias, name[strings.LastIndexByte(name, '/')+1:])
}

// explain adds to a provider's 404 that the catalogue lists the model as
// deprecated or retired, and its successor. A 404 for a model that nothing lists means
// that there is none.
func (r *Router) explain(err error, route Route) error {
	refusal, ok := errors.AsType[*providers.Refusal](err)
	if !ok || refusal.Status != http.StatusNotFound || refusal.Code == api.CodeThreadNotFound {
		return err
	}
	model, unknown := r.Models.Resolve(cmp.Or(route.Redirected, route.Fallback, route.Model))
	if unknown != nil {
		return err
	}
	if !r.Models.Lists(model.ID) {
		return r.Models.NotFound(model.ID)
	}
	if model.State(r.Now()) == catalog.Active {
		return err
	}
	e := refusal.ClientError()
	e.Message = model.Provider + " no longer serves the model " + api.Quoted(model.ID)
	if next, ok := r.Models.Successor(model); ok {
		e.Message += "; its successor is " + api.Quoted(next.ID)
	}
	return e
}
