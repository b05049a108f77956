package budget

import (
	"context"
	"errors"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// waiter is a call that waits for a budget.
type waiter struct {
	budget   Budget
	at       time.Time
	amount   int64
	expected bool       // the amount is what the call is expected to cost; else the most that it can
	done     chan error // receives one value, unless the call leaves before
}

// until is the first day after the window.
func (c *waiter) until() string {
	if end := c.budget.Window.End(c.at); !end.IsZero() {
		return end.Format(time.DateOnly)
	}
	return ""
}

// earlier returns the first days of the windows that began before this one and go on
// in it: those around its first day. A week can begin in one month and end in the next.
func (c *waiter) earlier() (all []string) {
	first := c.budget.Window.Begin(c.at)
	if first.IsZero() {
		return nil
	}
	since := models.DayOf(first)
	for _, w := range models.Windows() {
		if day := w.FirstDay(first); day != since {
			all = append(all, day)
		}
	}
	return all
}

// wait reserves an amount, and requests a grant if necessary.
func (b *Service) wait(ctx context.Context, c *waiter) (*allowance, error) {
	p, err := b.queue(ctx, c)
	if err != nil {
		return nil, err
	}
	select {
	case err := <-c.done:
		return p, err
	case <-ctx.Done():
	}
	b.mu.Lock()
	left := p.leave(c)
	b.mu.Unlock()
	if !left {
		return p, <-c.done
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errSlow) {
		return nil, cause
	}
	return nil, api.Unavailable(errSlow)
}

func (b *Service) queue(ctx context.Context, c *waiter) (*allowance, error) {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lease.closed {
		return nil, api.Unavailable(errClosed)
	}
	p := b.allowance(models.HoldKey{Account: c.budget.Account, Since: b.days.since(c.budget.Window, c.at)})
	if p.covers(c.amount, c.budget.Limit, b.lease.valid(now)) {
		p.take(c.amount)
		c.done <- nil
		return p, nil
	}
	p.calls = append(p.calls, c)
	b.requestGrant(ctx, p)
	return p, nil
}

// requestGrant starts a request for the calls that wait, unless one is under way;
// b.mu is held. One request serves all calls that wait when it is sent, so that a
// burst of calls costs few requests.
func (b *Service) requestGrant(ctx context.Context, p *allowance) {
	if p.busy || len(p.calls) == 0 || b.lease.closed {
		return
	}
	p.busy = true
	ctx = context.WithoutCancel(ctx) // the request serves other calls too
	b.requests.Go(func() {
		for b.requestOnce(ctx, p) {
		}
	})
}

// requestOnce sends one request, and reports whether calls still wait.
func (b *Service) requestOnce(ctx context.Context, p *allowance) bool {
	err := b.ensureLease(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.fail(p, p.calls, err)
	}
	if len(p.calls) == 0 {
		p.busy = false
		return false
	}
	calls, epoch := p.batch(), b.lease.epoch
	q := b.grantRequest(p, calls)
	b.stats.Requests++
	b.mu.Unlock()
	answer, err := b.grant(ctx, q)
	now := b.now()
	b.mu.Lock()
	switch {
	case errors.Is(err, models.ErrLeaseExpired):
		b.lease.end(epoch) // it has to be acquired again
	case err != nil:
		b.stats.Failures++
		p.uncertain = true // it may have been granted
		b.fail(p, calls, err)
	default:
		if b.applyGrant(p, q, answer, epoch) {
			b.serve(p, now)
			b.refuse(p, calls, answer)
		}
	}
	return true
}

func (b *Service) grantRequest(p *allowance, calls []*waiter) models.GrantRequest {
	p.grantOverdraft()
	q := models.GrantRequest{
		Hold: p.asHold(), Until: calls[0].until(), Earlier: calls[0].earlier(), Limit: calls[0].budget.Limit,
		Replica: b.replica, Lease: b.leaseTerms(), Spare: p.free, Upsert: p.changed(),
	}
	for _, c := range calls {
		q.Needs = append(q.Needs, c.amount)
	}
	return q
}

// applyGrant adds what was granted, unless the lease was lost since the request:
// the next save returns it then.
func (b *Service) applyGrant(p *allowance, q models.GrantRequest, a models.Grant, epoch int) bool {
	if a.Granted != 0 || q.Upsert {
		p.recorded(q.Granted+a.Granted, true)
	}
	if epoch != b.lease.epoch {
		return false
	}
	// After a limit was lowered the replicas may hold more than it allows. This
	// replica then returns what is free now, and what its calls return later. The
	// answer does not know what they have overdrawn or returned since the request.
	p.debt = max(max(-a.Left, 0)+p.granted-q.Granted, 0)
	p.granted += a.Granted
	p.free += a.Granted
	p.limit, p.left = q.Limit, a.Left
	p.payDebt(p.debt)
	return true
}

// serve reserves for the calls that wait, in their order, as far as the allowance
// covers them; b.mu is held.
func (b *Service) serve(p *allowance, now time.Time) {
	if len(p.calls) == 0 {
		return
	}
	leaseValid := b.lease.valid(now)
	waiting := p.calls[:0]
	for _, c := range p.calls {
		if !p.covers(c.amount, c.budget.Limit, leaseValid) {
			waiting = append(waiting, c)
			continue
		}
		p.take(c.amount)
		c.done <- nil
	}
	clear(p.calls[len(waiting):])
	p.calls = waiting
}

// refuse refuses the calls that need more than all that is left. A call goes on
// waiting when other calls have taken what was granted for it. A later try is of use only
// while calls that run hold what is missing: what is spent does not come back.
func (b *Service) refuse(p *allowance, calls []*waiter, answer models.Grant) {
	left := max(answer.Left, 0) + max(p.free, 0)
	unspent := answer.Unspent - max(p.spent()-answer.Moved, 0)
	for _, c := range calls {
		if c.amount <= left || !p.leave(c) {
			continue
		}
		b.stats.Refused++
		if c.amount <= unspent {
			c.done <- heldBudget(c, left)
		} else {
			c.done <- overBudget(c, left, unspent)
		}
	}
}

// fail ends the wait of calls with an error.
func (b *Service) fail(p *allowance, calls []*waiter, err error) {
	for _, c := range append([]*waiter(nil), calls...) {
		if p.leave(c) {
			c.done <- api.Unavailable(err)
		}
	}
}
