package models

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// OpenRedis reads a redis:// or rediss:// address. It waits for no server. A
// frozen one costs a call at most a tenth of a second, rather than the twenty
// seconds of the client's defaults.
func OpenRedis(address string) (*redis.Client, error) {
	opts, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("redis address: %w", err)
	}
	const patience = 100 * time.Millisecond
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = patience, patience, patience
	opts.PoolTimeout = patience * 3 / 2
	opts.MaxRetries, opts.DialerRetries = -1, 1
	opts.ContextTimeoutEnabled = true
	return redis.NewClient(opts), nil
}
