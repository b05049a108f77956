package alert

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"

	"modelgateway/api"
	"modelgateway/models"
)

// Alerts lists what was told and what waits, the newest first.
func (a *Alerts) Alerts(ctx context.Context, p models.Page) ([]models.Alert, error) {
	return a.opts.Store.Alerts(ctx, p)
}

// Ways are the ways in which alerts can be sent. Of the webhook only the host is shown: the rest of its
// URL may be a credential.
func (a *Alerts) Ways() []api.AlertWay {
	host := ""
	if u, err := url.Parse(a.opts.URL); err == nil {
		host = u.Host
	}
	return []api.AlertWay{
		{Way: Webhook, Setting: "ALERT_WEBHOOK_URL", To: api.Maybe(host)},
		{Way: Mail, Setting: "ALERT_EMAIL", To: api.Maybe(a.opts.To)},
	}
}

// Test sends an alert that says nothing, once in each way, and returns how that went.
func (a *Alerts) Test(ctx context.Context) ([]models.Alert, error) {
	rows, err := a.alerts(event{
		name: Test, about: "test", period: rand.Text(), at: a.opts.Now(), text: "This is a test: alerts reach you", data: struct{}{},
	})
	if err != nil {
		return nil, api.Internal(err)
	}
	if len(rows) == 0 {
		return nil, api.Conflict(api.CodeAlertsNotConfigured, "",
			"no receiver of alerts is configured: set ALERT_WEBHOOK_URL or ALERT_EMAIL, and start the gateway again")
	}
	for i := range rows {
		rows[i].DueAt, rows[i].Attempts = 0, 1
		if err := a.send(ctx, &rows[i]); err != nil {
			rows[i].Error = err.Error()
		}
	}
	if err = a.opts.Store.AddAlerts(context.WithoutCancel(ctx), rows, a.opts.Now().UnixMicro()); err != nil {
		return nil, api.Unavailable(fmt.Errorf("keep the test: %w", err))
	}
	return rows, nil
}

// Show returns an alert in the form of the API.
func Show(row *models.Alert) api.Alert {
	state := "delivered"
	switch {
	case row.DueAt != 0:
		state = "waiting"
	case row.Error != "":
		state = "failed"
	}
	return api.Alert{
		ID: row.ID, Object: "alert", Event: row.Event, Way: row.Way, About: row.About, Text: row.Text, At: api.Seconds(row.CreatedAt),
		State: state, Attempts: row.Attempts, NextTry: api.Moment(row.DueAt), Error: api.Maybe(row.Error),
	}
}
