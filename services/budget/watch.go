package budget

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"modelgateway/models"
)

// Shares of a budget from which a Watch counts it.
const (
	nearlySpent = 80 // percent
	wholeBudget = 100
)

// mostGreatest bounds the accounts that a Watch keeps.
const mostGreatest = 20

// Thresholds are the shares of a budget of which accounts alert, in percent.
func Thresholds() []int64 { return []int64{nearlySpent, wholeBudget} }

// WatchOptions are the parts of a Watch.
type WatchOptions struct {
	Store        *models.Store
	UserDefaults models.Limits // of users who have no budget of their own
	Booked       func() int64  // grows with the rows of the ledger
	Every        time.Duration // zero: a minute
	Log          *slog.Logger
	Now          func() time.Time
	Reached      func(ctx context.Context, reached []Reached) error // nil: not told
}

// Reached is an account that has spent 80 % of its budget or more.
type Reached struct {
	Kind models.BudgetKind
	models.BudgetUse
	At time.Time // when it was counted
}

// share is the part of its budget that the account has spent, in percent.
func (r *Reached) share() float64 { return float64(r.Spent) / float64(r.Budget) * wholeBudget }

// Watch counts the keys, users and teams whose budget is nearly or wholly spent, for
// the metrics and for administrators. It is not on the path of calls.
type Watch struct {
	opts     WatchOptions
	mu       sync.Mutex
	nearly   map[string]float64 // by kind
	wholly   map[string]float64
	greatest []Reached
}

// NewWatch returns a Watch that has counted nothing.
func NewWatch(o WatchOptions) *Watch {
	if o.Every == 0 {
		o.Every = time.Minute
	}
	return &Watch{opts: o}
}

// NearlySpent is how many have spent 80 % of their budget or more, by kind.
func (w *Watch) NearlySpent() map[string]float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nearly
}

// Spent is how many have spent all of their budget, by kind.
func (w *Watch) Spent() map[string]float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wholly
}

// Greatest are the accounts that have spent the greatest shares of their budgets, 80 %
// or more, at most 20 of them: the greatest share first.
func (w *Watch) Greatest() []Reached {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.greatest
}

// Run counts at once, and then every minute while calls are booked or a budget is
// nearly spent, until ctx ends. Counting takes one part in a hundred of the time at
// most, however many budgets there are.
func (w *Watch) Run(ctx context.Context) {
	const share = 100
	failing, counted := false, int64(-1)
	for {
		wait := w.opts.Every
		if booked := w.opts.Booked(); booked != counted || w.some() {
			began := time.Now()
			err := w.Count(ctx)
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				counted = booked
			} else if !failing {
				w.opts.Log.Warn("the budgets that are nearly spent could not be counted: the gateway tries again in a minute", "error", err)
			}
			failing = err != nil
			wait = max(wait, share*time.Since(began))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// some says whether a budget was nearly spent.
func (w *Watch) some() bool {
	for _, n := range w.NearlySpent() {
		if n > 0 {
			return true
		}
	}
	return false
}

// Count counts once.
func (w *Watch) Count(ctx context.Context) error {
	nearly, wholly := map[string]float64{}, map[string]float64{}
	now := w.opts.Now() // one for all pages: a window may end meanwhile
	var reached, greatest []Reached
	for _, kind := range models.BudgetKinds() {
		nearly[string(kind)], wholly[string(kind)] = 0, 0
		const page = 1000
		for after, more := "", true; more; {
			used, err := w.opts.Store.BudgetsUsed(ctx, kind, now, w.opts.UserDefaults, after, page)
			if err != nil {
				return err
			}
			for _, u := range used {
				account := Reached{kind, u, now}
				share := account.share()
				if share >= nearlySpent {
					nearly[string(kind)]++
					greatest = append(greatest, account)
					if w.opts.Reached != nil {
						reached = append(reached, account)
					}
				}
				if share >= wholeBudget {
					wholly[string(kind)]++
				}
				after = u.ID
			}
			more = len(used) == page
			slices.SortStableFunc(greatest, func(a, b Reached) int { return cmp.Compare(b.share(), a.share()) })
			greatest = greatest[:min(len(greatest), mostGreatest)]
		}
	}
	w.mu.Lock()
	w.nearly, w.wholly, w.greatest = nearly, wholly, greatest
	w.mu.Unlock()
	if len(reached) == 0 {
		return nil
	}
	return w.opts.Reached(ctx, reached)
}
