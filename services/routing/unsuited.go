package routing

import (
	"errors"
	"strings"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/providers"
)

// unsuited is the error for a model of another kind. For one whose models are not
// interchangeable it names those that can be used: the caller has to choose.
func (r *Router) unsuited(err error, call providers.Call, levels models.Levels) error {
	kind := call.Request.Kind
	told, ok := errors.AsType[*api.Error](err)
	if !ok || kind.Interchangeable() {
		return err
	}
	named := *told
	if provider := call.Model.Provider; r.Upstreams[provider] != nil && !r.Upstreams.Serves(provider, kind) {
		named.Message = call.Model.Provider + " has no models for " + kind.Purpose()
	}
	const some = 5
	ids := r.Models.Suited(kind, some, func(names ...string) bool { return levels.Refusing(names...) != nil })
	if len(ids) == 0 {
		named.Message += "; no model for " + kind.Purpose() + " is available here"
	} else {
		named.Message += "; use " + strings.Join(ids, " or ")
	}
	return &named
}
