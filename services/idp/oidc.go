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

// openID is an issuer of OpenID Connect that was discovered.
func (l *Login) openID(found *oidc.Provider, more metadata) *provider {
	cfg, endpoint := l.opts.Config, found.Endpoint()
	style, other := authStyles(more.AuthMethods)
	endpoint.AuthStyle = style
	own := func(client *http.Client) *openidConnect.Provider {
		// Not New: it would discover by itself, without a time-out. This one never fails.
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
		person: func(_ context.Context, v visit) (person, error) { return openIDPerson(own(v.http), v) },
	}
}

// openIDPerson believes the ID token first. Only when that lacks the address,
// or whether it is verified, is the provider asked for more.
func openIDPerson(g *openidConnect.Provider, v visit) (person, error) {
	g.SkipUserInfoRequest = v.claims.Email != "" && (v.claims.EmailVerified != nil || v.claims.vouched())
	text, _ := v.token.Extra("id_token").(string)
	user, err := v.fetch(g, &openidConnect.Session{AccessToken: v.token.AccessToken, ExpiresAt: v.token.Expiry, IDToken: text})
	var told claims
	if v.seen.status == http.StatusOK {
		if bad := json.Unmarshal(v.seen.body, &told); bad != nil {
			return person{}, lost(fmt.Errorf("userinfo: %w", reason(bad)))
		}
		if told.Subject != v.claims.Subject {
			return person{}, rejected(errors.New("userinfo is of somebody else"))
		}
	}
	if err != nil {
		return person{}, err
	}
	p := person{issuer: v.claims.Issuer, subject: v.claims.Subject, name: cmp.Or(user.Name, user.NickName)}
	p.email, p.verified = address(v.claims, told)
	return p, nil
}

// address is the e-mail address and whether it is verified. What the ID token
// says of either goes before what userinfo says.
func address(token, told claims) (email string, verified bool) {
	says := token
	switch {
	case token.EmailVerified != nil && !token.vouched():
		return token.Email, false
	case token.Email == "":
		says = told
	case token.EmailVerified == nil && told.Email == token.Email && !token.vouched():
		says = told
	}
	return says.Email, says.vouched()
}

// vouched says whether the provider calls the address verified. Microsoft sends
// no email_verified: there it is whether the address' domain is proven to be
// the tenant's own, an optional claim that comes as true, 1 or "1"
// (learn.microsoft.com/entra/identity-platform/optional-claims-reference and
// supabase/auth, provider/oidc.go, 2023-10).
func (c claims) vouched() bool {
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
