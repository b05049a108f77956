package ratelimit

import (
	"context"
	"errors"
	"time"
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
	// quotaResync is the time within which all replicas have written their entries
	// again.
	quotaResync = 5 * quotaHeartbeat / 2
	// quotaKeep is how long Redis keeps entries without a write: more than the minute.
	quotaKeep = 2 * time.Minute
)

// How many numbers the answers of the scripts have before those of the calls.
const (
	heartbeatNumbers = 4
	takeNumbers      = 7
)

var errQuotaAnswer = errors.New("the answer of Redis is not that of the script")

// prepare writes the account's entry and has Redis decide on the calls of a batch.
func (q *Quotas) prepare(account string, calls []*admission) (send func(context.Context) error, finish func(error)) {
	shared := q.batches.shared()
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.accounts[account] // pending, so it is kept
	q.startMinute(a)
	a.stale = false
	args := q.message(a, calls, shared)
	sequential := 0
	for _, k := range calls {
		if k.take {
			sequential++
			a.undecided, a.undecidedTokens = a.undecided+1, a.undecidedTokens+k.need
		}
	}
	var answer []int64
	run := q.run(&answer, args, account)
	send = func(ctx context.Context) error {
		err := run(ctx)
		if err == nil && len(answer) != takeNumbers+2*sequential {
			return errQuotaAnswer
		}
		return err
	}
	return send, func(err error) {
		q.mu.Lock()
		defer q.mu.Unlock()
		a.undecided, a.undecidedTokens = 0, 0
		if err == nil {
			q.apply(a, calls, answer)
		} else {
			a.stale = true // the message may still change the entry
		}
	}
}

// message returns the arguments of the script: this replica's entry for an
// account, and the calls that wait. Quotas are locked.
func (q *Quotas) message(a *quotaAccount, calls []*admission, shared bool) []any {
	q.noteRecovery()
	q.seq++
	now := q.now()
	a.sent = now
	fairShare := 0
	if now.Before(q.resyncUntil) || !shared {
		fairShare = 1
	}
	args := []any{
		q.replica, q.lease.Milliseconds(), q.resync.Milliseconds(),
		q.seq, a.live, a.minute, a.tokens, fairShare, q.replicas, quotaKeep.Milliseconds(),
	}
	for _, k := range calls {
		if k.take {
			args = append(args, max(k.calls, 0), max(k.limit, 0), k.need)
		}
	}
	return args
}

// run runs the script for an account, or that of a heartbeat without one.
func (q *Quotas) run(answer *[]int64, args []any, account string) func(context.Context) error {
	script, keys := q.heartbeatScript, []string{quotaReplicas, quotaResyncing}
	if account != "" {
		script, keys = q.takeScript, append(keys, quotaEntries+account)
	}
	return func(ctx context.Context) (err error) {
		*answer, err = script.Run(ctx, q.redis, keys, args...).Int64Slice()
		if err == nil && len(*answer) < heartbeatNumbers {
			return errQuotaAnswer
		}
		return err
	}
}

// noteRecovery begins a resync when Redis has come back. Quotas are locked.
func (q *Quotas) noteRecovery() {
	if q.batches.recovered.CompareAndSwap(true, false) {
		q.resyncUntil, q.rewrite = q.now().Add(q.resync), true
	}
}

// noteReplicas reads the numbers with which every answer begins. Quotas are
// locked.
func (q *Quotas) noteReplicas(answer []int64) {
	q.noteRecovery()
	at, replicas, resyncing, known := answer[0], answer[1], answer[2] == 1, answer[3] == 1
	q.offset = time.UnixMilli(at).Sub(q.now())
	if resyncing || q.now().Before(q.resyncUntil) {
		replicas = max(replicas, q.replicas) // some may not have sent a heartbeat yet
	}
	q.replicas = max(replicas, 1)
	q.rewrite = q.rewrite || resyncing || !known
}

// apply reads the decisions on the calls of a batch. Quotas are locked.
func (q *Quotas) apply(a *quotaAccount, calls []*admission, answer []int64) {
	q.noteReplicas(answer)
	at := time.UnixMilli(answer[0])
	minute := at.Unix() / secondsAMinute
	same := a.minute == minute
	if !same { // the clock of Redis decides
		a.minute, a.tokens = minute, answer[6] // with those of the calls that are admitted now
	}
	a.answered, a.othersLive, a.othersTokens = q.now(), answer[4], answer[5]
	verdicts := answer[takeNumbers:]
	for _, k := range calls {
		if !k.take {
			continue
		}
		k.verdict, k.left, k.minute, k.reset = verdicts[0], verdicts[1], minute, restOfMinute(at)
		verdicts = verdicts[2:]
		if k.verdict != quotaTaken {
			continue
		}
		a.live++
		if same {
			a.tokens += k.need
		}
	}
}
