package account

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/redis/go-redis/v9"

	"modelgateway/models"
)

// tally is the count of a window, and the time until it ends.
type tally struct {
	count int64
	left  time.Duration
}

// more is the one of two tallies with the higher count.
func (t tally) more(other tally) tally {
	if other.count > t.count {
		return other
	}
	return t
}

// counters counts in this process. Their number is bounded: the counter that was
// not used for the longest time is dropped first.
type counters struct {
	window time.Duration
	now    func() time.Time

	mu     sync.Mutex
	recent *simplelru.LRU[string, counter]
}

type counter struct {
	count int64
	ends  time.Time
}

func newCounters(window time.Duration, now func() time.Time) *counters {
	recent, _ := simplelru.NewLRU[string, counter](mostCounted, nil) // fails only for a size of 0 or less
	return &counters{window: window, now: now, recent: recent}
}

func (c *counters) get(key string) tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.recent.Get(key)
	left := k.ends.Sub(c.now())
	if !ok || left <= 0 {
		return tally{}
	}
	return tally{count: k.count, left: left}
}

func (c *counters) add(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	k, ok := c.recent.Get(key)
	if !ok || !now.Before(k.ends) {
		k = counter{ends: now.Add(c.window)}
	}
	k.count++
	c.recent.Add(key, k)
}

func (c *counters) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent.Remove(key)
}

// redisPause is how long Redis is not asked after it has failed: a login then
// counts in this process only.
const redisPause = time.Second

// sharedFailures counts for all replicas.
type sharedFailures struct {
	redis models.Redis
	now   func() time.Time
	until atomic.Int64 // Unix nanoseconds of the end of the pause
}

// state is what Redis knows of an attempt.
type state struct {
	pair, account tally
	known         bool
}

func failedKey(hash string) string { return "mgw:login:failed:" + hash }
func knownKey(hash string) string  { return "mgw:login:known:" + hash }

// get returns false when Redis is unavailable.
func (s *sharedFailures) get(ctx context.Context, a attempt) (state, bool) {
	var pair, account *redis.StringCmd
	var pairLeft, accountLeft *redis.DurationCmd
	var known *redis.IntCmd
	ok := s.do(ctx, func(p redis.Pipeliner) {
		pair, pairLeft = p.Get(ctx, failedKey(a.pair())), p.PTTL(ctx, failedKey(a.pair()))
		account, accountLeft = p.Get(ctx, failedKey(a.account())), p.PTTL(ctx, failedKey(a.account()))
		known = p.Exists(ctx, knownKey(a.pair()))
	})
	if !ok {
		return state{}, false
	}
	return state{pair: read(pair, pairLeft), account: read(account, accountLeft), known: known.Val() == 1}, true
}

func read(count *redis.StringCmd, left *redis.DurationCmd) tally {
	n, err := count.Int64()
	if err != nil || left.Val() <= 0 {
		return tally{}
	}
	return tally{count: n, left: min(left.Val(), failureWindow)}
}

func (s *sharedFailures) add(ctx context.Context, a attempt) {
	s.do(ctx, func(p redis.Pipeliner) {
		for _, key := range []string{failedKey(a.pair()), failedKey(a.account())} {
			p.SetArgs(ctx, key, 0, redis.SetArgs{Mode: "NX", TTL: failureWindow}) // one step with its end, which Incr keeps
			p.Incr(ctx, key)
		}
	})
}

func (s *sharedFailures) succeeded(ctx context.Context, a attempt) {
	s.do(ctx, func(p redis.Pipeliner) {
		p.Del(ctx, failedKey(a.pair()))
		p.Set(ctx, knownKey(a.pair()), 1, knownFor)
	})
}

// do sends commands in one transaction, and reports whether Redis answered.
func (s *sharedFailures) do(ctx context.Context, commands func(redis.Pipeliner)) bool {
	if s.now().UnixNano() < s.until.Load() {
		return false
	}
	pipe := s.redis.TxPipeline()
	commands(pipe)
	all, err := pipe.Exec(ctx)
	for _, command := range all {
		if err = command.Err(); err != nil && !errors.Is(err, redis.Nil) {
			break
		}
		err = nil // redis.Nil: there is no such key, or there was one
	}
	if err != nil && ctx.Err() == nil {
		s.until.Store(s.now().Add(redisPause).UnixNano())
	}
	return err == nil
}
