package auth

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	flushEvery = 10 * time.Second
	flushBatch = 500             // rows of one transaction, which locks them
	lastFlush  = 3 * time.Second // time-out of the flush at shutdown

	// useIdle is the age at which no cache entry that is in force refers to a use
	// any more: the sweep has removed those of keys, and those of users are
	// queried again after keyIdleTTL.
	useIdle = keyIdleTTL + flushEvery
)

// lastUse is when a key or a user's token was last used in this process.
type lastUse struct {
	at       atomic.Int64 // Unix microseconds; 0 = not yet
	written  int64        // the value of the database
	assigned time.Time    // when a cache entry last got it
}

// lastUses collects uses between two writes to the database, so that a request
// writes nothing.
type lastUses struct {
	mu   sync.Mutex
	byID map[string]*lastUse
}

// of returns the use of a key or a user, for a new cache entry to update.
func (u *lastUses) of(id string, now time.Time) *lastUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	use := u.byID[id]
	if use == nil {
		use = &lastUse{}
		u.byID[id] = use
	}
	use.assigned = now
	return use
}

// last returns when a key or a user's token was last used here; 0 if that was long
// ago.
func (u *lastUses) last(id string) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if use := u.byID[id]; use != nil {
		return use.at.Load()
	}
	return 0
}

// unwritten lists the ids whose last use is not in the database yet, and removes idle
// ones whose last use is.
func (u *lastUses) unwritten(now time.Time) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var ids []string
	for id, use := range u.byID {
		switch {
		case use.at.Load() > use.written:
			ids = append(ids, id)
		case now.Sub(use.assigned) > useIdle && now.Sub(time.UnixMicro(use.at.Load())) > useIdle:
			delete(u.byID, id)
		}
	}
	slices.Sort(ids) // replicas lock the same rows in the same order
	return ids
}

func (u *lastUses) markWritten(times map[string]int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range times {
		if use := u.byID[id]; use != nil {
			use.written = at
		}
	}
}

// flush writes the last uses. The next flush repeats what failed.
func (u *lastUses) flush(ctx context.Context, now time.Time, write func(context.Context, map[string]int64) error) error {
	for ids := range slices.Chunk(u.unwritten(now), flushBatch) {
		times := make(map[string]int64, len(ids))
		for _, id := range ids {
			times[id] = u.last(id)
		}
		if err := write(ctx, times); err != nil {
			return err
		}
		u.markWritten(times)
	}
	return nil
}

// repeat calls flush regularly until ctx ends, and once more then.
func repeat(ctx context.Context, every time.Duration, flush func(context.Context)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			flush(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			flush(last)
			return
		}
	}
}

// flush writes when keys were last used.
func (k *Keys) flush(ctx context.Context) error { return k.uses.flush(ctx, k.now(), k.store.TouchKeys) }

func (k *Keys) flushOrLog(ctx context.Context) {
	k.cache.sweep(k.now()) // before the flush: see useIdle
	if err := k.flush(ctx); err != nil && ctx.Err() == nil {
		k.log.Warn("the times of last use of keys could not be written: the gateway tries again", "error", err)
	}
}

// Run writes when tokens of users were last used, until ctx ends and for the last time
// then.
func (t *Tokens) Run(ctx context.Context) { repeat(ctx, flushEvery, t.flushOrLog) }

func (t *Tokens) flushOrLog(ctx context.Context) {
	if err := t.uses.flush(ctx, t.now(), t.store.TouchUsers); err != nil && ctx.Err() == nil {
		t.log.Warn("the times of last use of tokens could not be written: the gateway tries again", "error", err)
	}
}
