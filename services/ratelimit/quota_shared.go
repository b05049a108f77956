package ratelimit

import (
	"context"
	"errors"
	"time"
)

const (
	// quotaLease is how long a replica counts as alive after it was last heard.
	quotaLease = 20 * time.Second
	// quotaBeat is how often a replica is heard at least, and tries a Redis that was
	// away.
	quotaBeat = time.Second
	// quotaPause is how long Redis is left alone after it failed: less than from one
	// beat to the next, so that none is passed over.
	quotaPause = 800 * time.Millisecond
	// quotaSettle is within what all replicas have written their entries again.
	quotaSettle = 5 * quotaBeat / 2
	// quotaKeep is how long entries stay that nobody writes to: more than the minute.
	quotaKeep = 2 * time.Minute
)

var errQuotaAnswer = errors.New("an answer that is not the script's")

// deliver has Redis decide, or this process where Redis fails. Quotas are locked;
// it unlocks them.
//
// An account's messages travel one at a time, and what comes up meanwhile travels
// together in the next. However many calls come at once, they cost two round trips.
func (q *Quotas) deliver(ctx context.Context, a *quotaAccount, k *quotaAsk) {
	k.done = make(chan struct{})
	a.waiting = append(a.waiting, k)
	if a.busy {
		q.mu.Unlock()
		<-k.done // who carries it waits for Redis no longer than this one may
		return
	}
	a.busy = true
	q.mu.Unlock()
	left, more := q.carry(ctx, a, q.ticks)
	if !more {
		return
	}
	go func() { // ends with the last that waits: each round trip has its bound
		for more {
			left, more = q.carry(context.WithoutCancel(ctx), a, left)
		}
	}()
}

// carry takes everything that waits to Redis, within the ticks. It says how many
// the next one has: who joins it may have waited all the time already.
func (q *Quotas) carry(ctx context.Context, a *quotaAccount, ticks int) (next int, more bool) {
	q.mu.Lock()
	asks := a.waiting
	a.waiting, a.stale = nil, false
	q.turn(a)
	args := q.message(a, asks)
	q.mu.Unlock()

	most := ticks
	answer, err := q.ask(ctx, &ticks, args, a.name)
	const fixed = 7
	if err == nil && len(answer) != fixed+2*countTakes(asks) {
		err = errQuotaAnswer
	}
	q.hear(err)

	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		// Whoever waits behind would only find the same.
		asks = append(asks, a.waiting...)
		a.waiting, a.stale = nil, true
		for _, k := range asks {
			if k.take {
				q.admit(a, k)
			}
		}
	} else {
		q.learn(answer)
		q.enter(a, asks, answer)
	}
	for _, k := range asks {
		close(k.done)
	}
	a.busy = len(a.waiting) > 0
	return max(q.ticks-(most-ticks), 1), a.busy
}

func countTakes(asks []*quotaAsk) (n int) {
	for _, k := range asks {
		if k.take {
			n++
		}
	}
	return n
}

// message is this replica's entry for an account, and who wants in.
func (q *Quotas) message(a *quotaAccount, asks []*quotaAsk) []any {
	q.seq++
	now := q.now()
	a.sent = now
	share := 0
	if now.Before(q.settled) || !q.breaker.works() {
		share = 1
	}
	args := []any{
		q.replica, q.lease.Milliseconds(), q.settle.Milliseconds(),
		q.seq, a.live, a.minute, a.tokens, share, q.replicas, quotaKeep.Milliseconds(),
	}
	for _, k := range asks {
		if k.take {
			args = append(args, max(k.calls, 0), max(k.limit, 0), k.need)
		}
	}
	return args
}

// ask runs the script for an account, or that of a beat without one.
func (q *Quotas) ask(ctx context.Context, ticks *int, args []any, account string) ([]int64, error) {
	// The client may leave; the others that wait have not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limitGivenUp)
	script, keys := q.beatScript, []string{quotaReplicas, quotaSettling}
	if account != "" {
		script, keys = q.takeScript, append(keys, quotaEntries+account)
	}
	var answer []int64
	var err error
	answered := make(chan struct{})
	go func() { // ends with its context
		defer cancel()
		defer close(answered)
		answer, err = script.Run(ctx, q.redis, keys, args...).Int64Slice()
	}()
	if !within(ticks, answered) {
		return nil, errLimitLate
	}
	const fixed = 4
	if err == nil && len(answer) < fixed {
		err = errQuotaAnswer
	}
	return answer, err
}

// learn takes in how every answer begins. Quotas are locked.
func (q *Quotas) learn(answer []int64) {
	at, replicas, settling, known := answer[0], answer[1], answer[2] == 1, answer[3] == 1
	q.offset = time.UnixMilli(at).Sub(q.now())
	if settling || q.now().Before(q.settled) {
		replicas = max(replicas, q.replicas) // not all have been heard
	}
	q.replicas = max(replicas, 1)
	q.renew = q.renew || settling || !known
}

// enter takes in what became of those that wanted in. Quotas are locked.
func (q *Quotas) enter(a *quotaAccount, asks []*quotaAsk, answer []int64) {
	at := time.UnixMilli(answer[0])
	minute := at.Unix() / secondsAMinute
	same := a.minute == minute
	if !same { // the clock of Redis decides
		a.minute, a.tokens = minute, answer[6] // with those that are let in now
	}
	a.heard, a.othersLive, a.othersTokens = q.now(), answer[4], answer[5]
	became := answer[7:]
	for _, k := range asks {
		if !k.take {
			continue
		}
		k.why, k.left, k.minute, k.reset = became[0], became[1], minute, restOfMinute(at)
		became = became[2:]
		if k.why != quotaTaken {
			continue
		}
		a.live++
		if same {
			a.tokens += k.need
		}
	}
}

// hear takes in whether Redis answered.
func (q *Quotas) hear(err error) {
	changed := q.breaker.heard(err)
	switch {
	case changed && err != nil:
		q.log.Warn("quotas are counted by each replica", "error", err.Error()) // err itself prints a stack
	case changed:
		q.mu.Lock()
		q.settled, q.renew = q.now().Add(q.settle), true
		q.mu.Unlock()
		q.log.Info("quotas are shared again")
	}
}
