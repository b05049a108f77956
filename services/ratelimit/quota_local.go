package ratelimit

import "time"

const (
	// quotaIdle is how long an idle account is kept. It is more than quotaKeep, so
	// that Redis has no entry which this process could not correct any more.
	quotaIdle = 3 * time.Minute
	// quotaAccounts is how many accounts are kept before idle ones are searched.
	quotaAccounts = 1000
)

// quotaAccount is what this process knows of an account.
type quotaAccount struct {
	name   string
	live   int64 // calls of this process
	minute int64 // since 1970, by the clock that counts
	tokens int64 // counted in it by this process
	used   time.Time

	// What the other replicas had when Redis last answered.
	answered     time.Time
	othersLive   int64
	othersTokens int64 // in the minute

	pending int // callers that wait for Redis with this account
	sent    time.Time
	stale   bool // Redis may not have the latest entry

	// The calls that Redis decides on right now, and the tokens that they need: it may
	// admit all of them.
	undecided, undecidedTokens int64
}

// account finds an account or begins one. Quotas are locked.
func (q *Quotas) account(name string) *quotaAccount {
	now := q.now()
	a := q.accounts[name]
	if a == nil {
		if len(q.accounts) >= q.sweepAt {
			q.sweep(now)
		}
		a = &quotaAccount{name: name}
		q.accounts[name] = a
	}
	a.used = now
	q.startMinute(a)
	return a
}

// sweep forgets accounts that are idle. Quotas are locked.
func (q *Quotas) sweep(now time.Time) {
	for name, a := range q.accounts {
		if a.live == 0 && a.pending == 0 && now.Sub(a.used).Abs() > quotaIdle {
			delete(q.accounts, name)
		}
	}
	q.sweepAt = max(2*len(q.accounts), quotaAccounts)
}

// clock is that of Redis, as far as it is known.
func (q *Quotas) clock() time.Time { return q.now().Add(q.offset) }

// startMinute begins a new minute when the old one is over. The clock of Redis is
// known to milliseconds only, so a minute that has begun there may look as if it
// had not begun here: startMinute does not go back to the minute before.
func (q *Quotas) startMinute(a *quotaAccount) {
	minute := q.clock().Unix() / secondsAMinute
	if minute > a.minute || minute < a.minute-1 {
		a.minute, a.tokens, a.othersTokens = minute, 0, 0
	}
}

const secondsAMinute = int64(time.Minute / time.Second)

// restOfMinute is what is left of a minute at a time.
func restOfMinute(at time.Time) time.Duration {
	return time.Minute - time.Duration(at.UnixNano()%int64(time.Minute))
}

// admitLocally decides with what this process knows: it applies the fair share.
// Quotas are locked.
func (q *Quotas) admitLocally(a *quotaAccount, k *admission) {
	q.startMinute(a)
	k.minute, k.reset = a.minute, restOfMinute(q.clock())
	share, others := k.limit/q.replicas, int64(0)
	calls := max(k.calls/q.replicas, 1)
	if q.now().Sub(a.answered) < q.lease { // the calls of the others are likely to be still running
		others = a.othersLive
	}
	calls = max(min(calls, k.calls-others), 1)
	left := min(share, k.limit-a.othersTokens) - a.tokens - a.undecidedTokens
	switch {
	case k.limit > 0 && min(k.need, share) > left:
		k.verdict = quotaTokens
	case k.calls > 0 && a.live+a.undecided >= calls:
		k.verdict = quotaCalls
	default:
		k.verdict = quotaTaken
		a.live++
		a.tokens += k.need
		a.stale = true
		left -= k.need
	}
	k.left = max(left, 0)
}
