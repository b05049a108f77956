// Package budget keeps calls within budgets, over all replicas together.
package budget

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
)

// Budget is what a call is to be paid from.
type Budget struct {
	Account string // models.KeyAccount, or models.GatewayAccount
	Window  models.Window
	Limit   int64  // micro-dollars in each window
	Name    string // for messages: "this API key", or "the gateway"
}

// Options are what the service needs.
type Options struct {
	Store   *models.Store
	Log     *slog.Logger
	Now     func() time.Time
	Replica string // the name of this process and of no other; empty = one is made up
}

// Service reserves what calls can cost at most, so that no budget is ever
// overdrawn, however many replicas there are.
//
// The database is the truth. A replica holds allowances, which it is granted by
// the database and from which it reserves by itself. What a call has cost stays
// in the replica's hold until the ledger moves it, in one transaction, to what
// is spent. So for each budget spent and held together are never more than its
// limit, but for calls that cost more than was thought, and for those of a
// replica that was cut off from the database for longer than its lease.
//
// A replica may only use what it holds while its lease stands. The database
// measures it by its own clock, the replica by its own from before it asked.
// A replica that is killed loses its holds with its lease; one that was only
// cut off or asleep finds that out before it reserves anything else.
type Service struct {
	store   *models.Store
	log     *slog.Logger
	now     func() time.Time
	replica string
	beat    time.Duration // all other times follow from it
	patient time.Duration // how long a call waits for the database
	grant   func(context.Context, models.GrantRequest) (models.Grant, error)
	renew   func(context.Context, models.Renewal) (models.Renewed, error)
	enter   func(context.Context, string, []models.Hold) error
	leave   func(context.Context, string, []models.Hold) error

	renewing sync.Mutex     // one renewal at a time
	asking   sync.WaitGroup // questions under way
	hurry    chan struct{}  // something is to be entered soon

	mu     sync.Mutex
	purses map[models.HoldKey]*purse
	days   days
	lease  lease
	warned time.Time
	stats  Stats
}

// Stats count since the start, but for Held and Free, which are micro-dollars now.
type Stats struct {
	Held      int64 // of all budgets: free, reserved, or spent and not yet in the ledger
	Free      int64
	Questions uint64 // that the database was asked
	Failures  uint64 // of these
	Refused   uint64 // calls that were more than was left
	Overdrawn uint64 // calls that cost more than was reserved for them
	Lost      uint64 // leases that ran out
}

const (
	budgetBeat    = 5 * time.Second
	budgetPatient = 2500 * time.Millisecond
	budgetLast    = 3 * time.Second // for giving all back when the gateway stops
)

// New returns a service that works at once, and keeps what it holds only
// while Run runs.
func New(o Options) *Service {
	if o.Replica == "" {
		o.Replica = rand.Text()
	}
	return &Service{
		store: o.Store, log: o.Log, now: o.Now, replica: o.Replica, beat: budgetBeat, patient: budgetPatient,
		grant: o.Store.Grant, renew: o.Store.Renew, enter: o.Store.SaveHolds, leave: o.Store.EndLease,
		hurry: make(chan struct{}, 1), purses: map[models.HoldKey]*purse{},
	}
}

// Replica is the name under which the ledger takes off what was spent.
func (b *Service) Replica() string { return b.replica }

// Stats are for metrics.
func (b *Service) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	for _, p := range b.purses {
		s.Held += p.granted - p.moved
		s.Free += p.free
	}
	return s
}

var (
	errClosed = errors.New("budgets are closed")
	errSlow   = errors.New("the database has not said in time what is left of a budget")
	errMany   = errors.New("a call is paid from two budgets at most")
)

// Left is what is neither spent nor held of a budget in its present window, as
// far as this replica has asked; the whole limit when it has not.
func (b *Service) Left(of Budget) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.purses[models.HoldKey{Account: of.Account, Since: b.days.since(of.Window, b.now())}]; p != nil {
		return p.left
	}
	return of.Limit
}

// Reserve sets amount aside in all of the budgets, at most two, or in none: the
// error is a 402 then. They are those of the windows that at, the begin of the
// call, lies in. Without budgets the reservation is nil. It is a 503 when the
// database is asked and does not answer, and ctx's error when ctx ends first.
func (b *Service) Reserve(ctx context.Context, at time.Time, amount int64, of ...Budget) (*Reservation, error) {
	if len(of) == 0 {
		return nil, nil
	}
	r := &Reservation{budgets: b, amount: max(amount, 0)}
	if len(of) > len(r.purses) {
		return nil, api.Internal(errMany)
	}
	n := b.reserveNow(r, at, of)
	if n == len(of) {
		return r, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.patient, errSlow)
	defer cancel()
	for i := n; i < len(of); i++ {
		p, err := b.wait(ctx, &request{budget: of[i], at: at, amount: r.amount, done: make(chan error, 1)})
		if err != nil {
			r.Settle(0)
			return nil, err
		}
		r.purses[i] = p
	}
	return r, nil
}

// reserveNow reserves from the first budgets for which nobody needs be asked,
// and says from how many.
func (b *Service) reserveNow(r *Reservation, at time.Time, of []Budget) int {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	stands := b.lease.stands(now)
	for i := range of {
		p := b.purse(models.HoldKey{Account: of[i].Account, Since: b.days.since(of[i].Window, at)})
		if b.lease.closed || !p.has(r.amount, of[i].Limit, stands) {
			return i
		}
		p.take(r.amount)
		r.purses[i] = p
	}
	return len(of)
}

// purse is the one of a budget's window; b.mu is held.
func (b *Service) purse(of models.HoldKey) *purse {
	p := b.purses[of]
	if p == nil {
		p = &purse{hold: of}
		b.purses[of] = p
	}
	return p
}

// warns says whether it is time for a warning, and asks for what was spent too
// much to be entered; b.mu is held.
func (b *Service) warns() bool {
	b.soon()
	now := b.now()
	if now.Sub(b.warned) < time.Minute {
		return false
	}
	b.warned = now
	return true
}

// soon has what has changed entered before the next beat.
func (b *Service) soon() {
	select {
	case b.hurry <- struct{}{}:
	default:
	}
}

// Written says what the ledger has moved from this replica's holds to what is
// spent, after its transaction. What it will never write it must not say: that
// stays held for as long as the replica lives.
func (b *Service) Written(moved map[models.HoldKey]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for h, cost := range moved {
		if p := b.purses[h]; p != nil {
			p.moved += cost
		}
	}
}
