package idp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/markbates/goth"
	"github.com/markbates/goth/providers/github"
	"golang.org/x/oauth2"
)

const githubIssuer = "https://github.com"

// github has no ID token. goth takes the public address of the profile as it
// is, and asks for the list of addresses only when there is none; here the list
// alone counts, so goth fetches the profile without the scope that would make
// it ask as well.
func (l *Login) github() *provider {
	own := func(client *http.Client, scopes ...string) *github.Provider {
		g := github.New(l.opts.Config.ClientID, l.opts.Config.ClientSecret.Reveal(), l.callback, scopes...)
		g.HTTPClient = client
		return g
	}
	return &provider{
		goth:  func(client *http.Client) goth.Provider { return own(client, "read:user", "user:email") },
		oauth: l.oauth(oauth2.Endpoint{TokenURL: github.TokenURL, AuthStyle: oauth2.AuthStyleInParams}),
		person: func(ctx context.Context, v visit) (person, error) {
			user, err := v.fetch(own(v.http), &github.Session{AccessToken: v.token.AccessToken})
			if err != nil {
				return person{}, err
			}
			p := person{issuer: githubIssuer, subject: user.UserID, name: cmp.Or(user.Name, user.NickName)}
			if err := numbered(p.subject); err != nil {
				return person{}, err
			}
			p.email, err = githubEmail(ctx, v)
			p.verified = p.email != ""
			return p, err
		},
	}
}

// numbered refuses a user without a number: goth makes 0 of none, and all
// such users would be one.
func numbered(subject string) error {
	if n, err := strconv.ParseInt(subject, 10, 64); err != nil || n <= 0 {
		return lost(errors.New("the profile has no id"))
	}
	return nil
}

// githubEmail is the primary address if it is verified, else empty
// (docs.github.com/rest/users/emails).
func githubEmail(ctx context.Context, v visit) (string, error) {
	body, err := get(ctx, v, github.EmailURL+"?per_page=100")
	if err != nil {
		return "", lost(fmt.Errorf("e-mail addresses: %w", reason(err)))
	}
	var all []struct {
		Email    string         `json:"email"`
		Primary  bool           `json:"primary"`
		Verified jsontext.Value `json:"verified"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return "", lost(fmt.Errorf("e-mail addresses: %w", reason(err)))
	}
	for _, a := range all {
		if a.Primary && isTrue(a.Verified) {
			return a.Email, nil
		}
	}
	return "", nil
}

func get(ctx context.Context, v visit, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	v.token.SetAuthHeader(r)
	r.Header.Set("Accept", "application/vnd.github+json")
	answer, err := v.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", answer.StatusCode)
	}
	return io.ReadAll(answer.Body)
}
