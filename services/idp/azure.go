package idp

import (
	"context"
	"net/http"
	"regexp"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/markbates/goth"
	"github.com/markbates/goth/providers/azureadv2"
	"golang.org/x/oauth2"
)

const (
	microsoft     = "https://login.microsoftonline.com/"
	microsoftKeys = microsoft + "common/discovery/v2.0/keys"
)

var tenantID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// azure returns Microsoft for accounts of any tenant. A tenant's administrator
// can write any address into a profile, so that neither mail nor
// userPrincipalName proves anything. The address counts when the ID token says
// that its domain is verified as the tenant's (the optional claims email and
// xms_edov, which the operator adds to the app's registration). The subject is
// unique within the tenant, whose issuer is part of the identity.
func (l *Login) azure() *provider {
	own := func(client *http.Client) *azureadv2.Provider {
		g := azureadv2.New(l.opts.Config.ClientID, l.opts.Config.ClientSecret.Reveal(), l.callback, azureadv2.ProviderOptions{})
		g.HTTPClient = client
		return g
	}
	tokens := l.verifier("", metadata{Keys: microsoftKeys, Algorithms: []string{oidc.RS256}})
	tokens.trusted = func(c claims) bool {
		return tenantID.MatchString(c.Tenant) && c.Issuer == microsoft+c.Tenant+"/v2.0"
	}
	return &provider{
		goth:   func(client *http.Client) goth.Provider { return own(client) },
		oauth:  l.oauth(oauth2.Endpoint{TokenURL: microsoft + "common/oauth2/v2.0/token", AuthStyle: oauth2.AuthStyleInParams}),
		tokens: tokens,
		person: func(_ context.Context, v grant) (person, error) {
			user, err := v.fetch(own(v.http), &azureadv2.Session{AccessToken: v.token.AccessToken, ExpiresAt: v.token.Expiry})
			if err != nil {
				return person{}, err
			}
			return person{
				issuer: v.claims.Issuer, subject: v.claims.Subject, name: user.Name,
				email: v.claims.Email, verified: v.claims.domainOwned(),
			}, nil
		},
	}
}
