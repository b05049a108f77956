// Package budget keeps calls within budgets, over all replicas together: a replica
// reserves from allowances that the database grants to it.
package budget

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"modelgateway/api"
	"modelgateway/models"
)

// Budget is a budget that pays for a call.
type Budget struct {
	Account string // of a models.Level, or models.GatewayAccount
	Window  models.Window
	Limit   int64  // micro-dollars in each window
	Name    string // for messages: of the level, "the gateway" or "this session"
	Session string // of a session's budget: the name of the level that has set it; else empty
}

// Options configure a Service.
type Options struct {
	Store   *models.Store
	Log     *slog.Logger
	Now     func() time.Time
	Replica string // the name of this process and of no other; empty: New makes one
}

// Service reserves what calls are expected to cost, or what they can cost at most, in their
// budgets, however many replicas there are.
//
// The database is the only source of truth. It grants allowances to a replica,
// and the replica reserves from them without the database. What a call has cost
// stays in the allowance until the ledger moves it, in one transaction, to what is
// spent. So for each budget, spent and granted together never exceed its limit,
// except for calls that cost more than was reserved for them when they were admitted, and
// for those of a replica that was cut off from the database for longer than its lease.
//
// A replica may use its allowances only while its lease is valid. The database
// measures the lease by its own clock, the replica by its own from before it sent
// the renewal. A replica that is killed loses its allowances with its lease. One
// that was cut off or suspended detects that before it reserves anything else.
// docs/adr/0060 has a diagram.
type Service struct {
	store     *models.Store
	log       *slog.Logger
	now       func() time.Time // is not called while mu is held
	replica   string
	heartbeat time.Duration // all other times follow from it
	maxWait   time.Duration // how long a call waits for the database
	grant     func(context.Context, models.GrantRequest) (models.Grant, error)
	renew     func(context.Context, models.Renewal) (models.Renewed, error)
	saveHolds func(context.Context, string, []models.Hold) error
	endLease  func(context.Context, string, []models.Hold) error
	lost      func(context.Context) (bool, error) // whether running calls are noted, which others may have left

	swept    time.Time // when Run last looked for calls that others have left
	renewing singleflight.Group
	requests sync.WaitGroup // to the database, under way
	next     *time.Timer    // the next tick of Run

	mu         sync.Mutex
	allowances map[models.HoldKey]*allowance
	days       days
	lease      lease
	running    running
	warned     time.Time
	stats      Stats
}

// Stats count since the start, but for Held and Free, which are micro-dollars now.
type Stats struct {
	Held      int64 // of all budgets: free, reserved, or spent and not yet in the ledger
	Free      int64
	Requests  uint64 // to the database for grants
	Failures  uint64 // of these
	Refused   uint64 // calls that needed more than was left
	Overdrawn uint64 // calls that cost more than they can
	Lost      uint64 // leases that expired
}

const (
	defaultHeartbeat = 5 * time.Second
	defaultMaxWait   = 2500 * time.Millisecond
	shutdownTime     = 3 * time.Second // to end the lease when the gateway stops
)

// New returns a service that works at once. It keeps its lease only while Run runs.
func New(o Options) *Service {
	if o.Replica == "" {
		o.Replica = rand.Text()
	}
	return &Service{
		store: o.Store, log: o.Log, now: o.Now, replica: o.Replica, heartbeat: defaultHeartbeat, maxWait: defaultMaxWait,
		grant: o.Store.Grant, renew: o.Store.Renew, saveHolds: o.Store.SaveHolds, endLease: o.Store.EndLease,
		lost: o.Store.AnyRunning, running: newRunning(),
		next: time.NewTimer(defaultHeartbeat), allowances: map[models.HoldKey]*allowance{},
	}
}

// Replica is the name under which the ledger moves what was spent.
func (b *Service) Replica() string { return b.replica }

// Stats returns the present figures, for metrics.
func (b *Service) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	for _, p := range b.allowances {
		s.Held += p.granted - p.moved
		s.Free += p.free
	}
	return s
}

var (
	errClosed = errors.New("budgets are closed")
	errSlow   = errors.New("the database did not grant an allowance of a budget in time")
	errMany   = errors.New("more budgets for one call than there are levels")
)

// Left is what is neither spent nor granted of a budget in its present window, by
// the last grant to this replica; the whole limit when there was none.
func (b *Service) Left(of Budget) int64 {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.allowances[models.HoldKey{Account: of.Account, Since: b.days.since(of.Window, now)}]; p != nil {
		return p.left
	}
	return of.Limit
}

// Reserve reserves what a call needs in all of the budgets, at most one for each level, or in none: the
// error is a 402 then. The windows are those of at, the begin of the call. Without
// budgets the reservation is nil. The error is a 503 when the database is needed
// and does not answer in time, and that of ctx when ctx ends first.
func (b *Service) Reserve(ctx context.Context, at time.Time, need Need, of ...Budget) (*Reservation, error) {
	if len(of) == 0 {
		return nil, nil
	}
	r := &Reservation{budgets: b, amount: max(need.Amount, 0), most: need.Most}
	if len(of) > len(r.allowances) {
		return nil, api.Internal(errMany)
	}
	n := b.reserveNow(r, at, of)
	if n == len(of) {
		return r, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.maxWait, errSlow)
	defer cancel()
	for i := n; i < len(of); i++ {
		p, err := b.wait(ctx, &waiter{
			budget: of[i], at: at, amount: r.amount, expected: need.Most > need.Amount, done: make(chan error, 1),
		})
		if err != nil {
			r.Settle(0)
			return nil, err
		}
		r.allowances[i] = p
	}
	return r, nil
}

// reserveNow reserves from the first budgets whose allowances cover the amount,
// and returns from how many.
func (b *Service) reserveNow(r *Reservation, at time.Time, of []Budget) int {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	leaseValid := b.lease.valid(now)
	for i := range of {
		p := b.allowance(models.HoldKey{Account: of[i].Account, Since: b.days.since(of[i].Window, at)})
		if b.lease.closed || !p.covers(r.amount, of[i].Limit, leaseValid) {
			return i
		}
		p.take(r.amount)
		r.allowances[i] = p
	}
	return len(of)
}

// allowance finds the allowance of a budget's window, or begins one; b.mu is held.
func (b *Service) allowance(of models.HoldKey) *allowance {
	p := b.allowances[of]
	if p == nil {
		p = &allowance{key: of}
		b.allowances[of] = p
	}
	return p
}

// shouldWarn reports whether it is time for another warning; b.mu is held.
func (b *Service) shouldWarn(now time.Time) bool {
	if now.Sub(b.warned) < time.Minute {
		return false
	}
	b.warned = now
	return true
}

// wakeUp has Run save changed allowances before its next tick.
func (b *Service) wakeUp() {
	b.next.Reset(0)
}

// Written receives from the ledger the calls of each transaction, which has moved
// their cost from this replica's holds to what is spent. The ledger does not report
// rows that it has dropped: their cost stays held until the replica ends.
func (b *Service) Written(calls []models.Call) {
	moved := map[models.HoldKey]int64{}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range calls {
		if calls[i].Holds[0].Account != "" && b.running.written(&calls[i], now) {
			calls[i].AddCost(moved)
		}
	}
	for h, cost := range moved {
		if p := b.allowances[h]; p != nil {
			p.moved += cost
		}
	}
}
