package config

import (
	"fmt"
	"time"
)

// complete sets the defaults that depend on other settings.
func (l *loader) complete() {
	if !l.isSet("PUBLIC_URL") {
		l.PublicURL = fmt.Sprintf("http://localhost:%d", l.port())
	}
	l.Compose = l.environ[publishedPort] != ""
	if !l.isSet("IDP_PROVIDER") {
		l.IDP.Name = "google"
		if l.isSet("IDP_ISSUER") {
			l.IDP.Name = "oidc"
		}
	}
	if !l.isSet("RESPONSES_STORE_HOURS") && l.isSet("ENCRYPTION_KEY") {
		l.ResponsesStore = time.Hour // SDKs refer by default to what was answered a moment ago
	}
	l.completeProviders()
	l.completeVariables()
}

// check reports settings that contradict each other. A setting that could not
// be read has a fault already and gets no second one here.
func (l *loader) check() {
	l.checkSigning()
	l.checkEncryption()
	l.checkIDP()
	l.checkSMTP()
	l.checkAlerts()
	l.checkTracing()
	l.checkProviders()
}

func (l *loader) checkSigning() {
	if l.RequireAuth && !l.isSet("JWT_SECRET") {
		l.fault("JWT_SECRET: missing, but required by REQUIRE_AUTH=true")
	}
	if !l.isSet("JWT_SECRET_PREVIOUS") {
		return
	}
	if !l.isSet("JWT_SECRET") {
		l.fault("JWT_SECRET_PREVIOUS: set without JWT_SECRET")
	}
	if !l.JWTSecret.IsZero() && l.JWTSecret.Reveal() == l.JWTSecretPrevious.Reveal() {
		l.fault("JWT_SECRET_PREVIOUS: the same as JWT_SECRET, so nothing was rotated")
	}
}

func (l *loader) checkEncryption() {
	if l.ResponsesStore > 0 && !l.isSet("ENCRYPTION_KEY") {
		l.fault("ENCRYPTION_KEY: missing, but required by RESPONSES_STORE_HOURS; generate one with: openssl rand -hex 32")
	}
	if l.LogPrompts != "" && l.LogPrompts != LogPromptsOff && !l.isSet("ENCRYPTION_KEY") {
		l.fault("ENCRYPTION_KEY: missing, but required by LOG_PROMPTS; generate one with: openssl rand -hex 32")
	}
	if !l.isSet("ENCRYPTION_KEY_PREVIOUS") {
		return
	}
	if !l.isSet("ENCRYPTION_KEY") {
		l.fault("ENCRYPTION_KEY_PREVIOUS: set without ENCRYPTION_KEY")
	}
	if !l.EncryptionKey.IsZero() && l.EncryptionKey.Reveal() == l.EncryptionKeyPrevious.Reveal() {
		l.fault("ENCRYPTION_KEY_PREVIOUS: the same as ENCRYPTION_KEY, so nothing was rotated")
	}
}

func (l *loader) checkIDP() {
	if l.isSet("IDP_CLIENT_ID") && !l.isSet("IDP_CLIENT_SECRET") {
		l.fault("IDP_CLIENT_SECRET: missing, but required by IDP_CLIENT_ID")
	}
	if l.isSet("IDP_CLIENT_SECRET") && !l.isSet("IDP_CLIENT_ID") {
		l.fault("IDP_CLIENT_ID: missing, but required by IDP_CLIENT_SECRET")
	}
	if l.IDP.Name == "oidc" && !l.isSet("IDP_ISSUER") {
		l.fault("IDP_ISSUER: missing, but required by IDP_PROVIDER=oidc")
	}
	if l.isSet("IDP_ISSUER") && l.IDP.Name != "" && l.IDP.Name != "oidc" {
		l.fault("IDP_ISSUER: allowed only with IDP_PROVIDER=oidc")
	}
}

func (l *loader) checkSMTP() {
	if l.isSet("SMTP_URL") && !l.isSet("SMTP_FROM") {
		l.fault("SMTP_FROM: missing, but required by SMTP_URL")
	}
	if l.isSet("SMTP_FROM") && !l.isSet("SMTP_URL") {
		l.fault("SMTP_URL: missing, but required by SMTP_FROM")
	}
}
