package idp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisPatience bounds what a Redis that is gone adds to a login.
const redisPatience = 250 * time.Millisecond

// used remembers the states of finished logins for as long as their cookies
// would open. Without Redis a state can be used once per replica; the code that
// comes with it the provider still takes only once.
type used struct {
	redis *redis.Client
	now   func() time.Time

	mu     sync.Mutex
	states map[secret]time.Time // until when to remember; keyed by hash
	sweep  time.Time            // when to forget next
}

func newUsed(client *redis.Client, now func() time.Time) *used {
	return &used{redis: client, now: now, states: map[secret]time.Time{}}
}

// first says whether a state comes for the first time.
func (u *used) first(ctx context.Context, state secret, until time.Time) bool {
	hash := secret(sha256.Sum256(state[:]))
	return u.firstHere(hash, until) && u.firstAnywhere(ctx, hash, until)
}

func (u *used) firstHere(hash secret, until time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	if now.After(u.sweep) {
		for old, end := range u.states {
			if now.After(end) {
				delete(u.states, old)
			}
		}
		u.sweep = now.Add(CookieMaxAge)
	}
	_, known := u.states[hash]
	u.states[hash] = until.Add(clockSkew)
	return !known
}

func (u *used) firstAnywhere(ctx context.Context, hash secret, until time.Time) bool {
	if u.redis == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	err := u.redis.SetArgs(ctx, "mgw:idp:used:"+hex.EncodeToString(hash[:]), "1", redis.SetArgs{
		Mode: "NX", TTL: until.Sub(u.now()) + clockSkew,
	}).Err()
	return !errors.Is(err, redis.Nil) // any other error: Redis is gone, and logins go on without
}
