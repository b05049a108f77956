package ratelimit

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/services/metrics"
)

// QuotaOptions are where quotas are counted.
type QuotaOptions struct {
	Redis *redis.Client // as models.OpenRedis makes it, counts for all replicas; nil: this process counts alone
	Log   *slog.Logger
	Now   func() time.Time
}

// Quotas hold each account to its tokens a minute and its calls at once.
//
// The minute is the clock's own, of Redis where there is one. In it no more than
// the limit is reserved, over all replicas together; what a call has used in the
// end is counted in place of what was reserved for it, even where that is more.
//
// In Redis each replica has one entry for each account, which says how many of
// its calls run and what it has counted in the minute. It is always written as a
// whole, never added to: so an entry that was lost, or a message that nobody
// waited for, is put right by the next one. The entries of a replica that has
// not been heard of for 20 s count no more calls.
//
// A call waits for Redis for 40 ms. While Redis is away each replica goes on with
// its share: the limit divided by the replicas there were when Redis was last
// heard, and at least one call at once. It leaves out what the others had when
// they were last heard. So together they stay within the limit, but for one call
// on each replica and for what the others began after they were last heard. A
// replica that has never heard Redis takes itself for the only one. One that alone
// is cut off from Redis uses its share while the others, after those 20 s, may use
// all.
//
// Redis is tried again every second. When it is back, or has come back empty, each
// replica writes its entries again, and until all have had the time to, the share
// and the shared limit hold together.
type Quotas struct {
	replica                string
	redis                  *redis.Client
	beatScript, takeScript *redis.Script
	breaker                *breaker
	log                    *slog.Logger
	now                    func() time.Time
	lease                  time.Duration // see quotaLease; these are shorter in tests
	settle                 time.Duration
	ticks                  int // that a call waits

	mu       sync.Mutex
	accounts map[string]*quotaAccount
	sweepAt  int           // so many accounts are looked through for idle ones
	seq      int64         // of the latest message to Redis
	replicas int64         // that were alive when Redis was last heard, at least 1
	offset   time.Duration // of the clock of Redis from ours
	settled  time.Time     // until then the share holds as well
	renew    bool          // all entries are to be written again
}

// NewQuotas makes quotas. It waits for no Redis.
func NewQuotas(opts QuotaOptions) *Quotas {
	q := &Quotas{
		replica: rand.Text(), log: opts.Log, now: opts.Now,
		beatScript: redis.NewScript(quotaBeatLua), takeScript: redis.NewScript(quotaTakeLua),
		breaker: &breaker{pause: quotaPause, now: opts.Now},
		lease:   quotaLease, settle: quotaSettle, ticks: limitTicks,
		accounts: map[string]*quotaAccount{}, sweepAt: quotaAccounts, replicas: 1,
	}
	if opts.Redis != nil {
		// An answer that is late is taken all the same where it comes: a connection that
		// is given up has to be made again.
		q.redis = opts.Redis.WithTimeout(limitGivenUp)
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
	standing TokenStanding
}

// TokenStanding is how an account's tokens stand. The zero TokenStanding is that
// of an account without a limit of tokens.
type TokenStanding struct {
	Limit, Remaining int64
	Reset            time.Duration // until the minute is over
}

// Take lets a call in that may need so many tokens, in one step for both limits:
// it takes of both or of neither. What is over a limit gets an *api.Error 429,
// with a Quota that only knows how the account stands; Take fails for no other
// reason.
//
// A call that may need more than the whole limit gets in when nothing else is
// counted in the minute, and takes all of it.
func (q *Quotas) Take(ctx context.Context, account string, limits *models.Limits, tokens int64) (*Quota, error) {
	if limits == nil || limits.TPMLimit <= 0 && limits.MaxParallel <= 0 {
		return nil, nil
	}
	const most = 1 << 50 // so that a script's sums stay exact
	ask := &quotaAsk{take: true, calls: min(limits.MaxParallel, most), limit: min(limits.TPMLimit, most), need: min(max(tokens, 1), most)}
	if ask.limit > 0 {
		ask.need = min(ask.need, ask.limit)
	}
	q.mu.Lock()
	a := q.account(account)
	if q.redis == nil || !q.breaker.ask() {
		q.admit(a, ask)
		q.mu.Unlock()
	} else {
		q.deliver(ctx, a, ask)
	}
	return ask.quota(q, a), ask.refusal(tokens)
}

// Standing is how the account's tokens stood when the call was let in or refused.
func (q *Quota) Standing() TokenStanding {
	if q == nil {
		return TokenStanding{}
	}
	return q.standing
}

// End gives the call's place back and counts what it has used in place of what
// was reserved for it, if it is still the same minute. Only the first End does
// anything. The place is free on all replicas when it returns; it waits for Redis
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
	s.turn(a)
	if a.minute == q.minute {
		a.tokens = max(a.tokens+max(used, 0)-q.reserved, 0)
	}
	a.stale = true
	if s.redis == nil || !s.breaker.ask() {
		s.mu.Unlock()
		return
	}
	s.deliver(context.Background(), a, &quotaAsk{})
}

// Shared says whether Redis is counted with right now.
func (q *Quotas) Shared() bool { return q.redis != nil && q.breaker.works() }

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

// quotaAsk is what one call waits for: a place, or that its end is known.
type quotaAsk struct {
	take               bool
	calls, limit, need int64 // of a call that wants in

	done   chan struct{} // closed when what follows is set; nil where nobody waits
	why    int64         // one of the quotaXxx
	left   int64         // tokens that are not reserved
	minute int64
	reset  time.Duration
}

// busyWait is when a caller should come back: most calls take seconds.
const busyWait = time.Second

// What became of a call, as the script says it.
const (
	quotaTaken  = 0
	quotaTokens = 1
	quotaCalls  = 2
)

func (k *quotaAsk) quota(q *Quotas, a *quotaAccount) *Quota {
	quota := &Quota{quotas: q, account: a, minute: k.minute, reserved: k.need, running: k.why == quotaTaken}
	if k.limit > 0 {
		quota.standing = TokenStanding{Limit: k.limit, Remaining: k.left, Reset: k.reset}
	}
	return quota
}

func (k *quotaAsk) refusal(tokens int64) error {
	err := &api.Error{Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeRateLimitExceeded}
	switch k.why {
	case quotaTaken:
		return nil
	case quotaCalls:
		err.Limit = metrics.LimitParallel
		err.RetryAfter = busyWait
		err.Message = "this key may have at most " + strconv.FormatInt(k.calls, 10) + " calls at once; please try again in 1s"
		return err
	}
	err.Limit = metrics.LimitTokens
	err.RetryAfter = max((k.reset + time.Second - 1).Truncate(time.Second), time.Second)
	wait := err.RetryAfter / time.Second
	if tokens > k.limit {
		err.Message = fmt.Sprintf("the limit is %d tokens a minute and this call may need %d: it can only run in a minute in which nothing else is counted; "+
			"try again in %ds", k.limit, tokens, wait)
		return err
	}
	err.Message = fmt.Sprintf("the limit of %d tokens a minute is reached: this call may need %d, %d are left; try again in %ds", k.limit, tokens, k.left, wait)
	return err
}
