package idp

import (
	"context"
	"errors"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/markbates/goth"
	"github.com/markbates/goth/providers/google"
)

const (
	googleIssuer = "https://accounts.google.com"
	googleKeys   = "https://www.googleapis.com/oauth2/v3/certs"
)

// google returns Google, which has OpenID Connect. goth's provider for it ignores
// the ID token, so the claims of the verified token are used here.
func (l *Login) google() *provider {
	own := func(client *http.Client) *google.Provider {
		g := google.New(l.opts.Config.ClientID, l.opts.Config.ClientSecret.Reveal(), l.callback, "openid", "email", "profile")
		g.HTTPClient = client
		g.SetAccessType("online") // a login needs no refresh token
		return g
	}
	tokens := l.verifier(googleIssuer, metadata{Keys: googleKeys, Algorithms: []string{oidc.RS256}})
	// Google's own documentation allows both (developers.google.com/identity/openid-connect).
	tokens.trusted = func(c claims) bool { return c.Issuer == googleIssuer || "https://"+c.Issuer == googleIssuer }
	return &provider{
		goth:   func(client *http.Client) goth.Provider { return own(client) },
		oauth:  l.oauth(google.Endpoint),
		tokens: tokens,
		person: func(_ context.Context, v grant) (person, error) {
			user, err := v.fetch(own(v.http), &google.Session{AccessToken: v.token.AccessToken, ExpiresAt: v.token.Expiry})
			if err != nil {
				return person{}, err
			}
			if user.UserID != v.claims.Subject {
				return person{}, rejected(errors.New("the profile is another user's"))
			}
			return person{
				issuer: googleIssuer, subject: v.claims.Subject, name: user.Name,
				email: v.claims.Email, verified: v.claims.verifiesEmail(),
			}, nil
		},
	}
}
