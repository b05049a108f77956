package config

import (
	"fmt"
	"slices"
)

// complete fills in the defaults that depend on other settings.
func (l *loader) complete() {
	if !l.given("PUBLIC_URL") {
		l.PublicURL = fmt.Sprintf("http://localhost:%d", l.Port)
	}
	if !l.given("IDP_PROVIDER") {
		l.IDP.Name = "google"
		if l.given("IDP_ISSUER") {
			l.IDP.Name = "oidc"
		}
	}
	if !l.given("GEMINI_API_KEY") {
		l.Gemini.Keys = l.googleKeys
	}
}

// check holds the settings against each other. What could not be read has its
// fault already and gets no second one here.
func (l *loader) check() {
	l.checkSigning()
	l.checkIDP()
	l.checkTracing()
	if l.given("GEMINI_API_KEY") && l.googleKeys != nil && l.Gemini.Keys != nil && !sameSecrets(l.Gemini.Keys, l.googleKeys) {
		l.fault("GEMINI_API_KEY and GOOGLE_API_KEY are both set and differ: keep one")
	}
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GEMINI_BASE_URL"} {
		if l.Simulator && l.given(name) {
			l.fault("SIMULATOR: not together with %s: the simulator plays all three providers", name)
		}
	}
}

func (l *loader) checkSigning() {
	if l.RequireAuth && !l.given("JWT_SECRET") {
		l.fault("JWT_SECRET: missing, and REQUIRE_AUTH=true needs it")
	}
	if !l.given("JWT_SECRET_PREVIOUS") {
		return
	}
	if !l.given("JWT_SECRET") {
		l.fault("JWT_SECRET_PREVIOUS: only together with JWT_SECRET")
	}
	if !l.JWTSecret.IsZero() && l.JWTSecret.Reveal() == l.JWTSecretPrevious.Reveal() {
		l.fault("JWT_SECRET_PREVIOUS: the same as JWT_SECRET, so nothing was rotated")
	}
}

func (l *loader) checkIDP() {
	if l.given("IDP_CLIENT_ID") && !l.given("IDP_CLIENT_SECRET") {
		l.fault("IDP_CLIENT_SECRET: missing, and IDP_CLIENT_ID needs it")
	}
	if l.given("IDP_CLIENT_SECRET") && !l.given("IDP_CLIENT_ID") {
		l.fault("IDP_CLIENT_ID: missing, and IDP_CLIENT_SECRET needs it")
	}
	if l.IDP.Name == "oidc" && !l.given("IDP_ISSUER") {
		l.fault("IDP_ISSUER: missing, and IDP_PROVIDER=oidc needs it")
	}
	if l.given("IDP_ISSUER") && l.IDP.Name != "" && l.IDP.Name != "oidc" {
		l.fault("IDP_ISSUER: only for IDP_PROVIDER=oidc")
	}
}

func sameSecrets(a, b []Secret) bool {
	return slices.EqualFunc(a, b, func(x, y Secret) bool { return x.Reveal() == y.Reveal() })
}
