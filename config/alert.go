package config

import (
	"encoding/base64"
	"errors"
	"strings"
)

// AlertWebhook is told of budgets that are nearly spent. It is configured when URL is set;
// Key is set then as well.
type AlertWebhook struct {
	URL Secret // http or https; its path or query may be a credential
	Key Secret // the bytes of the secret themselves
}

func webhook(into *Secret) format {
	return format{"an http or https URL", func(text string) error {
		u, err := parseURL(text, "http", "https")
		if err != nil {
			return err
		}
		if u.User != nil || u.Fragment != "" {
			return errors.New("the URL must not contain a user name, a password or a fragment")
		}
		*into = NewSecret(text)
		return nil
	}}
}

// webhookSecret reads a secret in the form of Standard Webhooks, which asks for 24 to 64 bytes.
func webhookSecret(into *Secret) format {
	const accepts = "whsec_ and the base64 of 24 to 64 random bytes"
	return format{accepts, func(text string) error {
		const least, most = 24, 64
		encoded, ok := strings.CutPrefix(text, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) < least || len(key) > most {
			return errors.New("not " + accepts + "; generate one with: echo whsec_$(openssl rand -base64 32)")
		}
		*into = NewSecret(string(key))
		return nil
	}}
}

func (l *loader) checkAlerts() {
	if l.isSet("ALERT_WEBHOOK_URL") && !l.isSet("ALERT_WEBHOOK_SECRET") {
		l.fault("ALERT_WEBHOOK_SECRET: missing, but required by ALERT_WEBHOOK_URL; generate one with: echo whsec_$(openssl rand -base64 32)")
	}
	if l.isSet("ALERT_EMAIL") && !l.isSet("SMTP_URL") {
		l.fault("SMTP_URL: missing, but required by ALERT_EMAIL")
	}
	if l.isSet("ALERT_WEBHOOK_SECRET") && !l.isSet("ALERT_WEBHOOK_URL") {
		l.fault("ALERT_WEBHOOK_URL: missing, but required by ALERT_WEBHOOK_SECRET")
	}
}
