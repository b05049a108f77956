package auth

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// keyNewsChannel carries the hashes of revoked and changed keys from the replica
// that did it to all. A lost message costs time only: a finding that is no
// longer true is believed for less than a second anyway.
const keyNewsChannel = "mgw:keys:revoked"

const (
	keyNewsSilence = 3 * time.Second // before the connection is tried with a ping
	keyNewsPause   = 50 * time.Millisecond
	keyNewsLongest = 2 * time.Second
)

// announce tells all replicas of a revoked or changed key.
func (k *Keys) announce(ctx context.Context, keyID, hash string) {
	if k.redis == nil {
		return
	}
	if err := k.redis.Publish(ctx, keyNewsChannel, hash).Err(); err != nil {
		k.log.Warn("a revocation or change could not be announced: other replicas find out within a second", "key_id", keyID, "error", err)
	}
}

// listen drops the keys that other replicas revoke or change until ctx ends, through
// however many connections that takes.
func (k *Keys) listen(ctx context.Context) {
	silent := false // nobody tells us, and the log says so
	for wait := keyNewsPause; ctx.Err() == nil; wait = min(2*wait, keyNewsLongest) {
		err := k.follow(ctx, func() {
			wait = keyNewsPause
			if silent {
				k.log.Info("revoked keys are announced again")
			}
			silent = false
		})
		if ctx.Err() == nil && !silent {
			silent = true
			k.log.Warn("no news of revoked keys: they are found out within a second", "error", err)
		}
		pause(ctx, wait)
	}
}

// follow reads the news from one connection until it fails. It calls begun
// when Redis has confirmed the subscription.
func (k *Keys) follow(ctx context.Context, begun func()) error {
	news := k.redis.Subscribe(ctx, keyNewsChannel)
	defer func() { _ = news.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = news.Close() }) // a waiting Receive sees no context
	defer stop()
	for asked := false; ; {
		message, err := news.ReceiveTimeout(ctx, keyNewsSilence)
		if quiet(err) && !asked {
			asked = true
			err = news.Ping(ctx)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("listen to Redis: %w", err)
		}
		asked = false
		switch m := message.(type) {
		case *redis.Subscription:
			begun()
		case *redis.Message:
			k.heard(m.Payload)
		}
	}
}

func quiet(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

func (k *Keys) heard(hash string) {
	var d digest
	if len(hash) != hex.EncodedLen(len(d)) {
		return
	}
	if _, err := hex.Decode(d[:], []byte(hash)); err != nil {
		return
	}
	k.cache.drop(d)
}
