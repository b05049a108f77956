// Package alert tells the operator, by a webhook and by mail, what needs a hand: a budget that is
// nearly spent, a provider that fails, a model in use that ends soon.
package alert

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"modelgateway/models"
	"modelgateway/services/mail"
)

// The events, by the names that the webhook is told.
const (
	BudgetReached    = "budget.threshold_reached"
	ProviderFailed   = "provider.failed"
	ProviderReturned = "provider.returned"
	ModelRetires     = "model.retires"
	Test             = "test"
)

// The ways.
const (
	Webhook = "webhook"
	Mail    = "mail"
)

// Options are the parts of Alerts.
type Options struct {
	Store *models.Store
	URL   string // of the webhook; empty: none
	Key   []byte // signs

	To   string // address that alerts are mailed to; empty: none
	Mail func(context.Context, *mail.Message) error
	Page string // of the console, for the mails

	Providers func() map[string]bool                                 // whether one works, as far as this replica knows
	Retiring  func(context.Context, time.Time) ([]Retirement, error) // models in use that end before a time

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
	told      map[string]bool  // what was added already; used by the Watch's goroutine only
	seen      map[string]state // of providers; used by Watch only, as is looked
	looked    time.Time        // when the last alerts of providers were read
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
	return &Alerts{opts: o, client: client(o.Limit), wake: make(chan struct{}, 1), told: map[string]bool{}, seen: map[string]state{}}
}

// On says whether a webhook or an address is configured.
func (a *Alerts) On() bool { return len(a.ways()) > 0 }

func (a *Alerts) ways() (ways []string) {
	if a.opts.URL != "" {
		ways = append(ways, Webhook)
	}
	if a.opts.To != "" {
		ways = append(ways, Mail)
	}
	return ways
}

// Delivered is how many alerts this replica sent that were accepted.
func (a *Alerts) Delivered() float64 { return float64(a.delivered.Load()) }

// Failed is how many attempts of this replica failed.
func (a *Alerts) Failed() float64 { return float64(a.failed.Load()) }

// Abandoned is how many alerts this replica gave up.
func (a *Alerts) Abandoned() float64 { return float64(a.abandoned.Load()) }

// event is what is told, once in each way.
type event struct {
	name, about, period string
	text                string
	data                any
	at                  time.Time
	lasting             bool // it is never told again
}

// alerts are the rows of an event.
func (a *Alerts) alerts(e event) (rows []models.Alert, err error) {
	const kept = 100 // days, more than the longest window
	data, err := json.Marshal(e.data)
	for _, way := range a.ways() {
		row := models.Alert{
			ID: "msg_" + rand.Text(), Event: e.name, About: e.about, Period: e.period, Way: way, Text: e.text, Data: string(data),
			CreatedAt: e.at.UnixMicro(), DueAt: e.at.UnixMicro(),
		}
		if !e.lasting {
			row.KeptUntil = e.at.AddDate(0, 0, kept).UnixMicro()
		}
		rows = append(rows, row)
	}
	return rows, err
}

// add adds the alerts of events that are new, and has them sent.
func (a *Alerts) add(ctx context.Context, events ...event) error {
	var rows []models.Alert
	for _, e := range events {
		more, err := a.alerts(e)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	if len(rows) == 0 {
		return nil
	}
	if err := a.opts.Store.AddAlerts(ctx, rows, a.opts.Now().UnixMicro()); err != nil {
		return err
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return nil
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
			a.opts.Log.Warn("alerts could not be read or written: the gateway tries again in a minute", "error", err)
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
		row, err := a.opts.Store.ClaimAlert(ctx, a.opts.Now().UnixMicro(), lease.UnixMicro())
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
	due, err := a.opts.Store.NextAlert(ctx)
	if err != nil || due == 0 {
		return a.opts.Every, err
	}
	const least = 10 * time.Millisecond // what is due at once another replica is claiming
	return min(a.opts.Every, max(time.UnixMicro(due).Sub(a.opts.Now()), least)), nil
}

// send sends an alert once, in its way.
func (a *Alerts) send(ctx context.Context, row *models.Alert) error {
	switch {
	case row.Way == Webhook && a.opts.URL != "":
		return a.post(ctx, row)
	case row.Way == Mail && a.opts.To != "":
		return a.opts.Mail(ctx, a.message(row))
	}
	return errors.New("this way is not configured any more")
}

// deliver sends a claimed alert and notes how it went.
func (a *Alerts) deliver(ctx context.Context, row *models.Alert) error {
	err := a.send(ctx, row)
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
		return a.opts.Store.PutOffAlert(rest, row, due, "")
	}
	if err == nil {
		return a.opts.Store.PutOffAlert(ctx, row, 0, "")
	}
	a.failed.Add(1)
	attrs := []any{"alert", row.ID, "event", row.Event, "about", row.About, "way", row.Way}
	if row.Attempts > len(a.opts.Waits) {
		a.abandoned.Add(1)
		a.opts.Log.Error("an alert could not be delivered and is dropped", append(attrs, "attempts", row.Attempts, "error", err)...)
		return a.opts.Store.PutOffAlert(ctx, row, 0, err.Error())
	}
	wait := a.opts.Waits[row.Attempts-1]
	a.opts.Log.Warn("an alert could not be delivered: it is sent again after next_try",
		append(attrs, "next_try", wait.String(), "error", err)...)
	return a.opts.Store.PutOffAlert(ctx, row, a.opts.Now().Add(wait).UnixMicro(), err.Error())
}
