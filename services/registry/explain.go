package registry

import (
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
)

// Why a model is not available.
const (
	unavailableRetired       = "retired"
	unavailableNotConfigured = "not_configured" // its provider
	unavailableNotServed     = "not_served"     // its kind, by its provider here
	unavailableNotAllowed    = "not_allowed"    // by the limits of the caller
)

// explainer adds to models what people ask about them.
type explainer struct {
	models *Models
	status map[string]string // of the providers that were asked for
}

func (m *Models) explainer() *explainer { return &explainer{models: m, status: map[string]string{}} }

// explain adds the other names of a model, the state of its provider, its next price and why
// it is not available.
func (e *explainer) explain(shown *api.Model, model *catalog.Model) {
	m := e.models
	shown.Aliases = m.Aliases.of(model.ID)
	shown.ProviderStatus = e.statusOf(model.Provider)
	if from, price, ok := model.NextPrice(m.now()); ok {
		shown.NextPrice = &api.ModelNextPrice{From: from.Format(time.DateOnly), Price: showPrice(price, "")}
	}
	switch {
	case shown.Available:
	case shown.State == catalog.Retired:
		shown.Unavailable = unavailableRetired
	case m.usable(model):
		shown.Unavailable = unavailableNotAllowed
	case shown.ProviderStatus != "":
		shown.Unavailable = unavailableNotServed
	default:
		shown.Unavailable = unavailableNotConfigured
		if m.KeySetting != nil {
			shown.Setting = m.KeySetting(model.Provider)
		}
	}
}

func (e *explainer) statusOf(provider string) string {
	if e.models.Status == nil {
		return ""
	}
	status, known := e.status[provider]
	if !known {
		status = e.models.Status(provider)
		e.status[provider] = status
	}
	return status
}
