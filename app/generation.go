package app

import (
	"slices"
	"time"

	"modelgateway/config"
	"modelgateway/providers/all"
	"modelgateway/services/pool"
	"modelgateway/services/registry"
	"modelgateway/services/routing"
)

// generation is what follows from the models file and the providers' keys as they were
// read at one time. A call keeps the generation that it began with.
type generation struct {
	router     *routing.Router
	listers    map[string]registry.Listing // by provider
	identities map[string]string           // of the providers; see all.Configured
}

// generation makes the upstreams and the models of these settings. Upstreams of the last
// generation whose settings have not changed go on, with their connections, circuits and
// counts. last is nil at the start.
func (g *gateway) generation(cfg config.Config, of *derived, last *generation) *generation {
	next := &generation{listers: map[string]registry.Listing{}, identities: map[string]string{}}
	upstreams, abilities := pool.Set{}, all.Abilities()
	for _, p := range slices.Concat(all.New(cfg), of.own) {
		if len(p.Keys) == 0 {
			continue
		}
		upstreams[p.Name] = upstream(p, last)
		next.identities[p.Name] = p.Identity
		g.metrics.Provider(p.Name)
		can := p.Provider.Abilities()
		abilities[p.Name] = can
		if can.Models != nil && p.Discovery {
			next.listers[p.Name] = registry.Listing{Models: can.Models, Key: p.Keys[0].Reveal()}
		}
	}
	g.catalog.Store(of.catalog)
	models := registry.New(of.catalog, upstreams.Serves, time.Now)
	models.Status = func(provider string) string {
		if u := upstreams[provider]; u != nil {
			return u.Status()
		}
		return ""
	}
	models.Abilities = abilities
	models.KeySetting, models.All = keySetting, cfg.ModelsListed == config.ListAll
	if len(upstreams) == 0 {
		models.Trial = trial(cfg)
	}
	models.Order = cfg.ProviderOrder
	models.Aliases, models.AliasesOnly = of.aliases, cfg.ModelAliasesOnly
	if last != nil {
		models.Inherit(last.router.Models)
	}
	next.router = &routing.Router{
		Models: models, Upstreams: upstreams, Redirect: cfg.ModelRedirectRetired, Metrics: g.metrics, Now: time.Now,
		Fallbacks: of.fallbacks, Patterns: of.patterns, Retries: cfg.MaxRetries, HedgeAfter: cfg.HedgeAfter,
		FirstToken: cfg.StreamFirstToken, Accept: cfg.FallbackAfter, MaxStream: cfg.StreamMax,
	}
	return next
}

// upstream is the pool of a provider: that of the last generation as far as its settings
// are the same.
func upstream(p all.Configured, last *generation) *pool.Upstream {
	if last != nil && last.identities[p.Name] == p.Identity {
		old := last.router.Upstreams[p.Name]
		if old.Has(p.Keys) {
			return old
		}
		return old.Renewed(p.Keys)
	}
	u := pool.NewUpstream(p.Name, p.Provider, p.Keys, time.Now)
	u.OTelName, u.Images, u.FirstToken, u.Vendor, u.Type = p.OTelName, p.Images, p.FirstToken, p.Vendor, p.Type
	return u
}

// otelName is the name of a provider in the semantic conventions, or empty.
func (g *gateway) otelName(provider string) string {
	if u := g.calls.Router().Upstreams[provider]; u != nil {
		return u.OTelName
	}
	return ""
}

// discoveryOf lists the models of a generation's providers.
func (g *gateway) discoveryOf(now *generation) *registry.Discovery {
	return &registry.Discovery{Models: now.router.Models, Listers: now.listers, Store: g.store, Log: g.log}
}
