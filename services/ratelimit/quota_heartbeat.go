package ratelimit

import (
	"context"
	"time"
)

// Run lets the other replicas know that this one is alive, until ctx ends. It is
// to outlive the calls: a replica that is not heard of loses their places.
func (q *Quotas) Run(ctx context.Context) {
	ticker := time.NewTicker(quotaBeat)
	defer ticker.Stop()
	for {
		q.beat(ctx)
		select {
		case <-ctx.Done():
			q.leave(ctx)
			return
		case <-ticker.C:
		}
	}
}

// beat is heard by Redis, forgets idle accounts, and writes again what Redis may
// not know or is about to forget.
func (q *Quotas) beat(ctx context.Context) {
	if q.redis == nil || !q.breaker.ask() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.sweep(q.now())
		return
	}
	ticks := q.ticks
	answer, err := q.ask(ctx, &ticks, []any{q.replica, q.lease.Milliseconds(), q.settle.Milliseconds()}, "")
	q.hear(err)
	if err != nil {
		return
	}
	for _, a := range q.due(answer) {
		q.mu.Lock()
		if q.accounts[a.name] != a || !q.breaker.ask() {
			q.mu.Unlock()
			continue
		}
		q.deliver(ctx, a, &quotaAsk{})
	}
}

// due are the accounts whose entries are to be written.
func (q *Quotas) due(answer []int64) (due []*quotaAccount) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.learn(answer)
	renew, now := q.renew, q.now()
	q.renew = false
	for _, a := range q.accounts {
		q.turn(a)
		const early = 4
		if a.stale || renew && (a.live > 0 || a.tokens > 0) || a.live > 0 && now.Sub(a.sent).Abs() > quotaKeep/early {
			due = append(due, a)
		}
	}
	q.sweep(now)
	return due
}

// leave tells the other replicas that this one is gone, if it has no calls.
func (q *Quotas) leave(ctx context.Context) {
	q.mu.Lock()
	live := int64(0)
	for _, a := range q.accounts {
		live += a.live
	}
	q.mu.Unlock()
	if live > 0 || !q.Shared() {
		return // the lease ends by itself
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limitGivenUp)
	defer cancel()
	if err := q.redis.ZRem(ctx, quotaReplicas, q.replica).Err(); err != nil {
		q.log.Warn("the other replicas do not know yet that this one has ended", "error", err.Error())
	}
}
