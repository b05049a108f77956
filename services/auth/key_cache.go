package auth

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

const (
	// keyTTL is how long an answer of the database about a key or a user is
	// fresh. It counts from before the query, or from the last poll of Revisions
	// that proved that nothing has changed. It bounds how long a revoked key
	// works where no invalidation arrives: a second, less the time of a query.
	keyTTL = 900 * time.Millisecond

	// keyIdleTTL is how long an unused entry stays in the cache.
	keyIdleTTL = time.Minute

	// Rejected keys have a cache of their own: a flood of them evicts no valid key.
	cachedKeys     = 100_000
	cachedRejected = 10_000
)

// cacheEntry is the database's answer about a key. Only use changes; all requests with the key
// share the entry.
type cacheEntry struct {
	caller    *Caller   // nil: the key is rejected
	rejected  *Caller   // whose the rejected key is; nil for a key that is unknown
	use       *lastUse  // nil for a rejected key
	until     int64     // Unix microseconds, when the secret ends; 0 unless it was rotated
	queriedAt time.Time // before the query was sent

	// revision was current before the query was sent. It is 0 for a rejected
	// key: a row that is added later does not change the revision.
	revision int64
}

// lastUse returns when the key was last used, or else queried.
func (e *cacheEntry) lastUse() time.Time {
	if e.use == nil {
		return e.queriedAt
	}
	if at := time.UnixMicro(e.use.at.Load()); at.After(e.queriedAt) {
		return at
	}
	return e.queriedAt
}

// keyCache holds entries by digest, and the look-ups that are running.
type keyCache struct {
	revisions *Revisions
	valid     *lru.Cache[digest, *cacheEntry]
	rejected  *lru.Cache[digest, *cacheEntry]
	group     singleflight.Group

	// running tells finish whether the key was invalidated since its look-up
	// began: singleflight's Forget does not tell the function that runs. The
	// mutex makes that check and the write to the cache one step; reads do not
	// take it.
	mu      sync.Mutex
	running map[digest]uint64 // the number of the look-up
	begun   uint64            // look-ups, since the start
}

func newKeyCache(revisions *Revisions) *keyCache {
	c := &keyCache{revisions: revisions, running: map[digest]uint64{}}
	c.valid, _ = lru.New[digest, *cacheEntry](cachedKeys) // fails only for a size of 0 or less
	c.rejected, _ = lru.New[digest, *cacheEntry](cachedRejected)
	return c
}

// validatedAt returns when an entry was last known to be true.
func (c *keyCache) validatedAt(e *cacheEntry) time.Time {
	return c.revisions.validatedAt(e.queriedAt, e.revision)
}

func (c *keyCache) fresh(e *cacheEntry, now time.Time) bool {
	return now.Sub(c.validatedAt(e)) < keyTTL
}

// find returns the fresh entry of a key, or nil.
func (c *keyCache) find(d digest, now time.Time) *cacheEntry {
	if e := c.get(d); e != nil && c.fresh(e, now) {
		return e
	}
	return nil
}

// get returns the entry of a key, fresh or stale, or nil.
func (c *keyCache) get(d digest) *cacheEntry {
	if e, ok := c.valid.Get(d); ok {
		return e
	}
	e, _ := c.rejected.Get(d)
	return e
}

// begin registers a look-up and returns its number. The look-up must end with finish.
func (c *keyCache) begin(d digest) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	c.running[d] = c.begun
	return c.begun
}

// finish ends a look-up and caches its entry, unless the key was invalidated
// since begin: the answer may be older than the change. A look-up that failed
// passes nil, and the former entry stays.
func (c *keyCache) finish(d digest, number uint64, e *cacheEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[d] != number {
		return
	}
	delete(c.running, d)
	switch {
	case e == nil:
	case e.caller == nil:
		c.valid.Remove(d)
		c.rejected.Add(d, e)
	default:
		c.rejected.Remove(d)
		c.valid.Add(d, e)
	}
}

// invalidate removes a key. A look-up that is running answers the requests
// that wait for it already, but later ones start another.
func (c *keyCache) invalidate(d digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.valid.Remove(d)
	c.rejected.Remove(d)
	delete(c.running, d)
	c.group.Forget(string(d[:]))
}

// sweep removes valid keys that were not used lately and rejected ones that are
// stale. Both caches are in the order of use, so it stops at the first to keep.
func (c *keyCache) sweep(now time.Time) {
	removeOldest(c.valid, func(e *cacheEntry) bool { return now.Sub(e.lastUse()) > keyIdleTTL })
	removeOldest(c.rejected, func(e *cacheEntry) bool { return !c.fresh(e, now) })
}

func removeOldest(cache *lru.Cache[digest, *cacheEntry], obsolete func(*cacheEntry) bool) {
	for {
		d, e, ok := cache.GetOldest()
		if !ok || !obsolete(e) {
			return
		}
		cache.Remove(d)
	}
}

// CacheSize returns the number of cached keys, valid and rejected ones.
func (k *Keys) CacheSize() int { return k.cache.valid.Len() + k.cache.rejected.Len() }
