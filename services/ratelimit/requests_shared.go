package ratelimit

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	store "github.com/ulule/limiter/v3/drivers/store/redis"

	"modelgateway/models"
)

const (
	// requestPrefix precedes the name of a limit in its keys, as Redis may serve
	// other programs too.
	requestPrefix = "mgw:limit:"
	// requestPause is how long Redis is left alone after it failed.
	requestPause = time.Second
)

// errNoStore never happens with a client of models.OpenRedis.
var errNoStore = errors.New("this client of Redis lacks commands of the store of the limits")

// sharedRequests counts for all replicas, with ulule/limiter's Redis store.
type sharedRequests struct {
	store   limiter.Store
	rate    limiter.Rate
	batches *batcher[*windowStatus]
}

func newSharedRequests(opts RequestOptions, window time.Duration) (*sharedRequests, error) {
	within := models.RedisWithin(opts.Redis, redisTimeout)
	commands, ok := within.(store.Client)
	if !ok {
		return nil, errNoStore
	}
	client := &storeClient{Client: commands, redis: within, window: window, scripts: map[string]*redis.Script{}}
	counters, err := store.NewStoreWithOptions(client, limiter.StoreOptions{Prefix: requestPrefix + opts.Name})
	if err != nil {
		return nil, err
	}
	s := &sharedRequests{
		store: counters,
		// The store only counts. If it also decided, it would say of a batch no more
		// than that the last request is over the limit.
		rate: limiter.Rate{Period: window, Limit: math.MaxInt64},
	}
	s.batches = newBatcher(opts.Name, requestPause, opts.Log, s.prepare)
	return s, nil
}

// count counts a request. It returns false when Redis is unavailable.
func (s *sharedRequests) count(ctx context.Context, account string) (windowStatus, bool) {
	var status windowStatus
	ok := s.batches.do(ctx, account, &status)
	return status, ok
}

// prepare counts a batch of requests in one step.
func (s *sharedRequests) prepare(account string, requests []*windowStatus) (send func(context.Context) error, finish func(error)) {
	var state limiter.Context
	n := int64(len(requests))
	send = func(ctx context.Context) (err error) {
		state, err = s.store.Increment(ctx, account, n, s.rate)
		return err
	}
	return send, func(err error) {
		if err != nil {
			return
		}
		// The store rounds the end down to seconds. A client must not come back before it.
		left := time.Until(time.Unix(state.Reset+1, 0))
		left = min(max(left, 0), s.rate.Period)
		before := s.rate.Limit - state.Remaining - n
		for i, request := range requests {
			*request = windowStatus{count: before + int64(i) + 1, left: left}
		}
	}
}
