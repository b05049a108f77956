package ratelimit

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	store "github.com/ulule/limiter/v3/drivers/store/redis"

	"modelgateway/models"
)

// storeClient stands between ulule/limiter's store and Redis. It corrects three
// faults of the store (v3.11.2, 2026-11): the store cannot be made while Redis is
// away; after SCRIPT FLUSH all its callers queue to load the scripts again; and
// a counter that has lost its time to live refuses its account for ever.
type storeClient struct {
	store.Client // what the store calls
	redis        models.Redis
	window       time.Duration
	scripts      map[string]*redis.Script // by their hash; fixed once the store is made
}

// ScriptLoad only keeps the script: EvalSha sends it when Redis does not know it.
func (c *storeClient) ScriptLoad(ctx context.Context, text string) *redis.StringCmd {
	script := redis.NewScript(text)
	c.scripts[script.Hash()] = script
	cmd := redis.NewStringCmd(ctx)
	cmd.SetVal(script.Hash())
	return cmd
}

// EvalSha runs a script of the store, which answers with a count and the
// milliseconds that are left of the window.
func (c *storeClient) EvalSha(ctx context.Context, hash string, keys []string, args ...any) *redis.Cmd {
	cmd := c.scripts[hash].Run(ctx, c.redis, keys, args...)
	answer, err := cmd.Slice()
	if err != nil || len(answer) != 2 {
		return cmd // the store reports what is wrong with it
	}
	left, ok := answer[1].(int64)
	switch {
	case !ok:
		return cmd
	case left == 0: // the last millisecond, which the store takes for a new window
		left = 1
	case left < 0 || left > c.window.Milliseconds(): // without an end, or with one that a change of the clock has moved
		if err := c.redis.PExpire(ctx, keys[0], c.window).Err(); err != nil {
			cmd.SetErr(err)
			return cmd
		}
		left = c.window.Milliseconds()
	}
	cmd.SetVal([]any{answer[0], left})
	return cmd
}
