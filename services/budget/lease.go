package budget

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"modelgateway/models"
)

// lease is the time during which this replica may use its allowances.
type lease struct {
	epoch      int   // how often it was lost
	answer     int64 // Epoch of the last answer
	acquired   bool  // at least once
	permanent  bool  // no other replica can use the database
	sent       time.Time
	until      time.Time
	renewed    int
	reconciled time.Time // when the allowances last were
	closed     bool      // the service ends: there is no further lease
}

// valid measures by two clocks: a machine that sleeps may stop one of them.
func (l *lease) valid(now time.Time) bool {
	return l.permanent || now.Before(l.until) && now.UnixNano() < l.until.UnixNano()
}

// end ends the lease if it is still the one of that epoch.
func (l *lease) end(epoch int) {
	if l.epoch == epoch {
		l.until = time.Time{}
	}
}

// leaseTerms allow for one lost heartbeat, and for the time between the check of
// the clock and the reservation.
func (b *Service) leaseTerms() models.Lease {
	return models.Lease{Duration: 4 * b.heartbeat, MaxSilence: 2 * b.heartbeat, Grace: b.heartbeat}
}

// ensureLease renews the lease if it is not valid.
func (b *Service) ensureLease(ctx context.Context) error {
	return b.renewUnless(ctx, func(l *lease, now time.Time) bool { return l.valid(now) })
}

// renewIfDue renews the lease if the last renewal is a heartbeat ago.
func (b *Service) renewIfDue(ctx context.Context) error {
	return b.renewUnless(ctx, func(l *lease, now time.Time) bool {
		return l.valid(now) && now.Sub(l.sent) < b.heartbeat || l.permanent && b.notesNothing()
	})
}

// renewUnless renews the lease unless good accepts it. All that wait for a renewal share
// its result.
func (b *Service) renewUnless(ctx context.Context, good func(*lease, time.Time) bool) error {
	if lease := b.leased(); good(&lease, b.now()) {
		return nil
	}
	_, err, _ := b.renewing.Do("", func() (any, error) { return nil, b.renewNow(ctx) })
	return err
}

func (b *Service) renewNow(ctx context.Context) error {
	lease, sent := b.leased(), b.now()
	if lease.closed {
		return errClosed
	}
	const cleanEvery = 60
	renewal := models.Renewal{
		Replica: b.replica, Lease: b.leaseTerms(), First: !lease.acquired, Clean: lease.renewed%cleanEvery == 0, Epoch: lease.answer,
	}
	b.mu.Lock()
	b.running.note(&renewal, sent)
	if !lease.valid(sent) {
		renewal.Noted = slices.AppendSeq([]string{}, maps.Keys(b.running.noted))
	}
	b.mu.Unlock()
	renewed, err := b.renew(ctx, renewal)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.running.notNoted(renewal)
		return err
	}
	b.lease.acquired, b.lease.permanent, b.lease.answer = true, renewed.Alone, renewed.Epoch
	b.lease.sent, b.lease.until = sent, sent.Add(4*b.heartbeat-b.heartbeat/10)
	if lease.acquired && !renewed.Kept {
		b.loseLease()
		if renewal.Noted == nil { // it is to be renewed once more, with them
			b.lease.until = time.Time{}
		}
	}
	for id, cost := range renewed.Lost {
		b.running.booked(id, cost, sent)
	}
	b.lease.renewed++
	return nil
}

func (b *Service) notesNothing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running.none()
}

func (b *Service) leased() lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lease
}

// loseLease returns all that is free: the database may have granted it to others.
// The same holds for what calls return later. What they still need is saved again;
// b.mu is held.
func (b *Service) loseLease() {
	b.stats.Lost++
	b.lease.epoch++
	for _, p := range b.allowances {
		p.giveBack(max(p.free, 0))
		p.debt = 0
		p.limit = math.MaxInt64 // what calls return is used only after a grant has said what is left
		p.uncertain = true
	}
	b.wakeUp()
}

// Run renews the lease and returns what is not needed, until ctx ends. Then it
// ends the lease. Its ctx has to end after the ledger has written its last row.
func (b *Service) Run(ctx context.Context) {
	const ticks = 5 // in a heartbeat
	defer b.next.Stop()
	for ctx.Err() == nil {
		b.next.Reset(b.heartbeat / ticks)
		b.tick(ctx)
		select {
		case <-b.next.C:
		case <-ctx.Done():
		}
	}
	b.close(ctx)
}

func (b *Service) tick(ctx context.Context) {
	now := b.now()
	b.mu.Lock()
	acquired := b.lease.acquired
	if acquired && now.Sub(b.lease.reconciled) >= b.heartbeat {
		b.lease.reconciled = now
		for h, p := range b.allowances {
			if !p.busy && p.reconcile() {
				delete(b.allowances, h)
			}
		}
	}
	b.mu.Unlock()
	// The calls that need the database report its failure.
	switch {
	case acquired:
		if b.renewIfDue(ctx) == nil {
			b.saveChanged(ctx)
		}
	case now.Sub(b.swept) >= b.heartbeat:
		b.swept = now
		if some, err := b.lost(ctx); err == nil && some {
			_ = b.ensureLease(ctx) // its renewals book the calls whose leases have expired
		}
	}
}

// saveChanged saves the allowances of which the database may have other values.
func (b *Service) saveChanged(ctx context.Context) {
	const chunk = 200 // in one transaction
	b.mu.Lock()
	var changed []*allowance
	for _, p := range b.allowances {
		if !b.lease.acquired {
			break // the first renewal would remove it
		}
		p.grantOverdraft()
		if p.changed() && !p.busy {
			p.busy = true
			changed = append(changed, p)
		}
	}
	b.mu.Unlock()
	for allowances := range slices.Chunk(changed, chunk) {
		b.saveThese(ctx, allowances)
	}
}

func (b *Service) saveThese(ctx context.Context, allowances []*allowance) {
	b.mu.Lock()
	held := make([]models.Hold, 0, len(allowances))
	for _, p := range allowances {
		held = append(held, p.asHold())
	}
	b.mu.Unlock()
	err := b.saveHolds(ctx, b.replica, slices.Clone(held))
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, p := range allowances {
		p.busy = false
		p.uncertain = true
		if err == nil {
			p.recorded(held[i].Granted, held[i].Granted != held[i].Moved)
		}
		b.requestGrant(ctx, p)
	}
}

// close ends the lease. It returns all but what calls have reserved or spent.
func (b *Service) close(ctx context.Context) {
	b.mu.Lock()
	b.lease.closed = true
	acquired := b.lease.acquired
	for _, p := range b.allowances {
		b.fail(p, p.calls, errClosed)
	}
	b.mu.Unlock()
	b.requests.Wait()
	if !acquired {
		return
	}
	b.mu.Lock()
	var held []models.Hold
	for _, p := range b.allowances {
		p.giveBack(max(p.free, 0))
		p.grantOverdraft()
		held = append(held, p.asHold())
	}
	renewal := models.Renewal{Replica: b.replica, Lease: b.leaseTerms()}
	b.running.note(&renewal, b.now())
	b.mu.Unlock()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if len(renewal.Running)+len(renewal.Recorded) > 0 {
		// What fails here is booked when the lease expires: nothing for a call that the ledger has.
		_, _ = b.renew(last, renewal)
	}
	if err := b.endLease(last, b.replica, held); err != nil {
		b.log.Warn("allowances of budgets are not given back: they are free when the lease expires", "error", err)
	}
}
