package alert

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/budget"
)

// budgetData is what the webhook is told of a budget.
type budgetData struct {
	Kind        string     `json:"kind"` // key, user or team
	ID          string     `json:"id"`
	Name        string     `json:"name"` // of a user the e-mail address
	Threshold   int64      `json:"threshold"`
	LimitUSD    api.USD    `json:"limit_usd"`
	SpentUSD    api.USD    `json:"spent_usd"`
	Window      string     `json:"window"`
	PeriodStart *time.Time `json:"period_start"` // null where the budget is of all time
	PeriodEnd   *time.Time `json:"period_end"`
}

// Reached adds the alerts of accounts that have spent 80 % of their budget or more.
func (a *Alerts) Reached(ctx context.Context, reached []budget.Reached) error {
	var events []event
	told := map[string]bool{}
	for _, r := range reached {
		for _, threshold := range budget.Thresholds() {
			if r.Spent*100 < r.Budget*threshold {
				continue
			}
			e := budgetEvent(r, threshold)
			told[e.about+" "+e.period] = true
			if !a.told[e.about+" "+e.period] {
				events = append(events, e)
			}
		}
	}
	if err := a.add(ctx, events...); err != nil {
		return err
	}
	a.told = told
	return nil
}

func budgetEvent(r budget.Reached, threshold int64) event {
	first := r.Span.FirstDay(r.At)
	data := budgetData{
		Kind: string(r.Kind), ID: r.ID, Name: r.Name, Threshold: threshold, Window: string(r.Span),
		LimitUSD: api.USD(r.Budget), SpentUSD: api.USD(r.Spent),
	}
	if start, err := time.Parse(time.DateOnly, first); err == nil {
		end := r.Span.End(start)
		data.PeriodStart, data.PeriodEnd = &start, &end
	}
	of := "in all"
	if r.Span != models.Total {
		of = "a " + string(r.Span)
	}
	return event{
		name: BudgetReached, about: r.Kind.Account(r.ID), at: r.At, data: data, lasting: r.Span == models.Total,
		period: fmt.Sprintf("%s %s %d %d", r.Span, first, threshold, r.Budget),
		text:   fmt.Sprintf("The %s %s has spent %d%% of its budget of $%s %s", r.Kind, r.Name, threshold, data.LimitUSD, of),
	}
}

// state is whether a provider works on this replica, and since when.
type state struct {
	works bool
	since time.Time
}

// Watch adds the alerts of providers and of models until ctx ends.
func (a *Alerts) Watch(ctx context.Context) {
	const every, models, again = 2 * time.Second, time.Hour, time.Minute
	failing, next := false, a.opts.Now()
	for {
		err := a.CheckProviders(ctx)
		if now := a.opts.Now(); err == nil && !now.Before(next) {
			next = now.Add(models)
			if err = a.checkModels(ctx, now); err != nil {
				next = now.Add(again)
			}
		}
		if err != nil && !failing && ctx.Err() == nil {
			a.opts.Log.Warn("alerts of providers and models could not be read or written: the gateway tries again", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// CheckProviders adds an alert for each provider that has begun to fail, or that works again. The
// replicas share what was told last: of a provider that fails on one of them and works on another,
// the first is told, and minutes later that it works; a replica on which it goes on failing does not
// tell that again.
func (a *Alerts) CheckProviders(ctx context.Context) error {
	const settled = 5 * time.Minute
	now := a.opts.Now()
	look := now.Sub(a.looked) >= a.opts.Every
	for name, works := range a.opts.Providers() {
		if was, ok := a.seen[name]; !ok || was.works != works {
			a.seen[name], look = state{works, now}, true
		}
	}
	if !look || len(a.seen) == 0 {
		return nil
	}
	a.looked = time.Time{}
	last, err := a.opts.Store.LastAlerts(ctx, ProviderFailed, ProviderReturned)
	if err != nil {
		return err
	}
	var events []event
	for name, is := range a.seen {
		was, told := last[name]
		at := time.UnixMicro(was.CreatedAt)
		changed, settled := is.since.After(at), now.Sub(at) >= settled
		e := event{name: ProviderReturned, about: name, at: now, data: map[string]string{"provider": name}, text: name + " answers again"}
		switch failed := was.Event == ProviderFailed; {
		case is.works && failed && (changed || settled):
		case !is.works && !failed && (!told || changed && settled):
			e.name, e.text = ProviderFailed, name+" fails: calls are refused or go to fallbacks. The page Providers shows why"
		default:
			continue
		}
		n, _ := strconv.Atoi(was.Period) // empty: the first
		e.period = strconv.Itoa(n + 1)
		events = append(events, e)
	}
	if err := a.add(ctx, events...); err != nil {
		return err
	}
	a.looked = now
	return nil
}

// Retirement is a model in use that ends soon.
type Retirement struct {
	Model     string    `json:"model"`
	Provider  string    `json:"provider"`
	Ends      time.Time `json:"ends"`      // first day on which it is not served
	Successor api.Maybe `json:"successor"` // null: none is known
	Calls     int64     `json:"calls"`     // of the last 30 days
}

// RetiresSoon is how long before its end a model in use is told of.
const RetiresSoon = 30 * 24 * time.Hour

func (a *Alerts) checkModels(ctx context.Context, now time.Time) error {
	retiring, err := a.opts.Retiring(ctx, now.Add(RetiresSoon))
	if err != nil {
		return err
	}
	var events []event
	for _, r := range retiring {
		text := fmt.Sprintf("%s is served until %s and was called %d times in the last 30 days",
			r.Model, r.Ends.Format("2 January 2006"), r.Calls)
		if r.Successor != "" {
			text += "; its successor is " + string(r.Successor)
		}
		events = append(events, event{
			name: ModelRetires, about: r.Model, period: r.Ends.Format(time.DateOnly), at: now, data: r, text: text, lasting: true,
		})
	}
	return a.add(ctx, events...)
}
