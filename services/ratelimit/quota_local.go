package ratelimit

import "time"

const (
	// quotaIdle is how long an account is remembered that does nothing. It is more
	// than what Redis keeps, so that no entry is left there that nobody would put right.
	quotaIdle = 3 * time.Minute
	// quotaAccounts is how many accounts are kept before idle ones are looked for.
	quotaAccounts = 1000
)

// quotaAccount is what this process knows of an account.
type quotaAccount struct {
	name   string
	live   int64 // calls of this process
	minute int64 // since 1970, by the clock that counts
	tokens int64 // counted in it by this process
	used   time.Time

	// What the other replicas had when Redis was last heard.
	heard        time.Time
	othersLive   int64
	othersTokens int64 // in the minute

	// The messages to Redis: one at a time, so that each says how things stand.
	busy    bool
	waiting []*quotaAsk
	sent    time.Time
	stale   bool // Redis may not know the latest
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
	q.turn(a)
	return a
}

// sweep forgets accounts that are idle.
func (q *Quotas) sweep(now time.Time) {
	for name, a := range q.accounts {
		if a.live == 0 && !a.busy && now.Sub(a.used).Abs() > quotaIdle {
			delete(q.accounts, name)
		}
	}
	q.sweepAt = max(2*len(q.accounts), quotaAccounts)
}

// clock is that of Redis, as far as it is known.
func (q *Quotas) clock() time.Time { return q.now().Add(q.offset) }

// turn begins a new minute when the old one is over. The clock of Redis is known
// to milliseconds only: a minute that has begun there is not taken back for that.
func (q *Quotas) turn(a *quotaAccount) {
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

// admit decides with what this process knows. Quotas are locked.
func (q *Quotas) admit(a *quotaAccount, k *quotaAsk) {
	q.turn(a)
	k.minute, k.reset = a.minute, restOfMinute(q.clock())
	share, others := k.limit/q.replicas, int64(0)
	calls := max(k.calls/q.replicas, 1)
	if q.now().Sub(a.heard) < q.lease { // calls of the others that are likely to run still
		others = a.othersLive
	}
	calls = max(min(calls, k.calls-others), 1)
	left := min(share, k.limit-a.othersTokens) - a.tokens
	switch {
	case k.limit > 0 && min(k.need, share) > left:
		k.why = quotaTokens
	case k.calls > 0 && a.live >= calls:
		k.why = quotaCalls
	default:
		k.why = quotaTaken
		a.live++
		a.tokens += k.need
		a.stale = true
		left -= k.need
	}
	k.left = max(left, 0)
}
