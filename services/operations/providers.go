// Package operations shows operators the state of this replica: of its providers, from its
// own traffic, and of its settings.
package operations

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"modelgateway/api"
	"modelgateway/services/metrics"
	"modelgateway/services/pool"
	"modelgateway/services/routing"
)

// Providers shows the providers of a replica.
type Providers struct {
	Router    func() *routing.Router // that of new calls
	Metrics   *metrics.Metrics
	Simulated bool
	Lister    Lister
	Replica   string
	Started   time.Time
}

// List is the state of all providers, those that are configured first.
func (p *Providers) List() api.ProviderList {
	router := p.Router()
	list := api.ProviderList{
		Object: api.ObjectList, Replica: p.Replica, Since: p.Started.Unix(), Data: []api.Provider{},
		Fallbacks: fallbacks(router.Fallbacks, p.Metrics.Fallbacks()),
	}
	models := router.Models.Available()
	for _, name := range slices.Sorted(maps.Keys(router.Upstreams.Statuses())) {
		shown := api.Provider{
			Name: name, Type: name, Status: pool.Unhealthy, Circuit: pool.Closed, Keys: []api.ProviderKey{}, Models: models[name],
			Recent: []api.ProviderEvent{},
		}
		if set := router.Models.KeySetting; set != nil {
			shown.Setting = api.Maybe(set(name))
		}
		if u := router.Upstreams[name]; u != nil {
			shown.Configured, shown.Simulated, shown.Type = true, p.Simulated, cmp.Or(u.Type, name)
			show(&shown, u.Report())
		} else {
			shown.LastHour.ByMinute = api.ProviderMinutes{Times: []int64{}, Calls: []int64{}, Failed: []int64{}}
		}
		list.Data = append(list.Data, shown)
	}
	slices.SortStableFunc(list.Data, func(a, b api.Provider) int {
		switch {
		case a.Configured == b.Configured:
			return 0
		case a.Configured:
			return -1
		}
		return 1
	})
	return list
}

func show(shown *api.Provider, r pool.Report) {
	shown.Status, shown.Circuit, shown.CircuitUntil = r.Status, r.Circuit, seconds(r.CircuitUntil)
	for _, k := range r.Keys {
		key := api.ProviderKey{
			Key: k.Key, State: k.State, Reason: api.Maybe(k.Reason), Until: seconds(k.Until), InFlight: k.InFlight, Calls: k.Calls,
			Circuit: k.Circuit,
		}
		if k.Models != nil {
			key.Models = &k.Models
		}
		switch {
		case k.OneCaller:
			key.CircuitFor = "one_caller"
		case k.Circuit == pool.Open:
			key.CircuitFor = "all"
		}
		shown.Keys = append(shown.Keys, key)
	}
	hour := &shown.LastHour
	hour.Calls, hour.Failed, hour.Refused = r.Hour.Calls, r.Hour.Failed, r.Hour.Refused
	hour.FirstToken = api.Percentiles{P50: milliseconds(r.Hour.P50), P95: milliseconds(r.Hour.P95)}
	for _, m := range r.Hour.Minutes {
		hour.ByMinute.Times = append(hour.ByMinute.Times, m.Begins.Unix())
		hour.ByMinute.Calls = append(hour.ByMinute.Calls, m.Calls)
		hour.ByMinute.Failed = append(hour.ByMinute.Failed, m.Failed)
	}
	for _, e := range r.Recent {
		shown.Recent = append(shown.Recent, api.ProviderEvent{
			At: e.At.Unix(), Since: e.Since.Unix(), Times: e.Times, Event: e.Kind, Key: e.Key, Model: api.Maybe(e.Model), Detail: e.Detail,
		})
	}
}

// fallbacks joins those of the settings with how often they, and others that patterns
// stand for, were used: the most used first.
func fallbacks(configured map[string][]string, used map[metrics.Fallback]int64) []api.Fallback {
	all := maps.Clone(used)
	if all == nil {
		all = map[metrics.Fallback]int64{}
	}
	for from, others := range configured {
		for _, to := range others {
			all[metrics.Fallback{Model: from, Served: to}] += 0
		}
	}
	list := make([]api.Fallback, 0, len(all))
	for pair, calls := range all {
		list = append(list, api.Fallback{From: pair.Model, To: pair.Served, Calls: calls})
	}
	slices.SortFunc(list, func(a, b api.Fallback) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	const most = 200 // a pattern may stand for many models
	return list[:min(len(list), most)]
}

func seconds(at time.Time) *int64 {
	if at.IsZero() {
		return nil
	}
	n := at.Unix()
	return &n
}

func milliseconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	n := max(d.Milliseconds(), 1)
	return &n
}
