package auth

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	keyFlushEvery = 10 * time.Second
	keyFlushBatch = 500             // what one transaction may hold up
	keyLastFlush  = 3 * time.Second // for what is left when the gateway stops

	// keyIdle is when no finding notes in a use any more, as all were swept.
	keyIdle = keyMemory + keyFlushEvery
)

// keyUse is when a key was last used here, in Unix microseconds; 0 = not yet.
type keyUse struct {
	at      atomic.Int64
	written int64     // what the database has
	handed  time.Time // when it was last given to a finding
}

// keyUses remembers uses of keys between two writes to the database: a
// request costs no write.
type keyUses struct {
	mu   sync.Mutex
	byID map[string]*keyUse
}

// of is the use of a key, to be noted in for as long as the finding is kept.
func (u *keyUses) of(id string, now time.Time) *keyUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	use := u.byID[id]
	if use == nil {
		use = &keyUse{}
		u.byID[id] = use
	}
	use.handed = now
	return use
}

// last is when a key was last used here; 0 when that was long ago.
func (u *keyUses) last(id string) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if use := u.byID[id]; use != nil {
		return use.at.Load()
	}
	return 0
}

// unwritten lists the keys whose last use the database does not have, and
// forgets those of which it has all.
func (u *keyUses) unwritten(now time.Time) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var ids []string
	for id, use := range u.byID {
		switch {
		case use.at.Load() > use.written:
			ids = append(ids, id)
		case now.Sub(use.handed) > keyIdle && now.Sub(time.UnixMicro(use.at.Load())) > keyIdle:
			delete(u.byID, id)
		}
	}
	slices.Sort(ids) // replicas that write the same keys do it in the same order
	return ids
}

func (u *keyUses) write(times map[string]int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range times {
		if use := u.byID[id]; use != nil {
			use.written = at
		}
	}
}

// flush writes when keys were last used. What could not be written stays for
// the next time.
func (k *Keys) flush(ctx context.Context) error {
	for ids := range slices.Chunk(k.uses.unwritten(k.now()), keyFlushBatch) {
		times := make(map[string]int64, len(ids))
		for _, id := range ids {
			times[id] = k.uses.last(id)
		}
		if err := k.store.TouchKeys(ctx, times); err != nil {
			return fmt.Errorf("note when keys were last used: %w", err)
		}
		k.uses.write(times)
	}
	return nil
}

// keepUses flushes until ctx ends, and once more then.
func (k *Keys) keepUses(ctx context.Context) {
	tick := time.NewTicker(k.flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			k.cache.sweep(k.now()) // first: see keyIdle
			k.flushOrLog(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyLastFlush)
			defer cancel()
			k.flushOrLog(last)
			return
		}
	}
}

func (k *Keys) flushOrLog(ctx context.Context) {
	if err := k.flush(ctx); err != nil && ctx.Err() == nil {
		k.log.Warn("keys' last uses are not written", "error", err)
	}
}
