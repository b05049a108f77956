package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	store "github.com/ulule/limiter/v3/drivers/store/redis"
)

const (
	// limitPrefix is before the name of a limit in its keys, as Redis may serve
	// others too.
	limitPrefix = "mgw:limit:"

	// A request waits for Redis for so many ticks: 40 ms, which stays below the 50 ms
	// that a Redis in trouble may cost. In a process that is short of processors the
	// ticks come late too, and the patience grows with them: otherwise a crowd of
	// requests would make its own Redis look dead just when the limit is needed.
	limitTick  = 5 * time.Millisecond
	limitTicks = 8

	// limitGivenUp is how long a call may go on that no request waits for any more.
	limitGivenUp = 500 * time.Millisecond
	// limitPause is how long Redis is left alone after it failed.
	limitPause = time.Second
)

var errLimitLate = errors.New("no answer from Redis in time")

// sharedLimit counts for all replicas, with ulule/limiter's Redis store.
//
// An account's requests travel together: those that come while one is under way
// wait for it and are counted in one go. However many come at once, they cost
// two round trips, so that neither Redis nor the pool of connections is what
// makes a crowd of them late.
type sharedLimit struct {
	name    string
	store   limiter.Store
	rate    limiter.Rate
	ticks   int // that a request waits
	breaker *breaker
	log     *slog.Logger

	mu     sync.Mutex
	latest map[string]*batch // of each account with requests under way
}

// batch is requests of one account that are counted together.
type batch struct {
	hits int64
	left bool // it is on its way: nobody can join any more

	done chan struct{}  // closed when what follows is set
	last windowStanding // of the last of them
	err  error
}

func newSharedLimit(opts RequestOptions, window time.Duration) (*sharedLimit, error) {
	client := &storeClient{Client: opts.Redis.WithTimeout(limitGivenUp), window: window, scripts: map[string]*redis.Script{}}
	counters, err := store.NewStoreWithOptions(client, limiter.StoreOptions{Prefix: limitPrefix + opts.Name})
	if err != nil {
		return nil, err
	}
	return &sharedLimit{
		name:  opts.Name,
		store: counters,
		// The store is to count, not to judge: it would say of a batch only that
		// its last request is too much.
		rate:    limiter.Rate{Period: window, Limit: math.MaxInt64},
		ticks:   limitTicks,
		breaker: &breaker{pause: limitPause, now: opts.Now},
		log:     opts.Log,
		latest:  map[string]*batch{},
	}, nil
}

// take counts a request; false means that Redis does not answer.
func (s *sharedLimit) take(ctx context.Context, account string) (windowStanding, bool) {
	if !s.breaker.ask() {
		return windowStanding{}, false
	}
	s.mu.Lock()
	b := s.latest[account]
	if b == nil || b.left {
		ahead := b
		b = &batch{hits: 1, done: make(chan struct{})}
		s.latest[account] = b
		s.mu.Unlock()
		s.finish(account, b, s.lead(ctx, account, b, ahead))
		return b.standing(1)
	}
	b.hits++
	seat := b.hits
	s.mu.Unlock()
	<-b.done // who leads it came before and waits no longer than this one may
	return b.standing(seat)
}

func (b *batch) standing(seat int64) (windowStanding, bool) {
	return windowStanding{place: b.last.place - b.hits + seat, left: b.last.left}, b.err == nil
}

// lead has the batch counted, after the one ahead of it, or gives up.
func (s *sharedLimit) lead(ctx context.Context, account string, b, ahead *batch) error {
	ticks := s.ticks
	if ahead != nil {
		if !within(&ticks, ahead.done) {
			return errLimitLate
		}
		if ahead.err != nil {
			return ahead.err
		}
	}
	s.mu.Lock()
	b.left = true
	s.mu.Unlock()
	// The client may leave; the others of the batch have not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limitGivenUp)
	var state limiter.Context
	var err error
	answered := make(chan struct{})
	go func() { // ends with its context
		defer cancel()
		defer close(answered)
		state, err = s.store.Increment(ctx, account, b.hits, s.rate)
	}()
	if !within(&ticks, answered) {
		return errLimitLate
	}
	if err != nil {
		return err
	}
	// The store cuts the end to whole seconds; nobody is to come back too early.
	left := time.Until(time.Unix(state.Reset+1, 0))
	b.last = windowStanding{place: s.rate.Limit - state.Remaining, left: min(max(left, 0), s.rate.Period)}
	return nil
}

// within says whether done is closed before the ticks are used up.
func within(ticks *int, done <-chan struct{}) bool {
	for ; *ticks > 0; *ticks-- {
		select {
		case <-done:
			return true
		case <-time.After(limitTick):
			// What a timer wakes overtakes what the network has woken; this queues up
			// behind it (runtime.Gosched of Go 1.26), so that an answer that is there is seen.
			runtime.Gosched()
		}
	}
	return false
}

func (s *sharedLimit) finish(account string, b *batch, err error) {
	b.err = err
	s.mu.Lock()
	b.left = true
	if s.latest[account] == b {
		delete(s.latest, account)
	}
	s.mu.Unlock()
	changed := s.breaker.heard(err)
	close(b.done)
	switch {
	case changed && err != nil:
		s.log.Warn("rate limit is counted by each replica", "limit", s.name, "error", err.Error()) // err itself prints a stack
	case changed:
		s.log.Info("rate limit is shared again", "limit", s.name)
	}
}
