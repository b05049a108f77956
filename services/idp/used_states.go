package idp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/models"
)

// redisTimeout bounds the delay of a login while Redis is down.
const redisTimeout = 250 * time.Millisecond

// usedStates keeps the states of finished logins until their cookies expire.
// Without Redis a state can be used once per replica; the provider still accepts
// the code that comes with it only once.
type usedStates struct {
	redis models.Redis
	now   func() time.Time

	mu     sync.Mutex
	states map[secret]time.Time // when each is removed; keyed by hash
	sweep  time.Time            // when to remove expired ones next
}

func newUsedStates(client models.Redis, now func() time.Time) *usedStates {
	return &usedStates{redis: client, now: now, states: map[secret]time.Time{}}
}

// first reports whether a state is used for the first time, and marks it as used.
func (u *usedStates) first(ctx context.Context, state secret, until time.Time) bool {
	hash := secret(sha256.Sum256(state[:]))
	return u.firstHere(hash, until) && u.firstAnywhere(ctx, hash, until)
}

func (u *usedStates) firstHere(hash secret, until time.Time) bool {
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

func (u *usedStates) firstAnywhere(ctx context.Context, hash secret, until time.Time) bool {
	if u.redis == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	err := u.redis.SetArgs(ctx, "mgw:idp:used:"+hex.EncodeToString(hash[:]), "1", redis.SetArgs{
		Mode: "NX", TTL: until.Sub(u.now()) + clockSkew,
	}).Err()
	return !errors.Is(err, redis.Nil) // any other error: Redis is down, and logins continue
}
