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
	Redis models.Redis // as models.OpenRedis makes it, counts for all replicas; nil: this process counts alone
	Log   *slog.Logger
	Now   func() time.Time
}

// Quotas limit the tokens a minute and the concurrent calls of each account. A call is
// counted on several: it takes of all of them or of none.
//
// The minute is that of the clock, of Redis where there is one. No more than the
// limit is reserved in it, over all replicas together. When a call ends, what it
// has used replaces what was reserved for it, even where that is more.
//
// In Redis each replica has one entry for each account: how many of its calls run
// and what it has counted in the minute. A replica always writes a whole entry and
// never adds to one. So the next message corrects an entry that was lost, and a
// message whose answer came too late. The calls in the entries of a replica that
// has sent no heartbeat for 20 s do not count any more. One message at a time is
// under way, with all calls that have come since the one before: calls of the same
// account never overtake each other, also when they are counted on different other accounts.
//
// A call waits for Redis for 40 ms. While Redis is unavailable each replica counts alone,
// with the whole limit: together they may reach the limit times the number of replicas.
//
// Redis is tried again every second. When it is back, or has come back empty, each replica
// writes its entries again with its next heartbeat: within a second the limit is that of all
// replicas together again, and counts what they have admitted alone.
type Quotas struct {
	replica                     string
	redis                       models.Redis
	heartbeatScript, takeScript *redis.Script
	batches                     *batcher[*Quota]
	log                         *slog.Logger
	now                         func() time.Time
	lease                       time.Duration // quotaLease; shorter in tests

	mu       sync.Mutex
	accounts map[string]*quotaAccount
	sweepAt  int           // with this many accounts the idle ones are dropped
	seq      int64         // of the latest message to Redis
	offset   time.Duration // of the clock of Redis from ours
	rewrite  bool          // all entries have to be written again
}

// NewQuotas makes quotas. It does not wait for Redis.
func NewQuotas(opts QuotaOptions) *Quotas {
	q := &Quotas{
		replica: rand.Text(), log: opts.Log, now: opts.Now,
		heartbeatScript: redis.NewScript(quotaHeartbeatLua), takeScript: redis.NewScript(quotaTakeLua),
		lease: quotaLease, accounts: map[string]*quotaAccount{}, sweepAt: quotaAccounts,
	}
	q.batches = newBatcher("quotas", quotaPause, opts.Log, q.prepare)
	if opts.Redis != nil {
		q.redis = models.RedisWithin(opts.Redis, redisTimeout)
	}
	return q
}

// Quota is what one call has taken, or asks for. A nil Quota, that of a caller
// without limits, does nothing.
type Quota struct {
	quotas  *Quotas
	take    bool // it waits for the decision whether the call may run; else for its entries to be written
	running bool
	shares  []quotaShare
	room    [len(models.Holds{})]quotaShare // of shares, mostly

	verdict int64 // one of the quotaXxx; this and the rest is the decision
	by      int   // the share that refuses
	reset   time.Duration
}

// quotaShare is what a call takes of one account.
type quotaShare struct {
	account            *quotaAccount
	level              string
	calls, limit, need int64 // the account's concurrent calls and tokens a minute, and the tokens of this call
	left               int64 // tokens that are not reserved, by the decision
	minute             int64 // in which they are counted
}

// TokenStatus is the state of the tightest limit of tokens. It is zero where there is
// none.
type TokenStatus struct {
	Limit, Remaining int64
	Reset            time.Duration // until the minute is over
}

// HasQuota says whether calls on these levels need a Quota.
func HasQuota(levels models.Levels) bool {
	for i := range levels {
		if levels[i].TPMLimit > 0 || levels[i].MaxParallel > 0 {
			return true
		}
	}
	return false
}

// Take admits a call that may need so many tokens. It takes of both limits of all
// levels or of none. Over a limit it returns an *api.Error 429, with a Quota that only
// knows the status; Take fails for no other reason.
//
// A call that may need more than the whole limit is admitted when nothing else is
// counted in the minute, and takes all of it.
func (q *Quotas) Take(ctx context.Context, levels models.Levels, tokens int64) (*Quota, error) {
	if !HasQuota(levels) {
		return nil, nil
	}
	const most = 1 << 50 // so that a script's sums stay exact
	k := &Quota{quotas: q, take: true}
	k.shares = k.room[:0]
	now := q.now()
	q.mu.Lock()
	for i := range levels {
		l := &levels[i]
		if l.TPMLimit <= 0 && l.MaxParallel <= 0 {
			continue
		}
		s := quotaShare{
			account: q.account(l.Account, now), level: l.Name,
			calls: min(l.MaxParallel, most), limit: min(l.TPMLimit, most), need: min(max(tokens, 1), most),
		}
		if s.limit > 0 {
			s.need = min(s.need, s.limit)
		}
		k.shares = append(k.shares, s)
	}
	shared := false
	if q.redis != nil {
		k.addPending(1)
		q.mu.Unlock()
		shared = q.send(ctx, k)
		now = q.now()
		q.mu.Lock()
		k.addPending(-1)
	}
	if !shared {
		q.admitLocally(k, now)
	}
	q.mu.Unlock()
	return k, k.refusal(tokens)
}

// Status is the state of the tokens when the call was admitted or refused.
func (k *Quota) Status() TokenStatus {
	if k == nil {
		return TokenStatus{}
	}
	return k.status()
}

// End frees the call's slots, and counts what it has used instead of what was
// reserved for it, if it is still the same minute. Only the first End has an
// effect. The slots are free on all replicas when End returns; it waits for Redis
// as Take does.
func (k *Quota) End(used int64) {
	if k == nil {
		return
	}
	q := k.quotas
	now := q.now()
	q.mu.Lock()
	if !k.running {
		q.mu.Unlock()
		return
	}
	k.running, k.take = false, false
	for i := range k.shares {
		s := &k.shares[i]
		a := s.account
		a.live--
		q.startMinute(a, now)
		if a.minute == s.minute {
			a.tokens = max(a.tokens+max(used, 0)-s.need, 0)
		}
		a.stale = true
	}
	k.addPending(1)
	q.mu.Unlock()
	q.write(context.Background(), k)
}

// addPending counts a caller that waits for Redis. Quotas are locked.
func (k *Quota) addPending(n int) {
	for i := range k.shares {
		k.shares[i].account.pending += n
	}
}

// write writes the entries of accounts, on which it is counted as pending until then,
// to Redis.
func (q *Quotas) write(ctx context.Context, k *Quota) {
	written := q.redis != nil && q.send(ctx, k)
	q.mu.Lock()
	defer q.mu.Unlock()
	k.addPending(-1)
	for i := range k.shares {
		a := k.shares[i].account
		a.stale = a.stale || !written
	}
}

// send has Redis decide or write. It returns false when Redis is unavailable.
func (q *Quotas) send(ctx context.Context, k *Quota) bool {
	const allAccounts = ""
	return q.batches.do(ctx, allAccounts, k)
}

// Shared reports whether the replicas count together in Redis right now.
func (q *Quotas) Shared() bool { return q.redis != nil && q.batches.shared() }
