package config

import "fmt"

// complete sets the defaults that depend on other settings.
func (l *loader) complete() {
	if !l.isSet("PUBLIC_URL") {
		l.PublicURL = fmt.Sprintf("http://localhost:%d", l.Port)
	}
	if !l.isSet("IDP_PROVIDER") {
		l.IDP.Name = "google"
		if l.isSet("IDP_ISSUER") {
			l.IDP.Name = "oidc"
		}
	}
	l.completeProviders()
}

// check reports settings that contradict each other. A setting that could not
// be read has a fault already and gets no second one here.
func (l *loader) check() {
	l.checkSigning()
	l.checkIDP()
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
