// Package ratelimit holds accounts to their limits: of requests a minute, of
// tokens a minute and of calls at once. With Redis all replicas count together.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/models/api"
	"modelgateway/services/metrics"
)

const (
	limitWindow = time.Minute
	// limitAccounts is about how many accounts a process keeps apart; it may keep
	// twice as many, at some 250 bytes each.
	limitAccounts = 100_000
)

// RequestOptions are what a limit counts and where.
type RequestOptions struct {
	Name      string        // part of every counter's key, so that two limits never share a counter
	PerMinute int           // requests of an account that has no limit of its own; 0: any number
	Redis     *redis.Client // as models.OpenRedis makes it, counts for all replicas; nil: each process counts for itself
	Log       *slog.Logger
	Now       func() time.Time // times the pauses of Redis; the windows follow the machine's own clock
}

// Requests says who may make another request within the minute.
//
// The minute is ulule/limiter's fixed window: it begins with an account's first
// request and ends sixty seconds later, whatever came in between. Within a
// window exactly the limit passes, over all replicas together. Around
// its end up to twice as many may pass within sixty seconds: the last of one
// window and the first of the next.
//
// A request waits for Redis for 40 ms. While Redis is away each replica goes on by
// itself, with the same limit and with what it has itself seen of the window;
// one request a second tries Redis again. So up to the limit may pass on
// each replica while Redis is away, and as much once more when it comes back.
type Requests struct {
	perMinute int64
	local     *localLimit
	shared    *sharedLimit // nil without Redis
}

// RequestStanding is how an account stands after a request. The zero
// RequestStanding is that of an account without a limit.
type RequestStanding struct {
	Limit, Remaining int64
	Reset            time.Duration // until the window ends; up to a second too long where Redis counts
}

// limitName keeps a name from running into an account's.
var limitName = regexp.MustCompile(`^[a-z0-9-]+$`)

// NewRequests makes a limit. It waits for no Redis, and nothing of it needs to be
// closed.
func NewRequests(opts RequestOptions) (*Requests, error) {
	if !limitName.MatchString(opts.Name) {
		return nil, fmt.Errorf("limit %q: a name is of a-z, 0-9 and -", opts.Name)
	}
	if opts.PerMinute < 0 {
		return nil, fmt.Errorf("limit %s: %d requests a minute", opts.Name, opts.PerMinute)
	}
	if opts.Log == nil || opts.Now == nil {
		return nil, errors.New("limit " + opts.Name + ": it needs a log and a clock")
	}
	l := &Requests{perMinute: int64(opts.PerMinute), local: newLocalLimit(limitWindow, limitAccounts)}
	if opts.Redis == nil {
		return l, nil
	}
	shared, err := newSharedLimit(opts, limitWindow)
	if err != nil {
		return nil, fmt.Errorf("limit %s: %w", opts.Name, err)
	}
	l.shared = shared
	return l, nil
}

// Take counts a request of the account, whose own limit a minute stands in for
// the gateway's unless it is 0, and says how the account stands. Over the limit it
// also returns an *api.Error 429; it fails for no other reason. A
// request that was refused, or whose client has left, is counted too.
func (l *Requests) Take(ctx context.Context, account string, own int64) (RequestStanding, error) {
	limit := l.perMinute
	if own > 0 {
		limit = own
	}
	if limit == 0 {
		return RequestStanding{}, nil
	}
	// This process always counts, so that it knows where it stands when Redis goes.
	standing := l.local.take(account)
	if l.shared != nil {
		if shared, ok := l.shared.take(ctx, account); ok {
			standing = shared
		}
	}
	q := RequestStanding{Limit: limit, Remaining: max(limit-standing.place, 0), Reset: standing.left}
	if standing.place > limit {
		return q, q.exceeded()
	}
	return q, nil
}

// Shared says whether Redis is counted with right now.
func (l *Requests) Shared() bool { return l.shared != nil && l.shared.breaker.works() }

func (q RequestStanding) exceeded() error {
	wait := max((q.Reset + time.Second - 1).Truncate(time.Second), time.Second)
	return &api.Error{
		Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeRateLimitExceeded, Limit: metrics.LimitRequests,
		Message:    fmt.Sprintf("the limit of %d requests a minute is reached: try again in %ds", q.Limit, wait/time.Second),
		RetryAfter: wait,
	}
}

// windowStanding is where a request stands in its account's window.
type windowStanding struct {
	place int64 // the first request of a window has 1
	left  time.Duration
}
