package routing

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/providers"
	"modelgateway/services/pool"
)

// countTimeout is how long a provider may take to count a prompt.
const countTimeout = 2 * time.Second

// Counted is what a provider says about the size of a prompt.
type Counted struct {
	*providers.Count                // nil: no provider has counted it
	Model            *catalog.Model // that the prompt is for
	Route            Route
	Failure          error // why the last provider that was asked has not counted it
}

// Count asks the upstreams of a model, and of a retired one its successor's, for the size
// of a request's prompt, one after the other. Its error is one that the client must be
// told: the prompt itself is at fault, or there is no such model.
func (r *Router) Count(ctx context.Context, input Input, model *catalog.Model) (Counted, error) {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	got := Counted{Route: Route{Provider: model.Provider, Model: input.Request.Model}}
	if model.ID != input.Request.Model {
		got.Route.Alias = model.ID
	}
	p := Plan{router: r, input: input, redirect: r.Redirect}
	got.Model = p.redirected(model, &got.Route)
	if err := (providers.Call{Request: input.Request, Model: got.Model}).Check(); err != nil {
		return got, err
	}
	for _, at := range p.usable(got.Model) {
		u := r.Upstreams[at.Provider]
		kept := input.Request.Kept
		if u == nil || ctx.Err() != nil || kept != nil && kept.Provider != at.Provider {
			continue
		}
		count, id, err := u.Count(ctx, providers.Call{Request: input.Request, Model: at})
		got.Route.Provider, got.Route.RequestID = at.Provider, id
		if err == nil {
			got.Count, got.Route.Native = &count, u.Speaks(input.Request.Source.Dialect(), at)
			return got, nil
		}
		if !errors.Is(err, pool.ErrCannotCount) {
			got.Failure = err
		}
		if told := r.explain(err, got.Route); isClients(told) {
			return got, told
		}
	}
	return got, nil
}

// isClients says whether an error of counting is one of the request itself, in the words of
// a provider that speaks the client's dialect, or says that there is no such model. Others
// may come of what a server does not have, or of the translation.
func isClients(err error) bool {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Code == api.CodeModelNotFound
	}
	r, ok := errors.AsType[*providers.Refusal](err)
	faults := []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}
	return ok && len(r.Body) > 0 && !r.KeyRefused() && slices.Contains(faults, r.Status)
}
