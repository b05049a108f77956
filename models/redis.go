package models

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// OpenRedis takes a redis:// or rediss:// address. It does not connect. A server
// that hangs delays a call by a tenth of a second, or by 0.15 s where the call
// waits for a connection of the pool; with the client's defaults it would be
// twenty seconds.
func OpenRedis(address string) (*redis.Client, error) {
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
