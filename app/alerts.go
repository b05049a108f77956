package app

import (
	"time"

	"modelgateway/services/alert"
)

// newAlerts is nil where no webhook is configured.
func (g *gateway) newAlerts() *alert.Alerts {
	cfg := g.settings.Load()
	if cfg.AlertWebhook.URL.IsZero() {
		return nil
	}
	if !cfg.RequireAuth {
		g.started.add("ALERT_WEBHOOK_URL", "ALERT_WEBHOOK_URL is told nothing of calls without a key, which REQUIRE_AUTH=false allows: "+
			"only keys, users and teams have budgets that alert")
	}
	return alert.New(alert.Options{
		Store: g.store, URL: cfg.AlertWebhook.URL.Reveal(), Key: []byte(cfg.AlertWebhook.Key.Reveal()), Log: g.log, Now: time.Now,
	})
}

func (g *gateway) alertMetrics() {
	g.metrics.CounterFunc("alerts_delivered_total", "Alerts of budgets that ALERT_WEBHOOK_URL accepted from this replica.", g.alerts.Delivered)
	g.metrics.CounterFunc("alerts_failed_total", "Posts of alerts to ALERT_WEBHOOK_URL that failed.", g.alerts.Failed)
	g.metrics.CounterFunc("alerts_abandoned_total", "Alerts of budgets that were given up after the last attempt.", g.alerts.Abandoned)
}
