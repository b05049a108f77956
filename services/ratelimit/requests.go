// Package ratelimit holds accounts to their limits: of requests a minute, of
// tokens a minute and of concurrent calls. With Redis all replicas count together;
// while Redis is unavailable each replica counts for itself.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/metrics"
)

const (
	requestWindow = time.Minute
	// requestAccounts is about how many accounts a process counts apart; it may keep
	// twice as many, at some 250 bytes each.
	requestAccounts = 100_000
)

// RequestOptions are what a limit counts and where.
type RequestOptions struct {
	Name      string       // part of every counter's key, so that two limits never share a counter
	PerMinute int          // requests of an account that has no limit of its own; 0: unlimited
	Redis     models.Redis // as models.OpenRedis makes it, counts for all replicas; nil: each process counts for itself
	Log       *slog.Logger
}

// Requests limits the requests of each account within a minute.
//
// The minute is ulule/limiter's fixed window: it begins with an account's first
// request and ends sixty seconds later. Within a
// window exactly the limit passes, over all replicas together. Around its end up
// to twice as many may pass within sixty seconds: the last of one window and the
// first of the next.
//
// A request waits for Redis for 40 ms. While Redis is unavailable each replica
// applies the same limit to what it has itself counted in the window; one request
// a second tries Redis again. So up to the limit may pass on each replica during
// an outage, and as much once more after it.
type Requests struct {
	perMinute int64
	local     *localRequests
	shared    *sharedRequests // nil without Redis
}

// RequestStatus is the state of an account's limit after a request. It is zero
// for an account without a limit.
type RequestStatus struct {
	Limit, Remaining int64
	Reset            time.Duration // until the window ends; up to a second too long where Redis counts
}

// limitName keeps a name from running into an account's.
var limitName = regexp.MustCompile(`^[a-z0-9-]+$`)

// NewRequests makes a limit. It does not wait for Redis. There is nothing to
// close.
func NewRequests(opts RequestOptions) (*Requests, error) {
	if !limitName.MatchString(opts.Name) {
		return nil, fmt.Errorf("limit %q: a name is of a-z, 0-9 and -", opts.Name)
	}
	if opts.PerMinute < 0 {
		return nil, fmt.Errorf("limit %s: %d requests a minute", opts.Name, opts.PerMinute)
	}
	if opts.Log == nil {
		return nil, errors.New("limit " + opts.Name + ": it needs a log")
	}
	l := &Requests{perMinute: int64(opts.PerMinute), local: newLocalRequests(requestWindow, requestAccounts)}
	if opts.Redis == nil {
		return l, nil
	}
	shared, err := newSharedRequests(opts, requestWindow)
	if err != nil {
		return nil, fmt.Errorf("limit %s: %w", opts.Name, err)
	}
	l.shared = shared
	return l, nil
}

// Take counts a request on each of the levels that has a limit a minute. Where none
// has, it counts on the account, to which the gateway's own limit applies. The status
// is that of the tightest limit. Over a limit Take also returns an *api.Error 429; it
// fails for no other reason. A request that was refused, or whose client has left, is
// counted too.
func (l *Requests) Take(ctx context.Context, account string, levels models.Levels) (RequestStatus, error) {
	windows := l.countAll(ctx, levels)
	var tightest RequestStatus
	over, of := false, ""
	for i := range levels {
		limit := levels[i].RPMLimit
		if limit <= 0 {
			continue
		}
		s, isOver := windows[i].status(limit), windows[i].count > limit
		if tightest.Limit == 0 || isOver && !over || isOver == over && s.tighter(tightest) {
			tightest, over, of = s, isOver, levels[i].Name
		}
	}
	if tightest.Limit == 0 && l.perMinute > 0 {
		window := l.count(ctx, account)
		tightest, over = window.status(l.perMinute), window.count > l.perMinute
	}
	if over {
		return tightest, tightest.exceeded(of)
	}
	return tightest, nil
}

// eachLevel has a place for each of the levels.
type eachLevel [len(models.Holds{})]windowStatus

// countAll counts a request on the levels that have a limit.
func (l *Requests) countAll(ctx context.Context, levels models.Levels) (windows eachLevel) {
	limited := 0
	for i := range levels {
		if levels[i].RPMLimit > 0 {
			limited++
		}
	}
	if limited > 1 && l.shared != nil {
		return l.countAtOnce(ctx, levels)
	}
	for i := range levels {
		if levels[i].RPMLimit > 0 {
			windows[i] = l.count(ctx, levels[i].Account)
		}
	}
	return windows
}

// countAtOnce is countAll where each account needs a round trip.
func (l *Requests) countAtOnce(ctx context.Context, levels models.Levels) (windows eachLevel) {
	var counting sync.WaitGroup
	for i := range levels {
		if levels[i].RPMLimit > 0 {
			counting.Go(func() { windows[i] = l.count(ctx, levels[i].Account) })
		}
	}
	counting.Wait()
	return windows
}

// count counts a request. This process always does, so that it knows the account's
// window when Redis fails.
func (l *Requests) count(ctx context.Context, account string) windowStatus {
	window := l.local.count(account)
	if l.shared != nil {
		if shared, ok := l.shared.count(ctx, account); ok {
			return shared
		}
	}
	return window
}

// Shared reports whether the replicas count together in Redis right now.
func (l *Requests) Shared() bool { return l.shared != nil && l.shared.batches.shared() }

// tighter says whether a client comes to the end of this limit sooner, or waits longer
// for another window.
func (s RequestStatus) tighter(than RequestStatus) bool {
	return s.Remaining < than.Remaining || s.Remaining == than.Remaining && s.Reset > than.Reset
}

// exceeded is the refusal; of names the level of the limit, if it is one's.
func (s RequestStatus) exceeded(of string) error {
	if of != "" {
		of = " of " + of
	}
	wait := max((s.Reset + time.Second - 1).Truncate(time.Second), time.Second)
	return &api.Error{
		Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeRateLimitExceeded, Limit: metrics.LimitRequests,
		Message:    fmt.Sprintf("the limit of %d requests a minute%s is reached: try again in %ds", s.Limit, of, wait/time.Second),
		RetryAfter: wait,
	}
}

// windowStatus is the state of an account's window after a request.
type windowStatus struct {
	count int64 // of its requests, this one included
	left  time.Duration
}

func (w windowStatus) status(limit int64) RequestStatus {
	return RequestStatus{Limit: limit, Remaining: max(limit-w.count, 0), Reset: w.left}
}
