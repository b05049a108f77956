package budget

import (
	"context"
	"slices"
	"time"

	"modelgateway/models"
)

// lease is until when what is held may be used.
type lease struct {
	epoch   int  // how often it was lost
	begun   bool // it was had once
	forever bool // no other replica is there to take anything
	sent    time.Time
	until   time.Time
	renewed int
	looked  time.Time // at the purses
	closed  bool      // it is not to be had any more
}

// stands measures by two clocks: a machine that sleeps may stop one of them.
func (l *lease) stands(now time.Time) bool {
	return l.forever || now.Before(l.until) && now.UnixNano() < l.until.UnixNano()
}

// end ends the lease if it is still the one of that epoch.
func (l *lease) end(epoch int) {
	if l.epoch == epoch {
		l.until = time.Time{}
	}
}

// leaseTerms leave room for a beat that is lost, and for the time between a
// look at the clock and what is done then.
func (b *Service) leaseTerms() models.Lease {
	return models.Lease{Duration: 4 * b.beat, MaxSilence: 2 * b.beat, Grace: b.beat}
}

// live renews the lease if it does not stand.
func (b *Service) live(ctx context.Context) error {
	return b.keep(ctx, func(l *lease, now time.Time) bool { return l.stands(now) })
}

// beatOnce renews the lease if that was last done a beat ago.
func (b *Service) beatOnce(ctx context.Context) error {
	return b.keep(ctx, func(l *lease, now time.Time) bool {
		return l.forever || l.stands(now) && now.Sub(l.sent) < b.beat
	})
}

// keep renews the lease unless it is good.
func (b *Service) keep(ctx context.Context, good func(*lease, time.Time) bool) error {
	if lease := b.leased(); good(&lease, b.now()) {
		return nil
	}
	b.renewing.Lock()
	defer b.renewing.Unlock()
	lease, sent := b.leased(), b.now()
	if lease.closed {
		return errClosed
	}
	if good(&lease, sent) {
		return nil
	}
	const cleanEvery = 60
	renewed, err := b.renew(ctx, models.Renewal{
		Replica: b.replica, Lease: b.leaseTerms(), First: !lease.begun, Clean: lease.renewed%cleanEvery == 0,
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if lease.begun && !renewed.Kept {
		b.lose()
	}
	b.lease.begun, b.lease.forever = true, renewed.Alone
	b.lease.sent, b.lease.until = sent, sent.Add(4*b.beat-b.beat/10)
	b.lease.renewed++
	return nil
}

func (b *Service) leased() lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lease
}

// lose gives up all that is free: others may have it by now. What calls still
// need is held anew; b.mu is held.
func (b *Service) lose() {
	b.stats.Lost++
	b.lease.epoch++
	for _, p := range b.purses {
		p.giveBack(max(p.free, 0))
		p.owed = 0
		p.unsure = true
	}
	b.soon()
}

// Run keeps the lease and gives back what is not needed, until ctx ends; then
// all is given back. It is to end after the ledger has written its last row.
func (b *Service) Run(ctx context.Context) {
	const looks = 5 // in a beat
	tick := time.NewTicker(b.beat / looks)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.tick(ctx)
		case <-b.hurry:
			b.enterChanged(ctx)
		case <-ctx.Done():
			b.close(ctx)
			return
		}
	}
}

func (b *Service) tick(ctx context.Context) {
	b.mu.Lock()
	begun, now := b.lease.begun, b.now()
	if begun && now.Sub(b.lease.looked) >= b.beat {
		b.lease.looked = now
		for h, p := range b.purses {
			if !p.busy && p.look() {
				delete(b.purses, h)
			}
		}
	}
	b.mu.Unlock()
	if begun {
		// When the database is gone, those who need it say so.
		_ = b.beatOnce(ctx)
		b.enterChanged(ctx)
	}
}

// enterChanged tells the database of all that it has another idea of.
func (b *Service) enterChanged(ctx context.Context) {
	const few = 200 // in one transaction
	b.mu.Lock()
	var changed []*purse
	for _, p := range b.purses {
		if !b.lease.begun {
			break // the first renewal would remove it
		}
		p.admit()
		if p.changed() && !p.busy {
			p.busy = true
			changed = append(changed, p)
		}
	}
	b.mu.Unlock()
	for purses := range slices.Chunk(changed, few) {
		b.enterThese(ctx, purses)
	}
}

func (b *Service) enterThese(ctx context.Context, purses []*purse) {
	b.mu.Lock()
	held := make([]models.Hold, 0, len(purses))
	for _, p := range purses {
		held = append(held, p.holding())
	}
	b.mu.Unlock()
	err := b.enter(ctx, b.replica, slices.Clone(held))
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, p := range purses {
		p.busy = false
		p.unsure = true
		if err == nil {
			p.told(held[i].Granted, held[i].Granted != held[i].Moved)
		}
		b.ask(ctx, p)
	}
}

// close gives all back but what calls were reserved or have cost.
func (b *Service) close(ctx context.Context) {
	b.mu.Lock()
	b.lease.closed = true
	begun := b.lease.begun
	for _, p := range b.purses {
		b.fail(p, p.calls, errClosed)
	}
	b.mu.Unlock()
	b.asking.Wait()
	if !begun {
		return
	}
	b.mu.Lock()
	var held []models.Hold
	for _, p := range b.purses {
		p.giveBack(max(p.free, 0))
		p.admit()
		held = append(held, p.holding())
	}
	b.mu.Unlock()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), budgetLast)
	defer cancel()
	if err := b.leave(last, b.replica, held); err != nil {
		b.log.Warn("budgets are not given back: they are free when the lease is over", "error", err)
	}
}
