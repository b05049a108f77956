package ratelimit

import (
	"sync"
	"time"

	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// localRequests counts in this process, with the counters of ulule/limiter's
// memory store. The store itself is not used for two reasons (v3.11.2, 2026-11):
// its sweep may drop a counter that is being incremented, and between two sweeps
// it grows with every address that an attacker uses.
//
// Here counters live in two generations. A counter that is used moves to the
// young generation. When the young generation is a window old, or full, it
// becomes the old one, and the former old one is dropped with all counters that
// were not used since. Their windows are over, unless the young generation was
// full. So a flood of unknown accounts costs bounded memory, does not evict the
// accounts that keep calling, and no sweep is needed.
type localRequests struct {
	window time.Duration
	most   int // accounts in a generation

	mu         sync.Mutex
	young, old *memory.CacheWrapper
	size       int       // of young
	rotated    time.Time // when young began
}

func newLocalRequests(window time.Duration, most int) *localRequests {
	return &localRequests{window: window, most: most, young: memory.NewCache(0), old: memory.NewCache(0), rotated: time.Now()}
}

// count counts a request.
func (l *localRequests) count(account string) windowStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.size >= l.most || now.Sub(l.rotated) >= l.window {
		l.young, l.old, l.size, l.rotated = memory.NewCache(0), l.young, 0, now
	}
	end := now.Add(l.window).UnixNano()
	count, ends := l.counter(account).Increment(1, end)
	if ends > end { // the machine's clock was set back: the caller must not wait until it has caught up
		fresh := new(memory.Counter)
		l.young.Store(account, fresh)
		count, ends = fresh.Increment(1, end)
	}
	return windowStatus{count: count, left: time.Duration(ends - now.UnixNano())}
}

// counter moves the account's counter to the young generation and returns it.
// The zero counter is one whose window is over.
func (l *localRequests) counter(account string) *memory.Counter {
	if c, ok := l.young.Load(account); ok {
		return c
	}
	c, ok := l.old.Load(account)
	if !ok {
		c = new(memory.Counter)
	}
	l.young.Store(account, c)
	l.size++
	return c
}
