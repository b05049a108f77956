package budget

import (
	"context"
	"errors"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
)

// request is a call that waits for a budget.
type request struct {
	budget Budget
	at     time.Time
	amount int64
	done   chan error // is told once, unless the call leaves before
}

// until is the first day after the window.
func (c *request) until() string {
	if end := c.budget.Window.End(c.at); !end.IsZero() {
		return end.Format(time.DateOnly)
	}
	return ""
}

// wider are the first days of the windows that this one lies in.
func (c *request) wider() (all []string) {
	longer := false
	for _, w := range models.Windows() {
		if longer {
			all = append(all, w.FirstDay(c.at))
		}
		longer = longer || w == c.budget.Window
	}
	return all
}

// wait reserves, if need be with the database.
func (b *Service) wait(ctx context.Context, c *request) (*purse, error) {
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

func (b *Service) queue(ctx context.Context, c *request) (*purse, error) {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lease.closed {
		return nil, api.Unavailable(errClosed)
	}
	p := b.purse(models.HoldKey{Account: c.budget.Account, Since: b.days.since(c.budget.Window, c.at)})
	if p.has(c.amount, c.budget.Limit, b.lease.stands(now)) {
		p.take(c.amount)
		c.done <- nil
		return p, nil
	}
	p.calls = append(p.calls, c)
	b.ask(ctx, p)
	return p, nil
}

// ask asks the database for what calls wait for, unless it is busy with the
// purse already; b.mu is held. One question is for all the calls that have come
// by then, so that many at once are not many questions.
func (b *Service) ask(ctx context.Context, p *purse) {
	if p.busy || len(p.calls) == 0 || b.lease.closed {
		return
	}
	p.busy = true
	ctx = context.WithoutCancel(ctx) // it is not for one call alone
	b.asking.Go(func() {
		for b.askOnce(ctx, p) {
		}
	})
}

// askOnce says whether calls still wait.
func (b *Service) askOnce(ctx context.Context, p *purse) bool {
	err := b.live(ctx)
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
	q := b.question(p, calls)
	b.stats.Questions++
	b.mu.Unlock()
	answer, err := b.grant(ctx, q)
	b.mu.Lock()
	switch {
	case errors.Is(err, models.ErrLeaseExpired):
		b.lease.end(epoch) // and is to be had anew
	case err != nil:
		b.stats.Failures++
		p.unsure = true // it may have been granted
		b.soon()
		b.fail(p, calls, err)
	default:
		if b.answered(p, q, answer, epoch) {
			b.refuse(p, calls, answer.Left)
		}
	}
	return true
}

func (b *Service) question(p *purse, calls []*request) models.GrantRequest {
	p.admit()
	q := models.GrantRequest{
		Hold: p.holding(), Until: calls[0].until(), Enclosing: calls[0].wider(), Limit: calls[0].budget.Limit,
		Replica: b.replica, Lease: b.leaseTerms(), Spare: p.free, Upsert: p.changed(),
	}
	for _, c := range calls {
		q.Needs = append(q.Needs, c.amount)
	}
	return q
}

// answered takes what was granted, and serves the calls that wait. An answer
// that is older than a loss of the lease says nothing: what it granted is to be
// taken back.
func (b *Service) answered(p *purse, q models.GrantRequest, a models.Grant, epoch int) bool {
	if a.Granted != 0 || q.Upsert {
		p.told(q.Granted+a.Granted, true)
	}
	if epoch != b.lease.epoch {
		return false
	}
	p.granted += a.Granted
	p.free += a.Granted
	p.limit, p.left = q.Limit, a.Left
	// Too much is out when a limit was lowered: then what this replica holds
	// goes first, and what calls give back is not for others.
	p.owed = max(-a.Left, 0)
	p.repay(p.owed)
	b.serve(p)
	return true
}

// serve reserves for those that wait, the first come first, as far as it goes;
// b.mu is held.
func (b *Service) serve(p *purse) {
	if len(p.calls) == 0 {
		return
	}
	stands := b.lease.stands(b.now())
	waiting := p.calls[:0]
	for _, c := range p.calls {
		if !p.has(c.amount, c.budget.Limit, stands) {
			waiting = append(waiting, c)
			continue
		}
		p.take(c.amount)
		c.done <- nil
	}
	clear(p.calls[len(waiting):])
	p.calls = waiting
}

// refuse refuses those of the calls that are more than all that is left. If
// others were faster with what was granted for a call, it goes on waiting.
func (b *Service) refuse(p *purse, calls []*request, left int64) {
	left = max(left, 0) + max(p.free, 0)
	for _, c := range calls {
		if c.amount > left && p.leave(c) {
			b.stats.Refused++
			c.done <- overBudget(c, left)
		}
	}
}

// fail ends calls that wait.
func (b *Service) fail(p *purse, calls []*request, err error) {
	for _, c := range append([]*request(nil), calls...) {
		if p.leave(c) {
			c.done <- api.Unavailable(err)
		}
	}
}
