package alert

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// message is the body of a post. Its form is that of the specification of Standard
// Webhooks: type, timestamp and data.
type message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // when the share was seen to be reached
	Data      data      `json:"data"`
}

type data struct {
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

// client follows no redirect: the address of the setting is the only one that is told.
func client(limit time.Duration) *http.Client {
	return &http.Client{
		Timeout:       limit,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: limit},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// identity tells alerts apart as the primary key does.
func identity(a *models.BudgetAlert) string {
	return fmt.Sprintf("%s %s %s %d %d", a.Account, a.Span, a.Period, a.Threshold, a.Budget)
}

func body(a *models.BudgetAlert) ([]byte, error) {
	kind, id := a.Owner()
	m := message{"budget.threshold_reached", time.UnixMicro(a.CreatedAt).UTC(), data{
		Kind: string(kind), ID: id, Name: a.Name, Threshold: a.Threshold, Window: string(a.Span),
		LimitUSD: api.USD(a.Budget), SpentUSD: api.USD(a.Spent),
	}}
	if start, err := time.Parse(time.DateOnly, a.Period); err == nil {
		end := a.Span.End(start)
		m.Data.PeriodStart, m.Data.PeriodEnd = &start, &end
	}
	return json.Marshal(m)
}

// sign is the signature of Standard Webhooks, version 1.
func sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// post posts an alert once. Its error does not show the URL, which may be a credential.
func (a *Alerts) post(ctx context.Context, row *models.BudgetAlert) error {
	text, err := body(row)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.opts.URL, bytes.NewReader(text))
	if err != nil {
		return errors.New("ALERT_WEBHOOK_URL is not a URL")
	}
	timestamp := strconv.FormatInt(a.opts.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "modelgateway")
	req.Header.Set("Webhook-Id", row.ID)
	req.Header.Set("Webhook-Timestamp", timestamp)
	req.Header.Set("Webhook-Signature", sign(a.opts.Key, row.ID, timestamp, text))
	resp, err := a.client.Do(req)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			return of.Err
		}
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	const enough = 4 << 10
	_, _ = io.CopyN(io.Discard, resp.Body, enough)
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the receiver answered %d", resp.StatusCode)
	}
	return nil
}
