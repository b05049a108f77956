package idp

import (
	"cmp"
	"context"
	"net/http"

	"github.com/markbates/goth"
	"github.com/markbates/goth/providers/gitlab"
	"golang.org/x/oauth2"
)

const gitlabIssuer = "https://gitlab.com"

// gitlabProfile replaces goth's URL of the profile, which is of version 3 of the
// API: GitLab 11.0 removed it in June 2018.
const gitlabProfile = gitlabIssuer + "/api/v4/user"

// gitlab returns gitlab.com. A self-managed GitLab is an issuer of OpenID Connect.
// The address of a profile is verified when it is confirmed: a new address
// replaces it only after its own confirmation (docs.gitlab.com/api/users).
func (l *Login) gitlab() *provider {
	own := func(client *http.Client) *gitlab.Provider {
		g := gitlab.NewCustomisedURL(l.opts.Config.ClientID, l.opts.Config.ClientSecret.Reveal(), l.callback,
			gitlab.AuthURL, gitlab.TokenURL, gitlabProfile, "read_user")
		g.HTTPClient = client
		return g
	}
	return &provider{
		goth:  func(client *http.Client) goth.Provider { return own(client) },
		oauth: l.oauth(oauth2.Endpoint{TokenURL: gitlab.TokenURL, AuthStyle: oauth2.AuthStyleInParams}),
		person: func(_ context.Context, v grant) (person, error) {
			user, err := v.fetch(own(v.http), &gitlab.Session{AccessToken: v.token.AccessToken, ExpiresAt: v.token.Expiry})
			if err != nil {
				return person{}, err
			}
			if err := checkNumber(user.UserID); err != nil {
				return person{}, err
			}
			confirmed, _ := user.RawData["confirmed_at"].(string)
			return person{
				issuer: gitlabIssuer, subject: user.UserID, name: cmp.Or(user.Name, user.NickName),
				email: user.Email, verified: confirmed != "",
			}, nil
		},
	}
}
