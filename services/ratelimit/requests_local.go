package ratelimit

import (
	"sync"
	"time"

	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// localLimit counts in this process, with the counters of ulule/limiter's memory
// store. The store itself is not used for two reasons (v3.11.2, 2026-11): its
// sweep may drop a counter that is just being counted on, and between two sweeps
// it grows with every address that an attacker comes from.
//
// Here counters live in two generations. One that is used moves to the young;
// when the young is a window old or full, it becomes the old, and the old is
// dropped with whatever has not been used since: all of it over, unless
// the young was full. So a flood of strange accounts costs bounded memory
// and pushes out nobody who keeps calling, and nothing needs to be swept.
type localLimit struct {
	window time.Duration
	most   int // accounts in a generation

	mu         sync.Mutex
	young, old *memory.CacheWrapper
	size       int // of young
	turned     time.Time
}

func newLocalLimit(window time.Duration, most int) *localLimit {
	return &localLimit{window: window, most: most, young: memory.NewCache(0), old: memory.NewCache(0), turned: time.Now()}
}

func (l *localLimit) take(account string) windowStanding {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.size >= l.most || now.Sub(l.turned) >= l.window {
		l.young, l.old, l.size, l.turned = memory.NewCache(0), l.young, 0, now
	}
	end := now.Add(l.window).UnixNano()
	place, ends := l.counter(account).Increment(1, end)
	if ends > end { // the machine's clock was set back: the caller must not wait for it to catch up
		fresh := new(memory.Counter)
		l.young.Store(account, fresh)
		place, ends = fresh.Increment(1, end)
	}
	return windowStanding{place: place, left: time.Duration(ends - now.UnixNano())}
}

// counter is the account's counter, in the young generation from now on. The
// zero counter is one whose window is over.
func (l *localLimit) counter(account string) *memory.Counter {
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
