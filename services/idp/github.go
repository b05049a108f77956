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

// github returns GitHub, which has no ID token. goth accepts the public address of
// the profile as it is, and requests the list of addresses only without one. Here
// only the list counts, so goth fetches the profile without the scope that would
// make it request the list as well.
func (l *Login) github() *provider {
	own := func(client *http.Client, scopes ...string) *github.Provider {
		g := github.New(l.opts.Config.ClientID, l.opts.Config.ClientSecret.Reveal(), l.callback, scopes...)
		g.HTTPClient = client
		return g
	}
	return &provider{
		goth:  func(client *http.Client) goth.Provider { return own(client, "read:user", "user:email") },
		oauth: l.oauth(oauth2.Endpoint{TokenURL: github.TokenURL, AuthStyle: oauth2.AuthStyleInParams}),
		person: func(ctx context.Context, v grant) (person, error) {
			user, err := v.fetch(own(v.http), &github.Session{AccessToken: v.token.AccessToken})
			if err != nil {
				return person{}, err
			}
			p := person{issuer: githubIssuer, subject: user.UserID, name: cmp.Or(user.Name, user.NickName)}
			if err := checkNumber(p.subject); err != nil {
				return person{}, err
			}
			p.email, err = githubEmail(ctx, v)
			p.verified = p.email != ""
			return p, err
		},
	}
}

// checkNumber refuses a user without a numeric id. goth turns a missing id into
// 0, and all such users would share one account.
func checkNumber(subject string) error {
	if n, err := strconv.ParseInt(subject, 10, 64); err != nil || n <= 0 {
		return failed(errors.New("the profile has no id"))
	}
	return nil
}

// githubEmail returns the primary address if it is verified, else an empty text
// (docs.github.com/rest/users/emails).
func githubEmail(ctx context.Context, v grant) (string, error) {
	body, err := get(ctx, v, github.EmailURL+"?per_page=100")
	if err != nil {
		return "", failed(fmt.Errorf("e-mail addresses: %w", reason(err)))
	}
	var all []struct {
		Email    string         `json:"email"`
		Primary  bool           `json:"primary"`
		Verified jsontext.Value `json:"verified"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return "", failed(fmt.Errorf("e-mail addresses: %w", reason(err)))
	}
	for _, a := range all {
		if a.Primary && isTrue(a.Verified) {
			return a.Email, nil
		}
	}
	return "", nil
}

func get(ctx context.Context, v grant, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	v.token.SetAuthHeader(r)
	r.Header.Set("Accept", "application/vnd.github+json")
	response, err := v.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", response.StatusCode)
	}
	return io.ReadAll(response.Body)
}
