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
	keyFlushBatch = 500             // rows of one transaction, which locks them
	keyLastFlush  = 3 * time.Second // time-out of the flush at shutdown

	// keyUseIdle is the age at which no cache entry refers to a use any more:
	// the sweep has removed them all.
	keyUseIdle = keyIdleTTL + keyFlushEvery
)

// keyUse is when a key was last used in this process.
type keyUse struct {
	at       atomic.Int64 // Unix microseconds; 0 = not yet
	written  int64        // the value of the database
	assigned time.Time    // when a cache entry last got it
}

// keyUses collects the uses of keys between two writes to the database, so that
// a request writes nothing.
type keyUses struct {
	mu   sync.Mutex
	byID map[string]*keyUse
}

// of returns the use of a key, for a new cache entry to update.
func (u *keyUses) of(id string, now time.Time) *keyUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	use := u.byID[id]
	if use == nil {
		use = &keyUse{}
		u.byID[id] = use
	}
	use.assigned = now
	return use
}

// last returns when a key was last used here; 0 if that was long ago.
func (u *keyUses) last(id string) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if use := u.byID[id]; use != nil {
		return use.at.Load()
	}
	return 0
}

// unwritten lists the keys whose last use is not in the database yet, and
// removes idle keys whose last use is.
func (u *keyUses) unwritten(now time.Time) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var ids []string
	for id, use := range u.byID {
		switch {
		case use.at.Load() > use.written:
			ids = append(ids, id)
		case now.Sub(use.assigned) > keyUseIdle && now.Sub(time.UnixMicro(use.at.Load())) > keyUseIdle:
			delete(u.byID, id)
		}
	}
	slices.Sort(ids) // replicas lock the same rows in the same order
	return ids
}

func (u *keyUses) markWritten(times map[string]int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range times {
		if use := u.byID[id]; use != nil {
			use.written = at
		}
	}
}

// flush writes when keys were last used. The next flush repeats what failed.
func (k *Keys) flush(ctx context.Context) error {
	for ids := range slices.Chunk(k.uses.unwritten(k.now()), keyFlushBatch) {
		times := make(map[string]int64, len(ids))
		for _, id := range ids {
			times[id] = k.uses.last(id)
		}
		if err := k.store.TouchKeys(ctx, times); err != nil {
			return fmt.Errorf("write when keys were last used: %w", err)
		}
		k.uses.markWritten(times)
	}
	return nil
}

// flushUses flushes regularly until ctx ends, and once more then.
func (k *Keys) flushUses(ctx context.Context) {
	tick := time.NewTicker(k.flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			k.cache.sweep(k.now()) // before the flush: see keyUseIdle
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
		k.log.Warn("cannot write when keys were last used; the next flush tries again", "error", err)
	}
}
