package auth

import (
	"sync"
	"sync/atomic"
	"time"

	"modelgateway/models"
)

const (
	// keyLife is how long what the database said about a key or a user is
	// believed, counted from before it was asked, or from when Revisions last
	// proved that it is still so. It bounds how long a key outlives its
	// revocation, or its user, where no news of it comes: a second, less what
	// an answer takes.
	keyLife = 900 * time.Millisecond

	// keyMemory is how long a key counts as known after it was last used.
	keyMemory = time.Minute

	// Unknown keys have room of their own: a flood of them pushes no good one out.
	cachedKeys    = 100_000
	cachedUnknown = 10_000

	keyShards = 64 // so that requests on many processors do not queue for one lock
)

// finding is what the database said about a key. It does not change, and is
// shared by all who use the key.
type finding struct {
	key   *models.Key // nil when the key opens nothing
	use   *keyUse     // nil with key
	asked time.Time   // before the database was

	// revision was known before the database was asked; 0 without key: what
	// opens nothing may be there a moment later, and that does not count.
	revision int64

	refreshing atomic.Bool // somebody asks again already
}

// lastUse is when the key was last wanted, as far as anybody noted it.
func (f *finding) lastUse() time.Time {
	if f.use == nil {
		return f.asked
	}
	if at := time.UnixMicro(f.use.at.Load()); at.After(f.asked) {
		return at
	}
	return f.asked
}

// flight is one question to the database, with all who wait for its answer.
type flight struct {
	known bool // the key was good lately
	done  chan struct{}
	found *finding // after done, unless err
	err   error
}

// keyCache holds findings by digest.
type keyCache struct {
	revisions *Revisions
	shards    [keyShards]keyShard
}

// keyShard is a part of the cache. A finding is kept only by a flight that is
// still listed: who drops a key takes its flight off the list, so that an
// answer from before a revocation never comes in after it.
type keyShard struct {
	mu      sync.RWMutex
	good    map[digest]*finding
	refused map[digest]*finding
	flights map[digest]*flight
}

func newKeyCache(revisions *Revisions) *keyCache {
	c := &keyCache{revisions: revisions}
	for i := range c.shards {
		c.shards[i].good = map[digest]*finding{}
		c.shards[i].refused = map[digest]*finding{}
		c.shards[i].flights = map[digest]*flight{}
	}
	return c
}

func (c *keyCache) shard(d digest) *keyShard { return &c.shards[d[0]%keyShards] }

// goodAt is when a finding was last known to be right.
func (c *keyCache) goodAt(f *finding) time.Time { return c.revisions.goodAt(f.asked, f.revision) }

func (c *keyCache) believed(f *finding, now time.Time) bool { return now.Sub(c.goodAt(f)) < keyLife }

// find is what is believed about a key now, or nil.
func (c *keyCache) find(d digest, now time.Time) *finding {
	s := c.shard(d)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if f := s.latest(d); f != nil && c.believed(f, now) {
		return f
	}
	return nil
}

// latest is what was last found, however long ago. The shard is locked.
func (s *keyShard) latest(d digest) *finding {
	if f := s.good[d]; f != nil {
		return f
	}
	return s.refused[d]
}

// board joins the flight for a key, or starts one, which the caller then leads
// and must land. Whoever finds an answer that was good after since needs
// neither.
func (c *keyCache) board(d digest, since time.Time) (f *flight, leads bool) {
	s := c.shard(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flights[d]; f != nil {
		return f, false
	}
	f = &flight{known: s.good[d] != nil, done: make(chan struct{})}
	if found := s.latest(d); found != nil && c.goodAt(found).After(since) {
		f.found = found
		close(f.done)
		return f, false
	}
	s.flights[d] = f
	return f, true
}

// land ends a flight and keeps what it found, unless the key was dropped on
// the way.
func (c *keyCache) land(d digest, f *flight) {
	s := c.shard(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(f.done)
	if s.flights[d] != f {
		return
	}
	delete(s.flights, d)
	if f.err != nil {
		return // what was found before is believed as long as it would have been
	}
	into, other, room := s.good, s.refused, cachedKeys/keyShards
	if f.found.key == nil {
		into, other, room = s.refused, s.good, cachedUnknown/keyShards
	}
	delete(other, d)
	if _, held := into[d]; !held && len(into) >= room {
		evict(into)
	}
	into[d] = f.found
}

// evict makes room: of a few, whichever the map gives first, the one goes that
// was not used for longest.
func evict(findings map[digest]*finding) {
	const few = 8
	var oldest digest
	var at time.Time
	seen := 0
	for d, f := range findings {
		if used := f.lastUse(); seen == 0 || used.Before(at) {
			oldest, at = d, used
		}
		if seen++; seen == few {
			break
		}
	}
	delete(findings, oldest)
}

// drop forgets a key, and what is about to be found out about it.
func (c *keyCache) drop(d digest) {
	s := c.shard(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.good, d)
	delete(s.refused, d)
	delete(s.flights, d)
}

// sweep forgets what nobody has used lately.
func (c *keyCache) sweep(now time.Time) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for d, f := range s.good {
			if now.Sub(f.lastUse()) > keyMemory {
				delete(s.good, d)
			}
		}
		for d, f := range s.refused {
			if !c.believed(f, now) {
				delete(s.refused, d)
			}
		}
		s.mu.Unlock()
	}
}

// Remembered is how many keys need no database to be known, good ones and such
// as open nothing.
func (k *Keys) Remembered() (n int) {
	for i := range k.cache.shards {
		s := &k.cache.shards[i]
		s.mu.RLock()
		n += len(s.good) + len(s.refused)
		s.mu.RUnlock()
	}
	return n
}
