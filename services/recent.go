package services

import "time"

// recent is a map of bounded size whose entries end by themselves. It is not
// safe for concurrent use. The values are copies that nobody changes.
type recent[V any] struct {
	most    int // entries
	entries map[string]recentEntry[V]
}

type recentEntry[V any] struct {
	value V
	until time.Time
}

func newRecent[V any](most int) recent[V] {
	return recent[V]{most: most, entries: map[string]recentEntry[V]{}}
}

func (r recent[V]) get(key string, now time.Time) (value V, ok bool) {
	e, ok := r.entries[key]
	if !ok || !now.Before(e.until) {
		return value, false
	}
	return e.value, true
}

func (r recent[V]) put(key string, e recentEntry[V], now time.Time) {
	if _, ok := r.entries[key]; !ok && len(r.entries) >= r.most {
		r.shrink(now)
	}
	r.entries[key] = e
}

// shrink makes more room than for one entry, so that a full map is not gone
// through for each.
func (r recent[V]) shrink(now time.Time) {
	for key, e := range r.entries {
		if !now.Before(e.until) {
			delete(r.entries, key)
		}
	}
	for key := range r.entries {
		if len(r.entries) <= r.most-r.most/8-1 {
			return
		}
		delete(r.entries, key)
	}
}
