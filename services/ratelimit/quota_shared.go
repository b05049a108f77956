package ratelimit

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// quotaLease is how long a replica counts as alive after its last heartbeat.
	quotaLease = 20 * time.Second
	// quotaHeartbeat is the time between two heartbeats, which also test a Redis that
	// was unavailable.
	quotaHeartbeat = time.Second
	// quotaPause is how long Redis is left alone after it failed: less than the time
	// between two heartbeats, so that each of them tests Redis.
	quotaPause = 800 * time.Millisecond
	// quotaKeep is how long Redis keeps entries without a write: more than the minute.
	quotaKeep = 2 * time.Minute
)

// How many numbers the answers of the scripts have: before those of the accounts, and
// of each account.
const (
	heartbeatNumbers = 2
	accountNumbers   = 1
)

var errQuotaAnswer = errors.New("the answer of Redis is not that of the script")

// message is the script's: this replica's entries for some accounts, and the calls
// that wait for a decision on them.
type message struct {
	accounts []*quotaAccount
	calls    []*Quota
	keys     []string
	args     []any
}

// prepare writes the entries of the accounts of a batch, and has Redis decide on its
// calls.
func (q *Quotas) prepare(_ string, jobs []*Quota) (send func(context.Context) error, finish func(error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.message(jobs)
	size := heartbeatNumbers + accountNumbers*len(m.accounts)
	for _, k := range m.calls {
		size += 2 + len(k.shares)
	}
	var answer []int64
	run := q.run(&answer, q.takeScript, m.keys, m.args)
	send = func(ctx context.Context) error {
		err := run(ctx)
		if err == nil && len(answer) != size {
			return errQuotaAnswer
		}
		return err
	}
	return send, func(err error) {
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, a := range m.accounts {
			a.undecided, a.undecidedTokens = 0, 0
			a.stale = a.stale || err != nil // the message may still change the entry
		}
		if err == nil {
			q.apply(m, answer)
		}
	}
}

// message makes the message of a batch. Quotas are locked.
func (q *Quotas) message(jobs []*Quota) *message {
	q.seq++
	m := &message{keys: []string{quotaReplicas}}
	now := q.now()
	for _, k := range jobs {
		for i := range k.shares {
			a := k.shares[i].account
			if a.place == 0 {
				q.startMinute(a, now)
				m.accounts = append(m.accounts, a)
				m.keys = append(m.keys, quotaEntries+a.name)
				a.place, a.stale, a.sent = len(m.accounts), false, now
			}
		}
	}
	m.args = append(make([]any, 0, 5+3*len(m.accounts)+5*len(jobs)),
		q.replica, q.lease.Milliseconds(), q.seq, quotaKeep.Milliseconds(), len(m.accounts))
	for _, a := range m.accounts {
		m.args = append(m.args, a.live, a.minute, a.tokens)
	}
	for _, k := range jobs {
		if k.take {
			m.ask(k)
		}
	}
	for _, a := range m.accounts {
		a.place = 0
	}
	return m
}

// ask adds a call that waits for a decision.
func (m *message) ask(k *Quota) {
	m.calls = append(m.calls, k)
	m.args = append(m.args, len(k.shares))
	for i := range k.shares {
		s := &k.shares[i]
		s.account.undecided++
		s.account.undecidedTokens += s.need
		m.args = append(m.args, s.account.place, max(s.calls, 0), max(s.limit, 0), s.need)
	}
}

// run runs a script.
func (q *Quotas) run(answer *[]int64, script *redis.Script, keys []string, args []any) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		*answer, err = script.Run(ctx, q.redis, keys, args...).Int64Slice()
		if err == nil && len(*answer) < heartbeatNumbers {
			return errQuotaAnswer
		}
		return err
	}
}

// noteClock reads the numbers with which every answer begins. Quotas are locked.
func (q *Quotas) noteClock(answer []int64) {
	at, known := answer[0], answer[1] == 1
	q.offset = time.UnixMilli(at).Sub(q.now())
	recovered := q.batches.recovered.CompareAndSwap(true, false)
	q.rewrite = q.rewrite || recovered || !known
}

// apply reads the decisions on the calls of a batch. Quotas are locked.
func (q *Quotas) apply(m *message, answer []int64) {
	q.noteClock(answer)
	at := time.UnixMilli(answer[0])
	minute := at.Unix() / secondsAMinute
	answer = answer[heartbeatNumbers:]
	verdicts := answer[accountNumbers*len(m.accounts):]
	for _, k := range m.calls {
		k.verdict, k.by, k.reset = verdicts[0], int(verdicts[1])-1, restOfMinute(at)
		k.running = k.verdict == quotaTaken
		verdicts = verdicts[2:]
		for i := range k.shares {
			s := &k.shares[i]
			s.left, s.minute = verdicts[i], minute
			if !k.running {
				continue
			}
			s.account.live++
			if s.account.minute == minute {
				s.account.tokens += s.need
			}
		}
		verdicts = verdicts[len(k.shares):]
	}
	for _, a := range m.accounts {
		if a.minute != minute { // the clock of Redis decides
			a.minute, a.tokens = minute, answer[0] // with those of the calls that are admitted now
		}
		answer = answer[accountNumbers:]
	}
}
