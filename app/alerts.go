package app

import (
	"context"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/services/alert"
	"modelgateway/services/ledger"
	"modelgateway/services/mail"
)

func (g *gateway) newAlerts() *alert.Alerts {
	cfg := g.settings.Load()
	alerts := alert.New(alert.Options{
		Store: g.store, URL: cfg.AlertWebhook.URL.Reveal(), Key: []byte(cfg.AlertWebhook.Key.Reveal()), To: cfg.AlertEmail,
		Mail: func(ctx context.Context, m *mail.Message) error { return g.mail.Send(ctx, m) }, Page: cfg.PublicURL + "/alerts",
		Providers: func() map[string]bool { return g.calls.Router().Upstreams.Working() }, Retiring: g.retiring,
		Log: g.log, Now: time.Now,
	})
	if alerts.On() && !cfg.RequireAuth {
		g.started.add("ALERT_WEBHOOK_URL", "ALERT_WEBHOOK_URL and ALERT_EMAIL are told nothing of calls without a key, which REQUIRE_AUTH=false "+
			"allows: only keys, users and teams have budgets that alert")
	}
	return alerts
}

func (g *gateway) alertMetrics() {
	g.metrics.CounterFunc("alerts_delivered_total", "Alerts that this replica sent and that were accepted.", g.alerts.Delivered)
	g.metrics.CounterFunc("alerts_failed_total", "Attempts to send an alert that failed.", g.alerts.Failed)
	g.metrics.CounterFunc("alerts_abandoned_total", "Alerts that were given up after the last attempt.", g.alerts.Abandoned)
}

// retiring are the models that end before a time and were called in the last 30 days.
func (g *gateway) retiring(ctx context.Context, before time.Time) (soon []alert.Retirement, err error) {
	const month = 30
	report, err := g.usage.All(ctx, ledger.UsageRequest{
		GroupBy: "model", From: time.Now().UTC().AddDate(0, 0, -month).Format(time.DateOnly),
	})
	if err != nil {
		return nil, err
	}
	for _, used := range report.Rows {
		model, err := g.calls.Router().Models.Resolve(used.Model)
		if err != nil || model.State(time.Now()) == catalog.Retired || model.Ends.IsZero() || !model.Ends.Before(before) {
			continue
		}
		soon = append(soon, alert.Retirement{
			Model: model.ID, Provider: model.Provider, Ends: model.Ends, Successor: api.Maybe(model.Successor), Calls: used.Calls,
		})
	}
	return soon, nil
}

// lister reads the models of a provider with a key that is tried.
func (g *gateway) lister(provider, key string) (func(context.Context) ([]providers.Listed, error), error) {
	p, err := all.Trial(*g.settings.Load(), provider, key)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]providers.Listed, error) {
		return p.Provider.Abilities().Models(ctx, p.Keys[0].Reveal())
	}, nil
}
