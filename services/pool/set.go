package pool

import (
	"iter"
	"slices"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
)

// Set is the configured upstreams, by their provider's name.
type Set map[string]*Upstream

// Configured says whether a provider has an upstream.
func (s Set) Configured(provider string) bool {
	_, ok := s[provider]
	return ok
}

// Serves says whether a provider is configured and answers requests for models of a
// kind.
func (s Set) Serves(provider string, kind llm.Kind) bool {
	u, ok := s[provider]
	return ok && providers.Serves(u.provider, kind)
}

// Keys are the Fingerprints of all keys, with the names of their providers.
func (s Set) Keys() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for name, u := range s {
			for _, k := range u.keys {
				if !yield(name, k.mark) {
					return
				}
			}
		}
	}
}

// Statuses is the health of each provider.
func (s Set) Statuses() map[string]string {
	all := map[string]string{}
	for _, name := range catalog.Providers() {
		all[name] = Unhealthy // unless it is configured
	}
	for name, u := range s {
		all[name] = u.Status()
	}
	return all
}

// Working says whether each configured provider works: false while the circuit of every key is
// open or the key is refused, true after an answer. Others, as those that were not called yet, are not in it.
func (s Set) Working() map[string]bool {
	all := map[string]bool{}
	for name, u := range s {
		usable := slices.ContainsFunc(u.keys, func(k *Key) bool { return !k.open() && !k.refused() })
		if works := u.traffic.works(); !usable || works {
			all[name] = usable
		}
	}
	return all
}

// Up is the health of each provider for metrics: 1 healthy, 0.5
// degraded, 0 unhealthy or not configured.
func (s Set) Up() map[string]float64 {
	all := map[string]float64{}
	for name, status := range s.Statuses() {
		switch status {
		case Healthy:
			all[name] = 1
		case Degraded:
			all[name] = 0.5
		default:
			all[name] = 0
		}
	}
	return all
}

// CircuitsOpen is the share of each configured provider's keys whose circuit is
// open, from 0 to 1.
func (s Set) CircuitsOpen() map[string]float64 {
	all := map[string]float64{}
	for name, u := range s {
		open := 0
		for _, k := range u.keys {
			if k.open() {
				open++
			}
		}
		all[name] = float64(open) / float64(len(u.keys))
	}
	return all
}
