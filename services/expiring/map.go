// Package expiring has a map of bounded size whose entries end by themselves.
package expiring

import "time"

// Map is not safe for concurrent use. Its values are copies that are not
// changed.
type Map[V any] struct {
	most    int // entries
	entries map[string]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

// New makes a map of at most so many entries.
func New[V any](most int) Map[V] {
	return Map[V]{most: most, entries: map[string]entry[V]{}}
}

// Get is the value of a key whose entry has not ended.
func (r Map[V]) Get(key string, now time.Time) (value V, ok bool) {
	e, ok := r.entries[key]
	if !ok || !now.Before(e.until) {
		return value, false
	}
	return e.value, true
}

// Put keeps a value until a time, and forgets others where there is no room.
func (r Map[V]) Put(key string, value V, until, now time.Time) {
	if _, ok := r.entries[key]; !ok && len(r.entries) >= r.most {
		r.shrink(now)
	}
	r.entries[key] = entry[V]{value, until}
}

// Delete forgets a key.
func (r Map[V]) Delete(key string) { delete(r.entries, key) }

// Len is how many entries there are, ended ones included.
func (r Map[V]) Len() int { return len(r.entries) }

// shrink makes more room than for one entry, so that a full map is not gone
// through for each.
func (r Map[V]) shrink(now time.Time) {
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
