// Package alert tells a webhook of the operator that a key, a user or a team has reached a
// share of its budget.
package alert

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"modelgateway/models"
	"modelgateway/services/budget"
)

// Options are the parts of Alerts.
type Options struct {
	Store *models.Store
	URL   string
	Key   []byte // signs
	Log   *slog.Logger
	Now   func() time.Time
	Every time.Duration // how often other replicas' alerts are looked for; zero: a minute
	Waits []time.Duration
	Limit time.Duration // of one post; zero: ten seconds
}

// Alerts keeps the alerts in the database and sends them. Of several replicas one sends
// an alert: the one that has claimed it. A claim ends with its lease, so that another
// replica sends what a killed one had claimed.
type Alerts struct {
	opts      Options
	client    *http.Client
	wake      chan struct{}
	told      map[string]bool // what was added already; used by the Watch's goroutine only
	delivered atomic.Int64
	failed    atomic.Int64
	abandoned atomic.Int64
}

// retries are the waits before the second post and those after it: 20 hours together.
func retries() []time.Duration {
	return []time.Duration{
		10 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 12 * time.Hour,
	}
}

// New returns Alerts that send nothing until Run.
func New(o Options) *Alerts {
	if o.Every == 0 {
		o.Every = time.Minute
	}
	if o.Waits == nil {
		o.Waits = retries()
	}
	if o.Limit == 0 {
		o.Limit = 10 * time.Second
	}
	return &Alerts{opts: o, client: client(o.Limit), wake: make(chan struct{}, 1), told: map[string]bool{}}
}

// Delivered is how many alerts the receiver accepted from this replica.
func (a *Alerts) Delivered() float64 { return float64(a.delivered.Load()) }

// Failed is how many posts of this replica failed.
func (a *Alerts) Failed() float64 { return float64(a.failed.Load()) }

// Abandoned is how many alerts this replica gave up.
func (a *Alerts) Abandoned() float64 { return float64(a.abandoned.Load()) }

// Reached adds the alerts of accounts that have spent 80 % of their budget or more.
func (a *Alerts) Reached(ctx context.Context, reached []budget.Reached) error {
	var alerts []models.BudgetAlert
	told := map[string]bool{}
	for _, r := range reached {
		for _, threshold := range budget.Thresholds() {
			if r.Spent*100 < r.Budget*threshold {
				continue
			}
			row := newAlert(r, threshold)
			name := identity(&row)
			told[name] = true
			if !a.told[name] {
				alerts = append(alerts, row)
			}
		}
	}
	if len(alerts) > 0 {
		const kept = 100 // days, more than the longest window
		before := reached[0].At.AddDate(0, 0, -kept).UTC().Format(time.DateOnly)
		if err := a.opts.Store.AddBudgetAlerts(ctx, alerts, before); err != nil {
			return err
		}
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
	a.told = told
	return nil
}

func newAlert(r budget.Reached, threshold int64) models.BudgetAlert {
	at := r.At.UnixMicro()
	return models.BudgetAlert{
		Account: r.Kind.Account(r.ID), Span: r.Span, Period: r.Span.FirstDay(r.At), Threshold: threshold,
		Budget: r.Budget, Spent: r.Spent, ID: "msg_" + rand.Text(), CreatedAt: at, DueAt: at,
	}
}

// Run sends the alerts that are due until ctx ends.
func (a *Alerts) Run(ctx context.Context) {
	failing := false
	for {
		wait, err := a.Send(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			a.opts.Log.Warn("budget alerts could not be read or written: the gateway tries again in a minute", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-time.After(wait):
		}
	}
}

// Send sends the alerts that are due, and returns how long to wait for the next.
func (a *Alerts) Send(ctx context.Context) (time.Duration, error) {
	for {
		lease := a.opts.Now().Add(6 * a.opts.Limit)
		row, err := a.opts.Store.ClaimBudgetAlert(ctx, a.opts.Now().UnixMicro(), lease.UnixMicro())
		if errors.Is(err, models.ErrNotFound) {
			break
		}
		if err != nil {
			return a.opts.Every, err
		}
		if err := a.deliver(ctx, row); err != nil {
			return a.opts.Every, err
		}
	}
	due, err := a.opts.Store.NextBudgetAlert(ctx)
	if err != nil || due == 0 {
		return a.opts.Every, err
	}
	const least = 10 * time.Millisecond // what is due at once another replica is claiming
	return min(a.opts.Every, max(time.UnixMicro(due).Sub(a.opts.Now()), least)), nil
}

// deliver posts a claimed alert and notes how it went.
func (a *Alerts) deliver(ctx context.Context, row *models.BudgetAlert) error {
	err := a.post(ctx, row)
	if err == nil {
		a.delivered.Add(1)
	}
	if ctx.Err() != nil {
		// The gateway stops. Another replica, or the next start, sends it without waiting.
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		due := a.opts.Now().UnixMicro()
		if err == nil {
			due = 0
		}
		return a.opts.Store.PutOffBudgetAlert(rest, row, due)
	}
	if err == nil {
		return a.opts.Store.PutOffBudgetAlert(ctx, row, 0)
	}
	a.failed.Add(1)
	if row.Attempts > len(a.opts.Waits) {
		a.abandoned.Add(1)
		a.opts.Log.Error("a budget alert could not be delivered and is dropped",
			"alert", row.ID, "account", row.Account, "percent", row.Threshold, "attempts", row.Attempts, "error", err)
		return a.opts.Store.PutOffBudgetAlert(ctx, row, 0)
	}
	wait := a.opts.Waits[row.Attempts-1]
	a.opts.Log.Warn("a budget alert could not be delivered: it is posted again after next_try",
		"alert", row.ID, "account", row.Account, "percent", row.Threshold, "next_try", wait.String(), "error", err)
	return a.opts.Store.PutOffBudgetAlert(ctx, row, a.opts.Now().Add(wait).UnixMicro())
}
