package models

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is what the gateway uses of go-redis's client. The packages that hold one name this
// interface and not the client: its struct has a weak pointer to itself, for which the compiler
// makes 1,500 methods again in every package that sees it, three seconds each.
type Redis interface {
	redis.Scripter
	PExpire(ctx context.Context, key string, expiration time.Duration) *redis.BoolCmd
	Ping(ctx context.Context) *redis.StatusCmd
	Publish(ctx context.Context, channel string, message any) *redis.IntCmd
	SetArgs(ctx context.Context, key string, value any, a redis.SetArgs) *redis.StatusCmd
	TxPipeline() redis.Pipeliner
	ZRem(ctx context.Context, key string, members ...any) *redis.IntCmd
	Close() error
}

// Subscription is a connection on which Redis sends the messages of a channel.
type Subscription interface {
	ReceiveTimeout(ctx context.Context, timeout time.Duration) (any, error) // a *redis.Subscription, *redis.Message or *redis.Pong
	Ping(ctx context.Context, payload ...string) error
	Close() error
}

// errNoSubscriptions never happens with a client of OpenRedis.
var errNoSubscriptions = errors.New("this client of Redis cannot subscribe")

// Subscribe returns the subscription to a channel, which the caller closes.
func Subscribe(ctx context.Context, client Redis, channel string) (Subscription, error) {
	subscriber, ok := client.(interface {
		Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	})
	if !ok {
		return nil, errNoSubscriptions
	}
	return subscriber.Subscribe(ctx, channel), nil
}

// RedisWithin returns the client with another bound of a command's time.
func RedisWithin(client Redis, timeout time.Duration) Redis {
	if c, ok := client.(*redis.Client); ok {
		return c.WithTimeout(timeout)
	}
	return client
}

// OpenRedis takes a redis:// or rediss:// address. It does not connect. A server
// that hangs delays a call by a tenth of a second, or by 0.15 s where the call
// waits for a connection of the pool; with the client's defaults it would be
// twenty seconds.
func OpenRedis(address string) (Redis, error) {
	opts, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("redis address: %w", err)
	}
	const timeout = 100 * time.Millisecond
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = timeout, timeout, timeout
	opts.PoolTimeout = timeout * 3 / 2
	opts.MaxRetries, opts.DialerRetries = -1, 1
	opts.ContextTimeoutEnabled = true
	return redis.NewClient(opts), nil
}
