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

	"modelgateway/models"
	"modelgateway/services/mail"
)

// message is the body of a post. Its form is that of the specification of Standard
// Webhooks: type, timestamp and data.
type message struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"` // when it was seen
	Data      json.RawMessage `json:"data"`
}

// message is the mail of an alert.
func (a *Alerts) message(row *models.Alert) *mail.Message {
	return &mail.Message{
		Kind: "alert", To: a.opts.To, Subject: "Model Gateway: " + row.Text,
		Text: fmt.Sprintf("Hello,\n\n%s.\n\nSeen on %s. What was told, and to whom:\n\n%s\n", row.Text,
			time.UnixMicro(row.CreatedAt).UTC().Format("2 January 2006 15:04 UTC"), a.opts.Page),
	}
}

// client follows no redirect: the address of the setting is the only one that is told.
func client(limit time.Duration) *http.Client {
	return &http.Client{
		Timeout:       limit,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: limit},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// sign is the signature of Standard Webhooks, version 1.
func sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// post posts an alert once. Its error does not show the URL, which may be a credential.
func (a *Alerts) post(ctx context.Context, row *models.Alert) error {
	text, err := json.Marshal(message{row.Event, time.UnixMicro(row.CreatedAt).UTC(), json.RawMessage(row.Data)})
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
