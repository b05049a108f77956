package auth

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/models"
)

// invalidationChannel carries the hashes of revoked and changed keys from the
// replica that changed them to all replicas. A lost message only delays: an
// entry that is not true any more is used for less than a second anyway.
const invalidationChannel = "mgw:keys:revoked"

const (
	subscriptionSilence  = 3 * time.Second // then a ping tests the connection
	subscriptionRetry    = 50 * time.Millisecond
	subscriptionRetryMax = 2 * time.Second
)

// publishInvalidation tells all replicas of a revoked or changed key.
func (k *Keys) publishInvalidation(ctx context.Context, keyID, hash string) {
	if k.redis == nil {
		return
	}
	if err := k.redis.Publish(ctx, invalidationChannel, hash).Err(); err != nil {
		k.log.Warn("cannot publish a revoked or changed key to Redis: other replicas notice the change within a second",
			"key", keyID, "error", err)
	}
}

// subscribe invalidates the keys that other replicas revoke or change, until ctx
// ends. It reconnects as often as necessary.
func (k *Keys) subscribe(ctx context.Context) {
	down := false // and logged
	for wait := subscriptionRetry; ctx.Err() == nil; wait = min(2*wait, subscriptionRetryMax) {
		err := k.receive(ctx, func() {
			wait = subscriptionRetry
			if down {
				k.log.Info("subscribed to Redis again: revoked keys are invalidated at once")
			}
			down = false
		})
		if ctx.Err() == nil && !down {
			down = true
			k.log.Warn("no subscription to Redis: keys revoked on other replicas work here for up to a second", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// receive reads messages from one connection until it fails. It calls
// subscribed when Redis has confirmed the subscription.
func (k *Keys) receive(ctx context.Context, subscribed func()) error {
	subscription, err := models.Subscribe(ctx, k.redis, invalidationChannel)
	if err != nil {
		return err
	}
	defer func() { _ = subscription.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() }) // a Receive that waits does not watch ctx
	defer stop()
	for pinged := false; ; {
		message, err := subscription.ReceiveTimeout(ctx, subscriptionSilence)
		if isTimeout(err) && !pinged {
			pinged = true
			err = subscription.Ping(ctx)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("receive from Redis: %w", err)
		}
		pinged = false
		switch m := message.(type) {
		case *redis.Subscription:
			subscribed()
		case *redis.Message:
			k.onInvalidation(m.Payload)
		}
	}
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// onInvalidation removes a key from the cache; a payload that is no hash is ignored.
func (k *Keys) onInvalidation(hash string) {
	var d digest
	hash = strings.TrimPrefix(hash, models.LiteLLMHash) // no two kinds of credentials have the same digest
	if len(hash) != hex.EncodedLen(len(d)) {
		return
	}
	if _, err := hex.Decode(d[:], []byte(hash)); err != nil {
		return
	}
	k.cache.invalidate(d)
}
