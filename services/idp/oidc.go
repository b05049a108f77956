package idp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"github.com/markbates/goth"
	"github.com/markbates/goth/providers/openidConnect"
)

// openID returns a discovered issuer of OpenID Connect.
func (l *Login) openID(found *oidc.Provider, more metadata) *provider {
	cfg, endpoint := l.opts.Config, found.Endpoint()
	style, other := authStyles(more.AuthMethods)
	endpoint.AuthStyle = style
	own := func(client *http.Client) *openidConnect.Provider {
		// Not New: it would run a discovery of its own, without a time-out. This one never fails.
		g, _ := openidConnect.NewCustomisedURL(cfg.ClientID, cfg.ClientSecret.Reveal(), l.callback,
			endpoint.AuthURL, endpoint.TokenURL, cfg.Issuer, found.UserInfoEndpoint(), "", "openid", "email", "profile")
		g.HTTPClient = client
		return g
	}
	return &provider{
		goth:   func(client *http.Client) goth.Provider { return own(client) },
		oauth:  l.oauth(endpoint),
		other:  other,
		tokens: l.verifier(cfg.Issuer, more),
		person: func(_ context.Context, v grant) (person, error) { return openIDPerson(own(v.http), v) },
	}
}

// openIDPerson uses the claims of the ID token. It requests userinfo only when the
// token lacks the address or whether it is verified.
func openIDPerson(g *openidConnect.Provider, v grant) (person, error) {
	g.SkipUserInfoRequest = v.claims.Email != "" && (v.claims.EmailVerified != nil || v.claims.verifiesEmail())
	text, _ := v.token.Extra("id_token").(string)
	user, err := v.fetch(g, &openidConnect.Session{AccessToken: v.token.AccessToken, ExpiresAt: v.token.Expiry, IDToken: text})
	var userinfo claims
	if v.response.status == http.StatusOK {
		if bad := json.Unmarshal(v.response.body, &userinfo); bad != nil {
			return person{}, failed(fmt.Errorf("userinfo: %w", reason(bad)))
		}
		if userinfo.Subject != v.claims.Subject {
			return person{}, rejected(errors.New("userinfo is another user's"))
		}
	}
	if err != nil {
		return person{}, err
	}
	p := person{issuer: v.claims.Issuer, subject: v.claims.Subject, name: cmp.Or(user.Name, user.NickName)}
	p.email, p.verified = address(v.claims, userinfo)
	return p, nil
}

// address returns the e-mail address and whether it is verified. The ID token takes
// precedence over userinfo for both.
func address(token, userinfo claims) (email string, verified bool) {
	source := token
	switch {
	case token.EmailVerified != nil && !token.verifiesEmail():
		return token.Email, false
	case token.Email == "":
		source = userinfo
	case token.EmailVerified == nil && userinfo.Email == token.Email && !token.verifiesEmail():
		source = userinfo
	}
	return source.Email, source.verifiesEmail()
}

// verifiesEmail reports whether the provider says that the address is verified.
// Microsoft sends no email_verified: there the domain of the address must be
// verified as the tenant's, an optional claim that comes as true, 1 or "1"
// (learn.microsoft.com/entra/identity-platform/optional-claims-reference and
// supabase/auth, provider/oidc.go, 2023-10).
func (c claims) verifiesEmail() bool {
	if isTrue(c.EmailVerified) {
		return true
	}
	return c.EmailVerified == nil && strings.HasPrefix(c.Issuer, microsoft) && c.domainOwned()
}

func (c claims) domainOwned() bool {
	switch string(c.DomainOwned) {
	case "true", "1", `"1"`:
		return true
	}
	return false
}
