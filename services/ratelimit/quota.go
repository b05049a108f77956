package ratelimit

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/models"
)

// QuotaOptions are where quotas are counted.
type QuotaOptions struct {
	Redis *redis.Client // as models.OpenRedis makes it, counts for all replicas; nil: this process counts alone
	Log   *slog.Logger
	Now   func() time.Time
}

// Quotas limit the tokens a minute and the concurrent calls of each account.
//
// The minute is that of the clock, of Redis where there is one. No more than the
// limit is reserved in it, over all replicas together. When a call ends, what it
// has used replaces what was reserved for it, even where that is more.
//
// In Redis each replica has one entry for each account: how many of its calls run
// and what it has counted in the minute. A replica always writes a whole entry and
// never adds to one. So the next message corrects an entry that was lost, and a
// message whose answer came too late. The calls in the entries of a replica that
// has sent no heartbeat for 20 s do not count any more.
//
// A call waits for Redis for 40 ms. While Redis is unavailable each replica
// applies its fair share: the limit divided by the number of replicas when Redis
// last answered, and at least one call. From that it subtracts what the others had
// at that time. So together the replicas stay within the limit, except
// for one call on each replica and for the calls that the others began later. A
// replica to which Redis has never answered assumes that it is the only one. When
// one replica alone is cut off from Redis, it applies its fair share, while the
// others may use the whole limit after those 20 s.
//
// Redis is tried again every second. When it is back, or has come back empty, each
// replica writes its entries again. Until all have had the time to do so, the fair
// share and the shared limit apply together.
type Quotas struct {
	replica                     string
	redis                       *redis.Client
	heartbeatScript, takeScript *redis.Script
	batches                     *batcher[*admission]
	log                         *slog.Logger
	now                         func() time.Time
	lease                       time.Duration // see quotaLease; lease and resync are shorter in tests
	resync                      time.Duration

	mu          sync.Mutex
	accounts    map[string]*quotaAccount
	sweepAt     int           // with this many accounts the idle ones are dropped
	seq         int64         // of the latest message to Redis
	replicas    int64         // that were alive when Redis last answered, at least 1
	offset      time.Duration // of the clock of Redis from ours
	resyncUntil time.Time     // until then the fair share applies as well
	rewrite     bool          // all entries have to be written again
}

// NewQuotas makes quotas. It does not wait for Redis.
func NewQuotas(opts QuotaOptions) *Quotas {
	q := &Quotas{
		replica: rand.Text(), log: opts.Log, now: opts.Now,
		heartbeatScript: redis.NewScript(quotaHeartbeatLua), takeScript: redis.NewScript(quotaTakeLua),
		lease: quotaLease, resync: quotaResync,
		accounts: map[string]*quotaAccount{}, sweepAt: quotaAccounts, replicas: 1,
	}
	q.batches = newBatcher("quotas", quotaPause, opts.Log, q.prepare)
	if opts.Redis != nil {
		q.redis = opts.Redis.WithTimeout(redisTimeout)
	}
	return q
}

// Quota is what one call has taken. A nil Quota, that of an account without
// limits, does nothing.
type Quota struct {
	quotas   *Quotas
	account  *quotaAccount
	minute   int64
	reserved int64
	running  bool
	status   TokenStatus
}

// TokenStatus is the state of an account's tokens. It is zero for an account
// without a limit of tokens.
type TokenStatus struct {
	Limit, Remaining int64
	Reset            time.Duration // until the minute is over
}

// Take admits a call that may need so many tokens. It takes of both limits or of
// neither. Over a limit it returns an *api.Error 429, with a Quota that only
// knows the account's status; Take fails for no other reason.
//
// A call that may need more than the whole limit is admitted when nothing else is
// counted in the minute, and takes all of it.
func (q *Quotas) Take(ctx context.Context, account string, limits *models.Limits, tokens int64) (*Quota, error) {
	if limits == nil || limits.TPMLimit <= 0 && limits.MaxParallel <= 0 {
		return nil, nil
	}
	const most = 1 << 50 // so that a script's sums stay exact
	call := &admission{take: true, calls: min(limits.MaxParallel, most), limit: min(limits.TPMLimit, most), need: min(max(tokens, 1), most)}
	if call.limit > 0 {
		call.need = min(call.need, call.limit)
	}
	q.mu.Lock()
	a := q.account(account)
	shared := false
	if q.redis != nil {
		a.pending++
		q.mu.Unlock()
		shared = q.batches.do(ctx, account, call)
		q.mu.Lock()
		a.pending--
	}
	if !shared {
		q.admitLocally(a, call)
	}
	q.mu.Unlock()
	return call.quota(q, a), call.refusal(tokens)
}

// Status is the state of the account's tokens when the call was admitted or
// refused.
func (q *Quota) Status() TokenStatus {
	if q == nil {
		return TokenStatus{}
	}
	return q.status
}

// End frees the call's slot, and counts what it has used instead of what was
// reserved for it, if it is still the same minute. Only the first End has an
// effect. The slot is free on all replicas when End returns; it waits for Redis
// as Take does.
func (q *Quota) End(used int64) {
	if q == nil {
		return
	}
	s, a := q.quotas, q.account
	s.mu.Lock()
	if !q.running {
		s.mu.Unlock()
		return
	}
	q.running = false
	a.live--
	s.startMinute(a)
	if a.minute == q.minute {
		a.tokens = max(a.tokens+max(used, 0)-q.reserved, 0)
	}
	a.stale = true
	a.pending++
	s.mu.Unlock()
	s.write(context.Background(), a)
}

// write writes the entry of an account, which is counted as pending until then,
// to Redis.
func (q *Quotas) write(ctx context.Context, a *quotaAccount) {
	written := q.redis != nil && q.batches.do(ctx, a.name, &admission{})
	q.mu.Lock()
	defer q.mu.Unlock()
	a.pending--
	a.stale = a.stale || !written
}

// Shared reports whether the replicas count together in Redis right now.
func (q *Quotas) Shared() bool { return q.redis != nil && q.batches.shared() }

// Used is how many of an account's calls run in this process, and how many of
// its tokens this process has counted in the minute.
func (q *Quotas) Used(account string) (calls, tokens int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a := q.accounts[account]; a != nil {
		return a.live, a.tokens
	}
	return 0, 0
}
