package ratelimit

import (
	"context"
	"slices"
	"time"
)

// Run sends heartbeats to Redis until ctx ends. It has to outlive
// the calls: a replica without heartbeats loses their slots.
func (q *Quotas) Run(ctx context.Context) {
	ticker := time.NewTicker(quotaHeartbeat)
	defer ticker.Stop()
	for {
		q.heartbeat(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// heartbeat tells Redis that this replica is alive, forgets idle accounts, and
// writes the entries again that Redis may lack or is about to drop.
func (q *Quotas) heartbeat(ctx context.Context) {
	answer, ok := q.sendHeartbeat(ctx)
	if !ok {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.sweep(q.now())
		return
	}
	const accountsOfAMessage = 100
	for shares := range slices.Chunk(q.due(answer), accountsOfAMessage) {
		q.write(ctx, &Quota{shares: shares})
	}
}

func (q *Quotas) sendHeartbeat(ctx context.Context) (answer []int64, ok bool) {
	if q.redis == nil {
		return nil, false
	}
	args := []any{q.replica, q.lease.Milliseconds()}
	var numbers []int64 // of the script, which may still run after an error
	run := q.run(&numbers, q.heartbeatScript, []string{quotaReplicas}, args)
	if err := q.batches.sendAlone(ctx, run); err != nil {
		return nil, false
	}
	return numbers, true
}

// due returns the accounts whose entries have to be written, and counts them as
// pending.
func (q *Quotas) due(answer []int64) (due []quotaShare) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.noteClock(answer)
	rewrite, now := q.rewrite, q.now()
	q.rewrite = false
	for _, a := range q.accounts {
		q.startMinute(a, now)
		const early = 4
		if a.stale || rewrite && (a.live > 0 || a.tokens > 0) || a.live > 0 && now.Sub(a.sent).Abs() > quotaKeep/early {
			a.pending++
			due = append(due, quotaShare{account: a})
		}
	}
	q.sweep(now)
	return due
}
