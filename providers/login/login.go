// Package login signs calls to the clouds, with credentials that renew themselves: of Amazon by
// a signature over the whole call (SigV4), of Google and Azure by an access token.
package login

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"modelgateway/providers"
)

// exchangeTime bounds one request for a credential.
const exchangeTime = 30 * time.Second

// caller is on whose behalf a call is signed.
type caller struct{ user, team string }

// exchanger sends the requests for tokens. It follows no redirects: they would send a secret to
// another host.
func exchanger() *http.Client {
	return &http.Client{Timeout: exchangeTime, CheckRedirect: stay}
}

// metadataClient asks the metadata server of the machine, which is never behind a proxy. Where
// the machine has none its address often swallows connections.
func metadataClient() *http.Client {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	direct := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	return &http.Client{Timeout: exchangeTime, CheckRedirect: stay, Transport: direct}
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// signBearer sends an access token.
func signBearer(ctx context.Context, r *http.Request, token *renewing[string]) error {
	text, err := token.get(ctx)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+text)
	return nil
}

// failure says why there is no credential, and which settings to look at. The text of err may
// repeat what was sent for the credential: secrets are cut out, and what looks like a signed token.
func failure(cloud string, err error, check string, secrets ...string) error {
	text := err.Error()
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		text = string(answer.Body)
		if answer.ErrorCode != "" {
			text = fmt.Sprintf("%s (%s)", answer.ErrorCode, answer.ErrorDescription)
		}
		text = fmt.Sprintf("the token endpoint answered %d %s", answer.Response.StatusCode, text)
	}
	return &providers.LogInError{Settings: check, Cause: fmt.Errorf("%s log-in: %s", cloud, brief(text, secrets))}
}

// brief is one line of at most 300 characters without the secrets.
func brief(text string, secrets []string) string {
	const longest, shortestSecret = 300, 6
	for _, secret := range secrets {
		if len(secret) >= shortestSecret {
			text = strings.NewReplacer(secret, "[redacted]", url.QueryEscape(secret), "[redacted]").Replace(text)
		}
	}
	text = regexp.MustCompile(`eyJ[\w-]{10,}\.[\w-]*(\.[\w-]*)?`).ReplaceAllString(text, "[redacted]")
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return text
}

// secure says whether what is sent to an address is not seen on the way.
func secure(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}
