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

	pending int // callers that wait for Redis with this account
	sent    time.Time
	stale   bool // Redis may not have the latest entry

	// The calls that Redis decides on right now, and the tokens that they need: it may
	// admit all of them.
	undecided, undecidedTokens int64

	place int // in the message that is being made; 0 = not in it
}

// account finds an account or begins one. Quotas are locked.
func (q *Quotas) account(name string, now time.Time) *quotaAccount {
	a := q.accounts[name]
	if a == nil {
		if len(q.accounts) >= q.sweepAt {
			q.sweep(now)
		}
		a = &quotaAccount{name: name}
		q.accounts[name] = a
	}
	a.used = now
	q.startMinute(a, now)
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

// clock is the time of Redis, as far as it is known.
func (q *Quotas) clock(now time.Time) time.Time { return now.Add(q.offset) }

// startMinute begins a new minute when the old one is over. The clock of Redis is
// known to milliseconds only, so a minute that has begun there may look as if it
// had not begun here: startMinute does not go back to the minute before.
func (q *Quotas) startMinute(a *quotaAccount, now time.Time) {
	minute := q.clock(now).Unix() / secondsAMinute
	if minute > a.minute || minute < a.minute-1 {
		a.minute, a.tokens = minute, 0
	}
}

const secondsAMinute = int64(time.Minute / time.Second)

// restOfMinute is what is left of a minute at a time.
func restOfMinute(at time.Time) time.Duration {
	return time.Minute - time.Duration(at.UnixNano()%int64(time.Minute))
}

// admitLocally decides with what this process has counted.
// Quotas are locked.
func (q *Quotas) admitLocally(k *Quota, now time.Time) {
	k.verdict, k.reset = quotaTaken, restOfMinute(q.clock(now))
	for i := range k.shares {
		if why := q.localVerdict(&k.shares[i], now); why != quotaTaken && k.verdict == quotaTaken {
			k.verdict, k.by = why, i
		}
	}
	if k.verdict != quotaTaken {
		return
	}
	k.running = true
	for i := range k.shares {
		s := &k.shares[i]
		s.minute = s.account.minute
		s.account.live++
		s.account.tokens += s.need
		s.account.stale = true
		s.left = max(s.left-s.need, 0)
	}
}

// localVerdict decides on one share, and says what is left. Quotas are locked.
func (q *Quotas) localVerdict(s *quotaShare, now time.Time) int64 {
	a := s.account
	q.startMinute(a, now)
	left := s.limit - a.tokens - a.undecidedTokens
	s.left = max(left, 0)
	switch {
	case s.limit > 0 && s.need > left:
		return quotaTokens
	case s.calls > 0 && a.live+a.undecided >= s.calls:
		return quotaCalls
	default:
		return quotaTaken
	}
}
