package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"

	"modelgateway/api"
)

// endpoints are those of a gateway, as its document of RFC 8414 has them.
type endpoints struct {
	Device     string `json:"device_authorization_endpoint"`
	Token      string `json:"token_endpoint"`
	Revocation string `json:"revocation_endpoint"`
}

// client follows no redirect: it could lead a token to another host.
func client() *http.Client {
	return &http.Client{
		Timeout: 30 * time.Second, Transport: named{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// named says what asks: the person who confirms a code reads it.
type named struct{}

func (named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "modelgateway-cli")
	return http.DefaultTransport.RoundTrip(r)
}

func (g *Gateway) endpoints(ctx context.Context) (at endpoints, err error) {
	base := strings.TrimRight(g.URL, "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/.well-known/oauth-authorization-server", nil)
	if err != nil {
		return at, fmt.Errorf("the URL of the gateway is not valid: %w", err)
	}
	text, err := send(req)
	if err == nil {
		err = json.Unmarshal(text, &at, api.Lenient)
	}
	if err != nil {
		return at, fmt.Errorf("%s does not say how to sign in, without which only a key works: %w", base, err)
	}
	if at.Device == "" || at.Token == "" {
		return at, fmt.Errorf("the gateway at %s has no sign-in by device code: use a key", base)
	}
	return at, nil
}

func (at endpoints) config() *oauth2.Config {
	return &oauth2.Config{Endpoint: oauth2.Endpoint{DeviceAuthURL: at.Device, TokenURL: at.Token, AuthStyle: oauth2.AuthStyleInParams}}
}

func (at endpoints) renew(ctx context.Context, refresh string) (*oauth2.Token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client())
	t, err := at.config().TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return nil, fmt.Errorf("renew the sign-in: %w", err)
	}
	return t, nil
}

// signIn shows a code to a person, and waits until that person has confirmed it in a browser.
func (at endpoints) signIn(ctx context.Context, show func(line string)) (*oauth2.Token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client())
	code, err := at.config().DeviceAuth(ctx, oauth2.SetAuthURLParam("surface", "modelgateway"))
	if err != nil {
		return nil, fmt.Errorf("begin to sign in: %w", err)
	}
	page := cmp.Or(code.VerificationURIComplete, code.VerificationURI)
	show(fmt.Sprintf("Open %s in a browser, and confirm the code %s.", page, code.UserCode))
	t, err := at.config().DeviceAccessToken(ctx, code)
	switch {
	case err == nil:
		email, _ := t.Extra("email").(string)
		show("Signed in as " + cmp.Or(email, "a user of the gateway") + ".")
		return t, nil
	case refusal(err) == "access_denied":
		return nil, errors.New("the sign-in was refused in the browser")
	case refusal(err) == "expired_token", errors.Is(err, context.DeadlineExceeded) && time.Now().After(code.Expiry):
		return nil, errors.New("the code was not confirmed in time: run the command again")
	}
	return nil, fmt.Errorf("sign in: %w", err)
}

// refusal is the code of an error in the form of RFC 6749; empty for another error.
func refusal(err error) string {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return refused.ErrorCode
	}
	return ""
}

// revoke ends the sign-in of a token: RFC 7009.
func (at endpoints) revoke(ctx context.Context, token string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.Revocation, strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	_, err = send(req)
	return err
}

func send(req *http.Request) ([]byte, error) {
	resp, err := client().Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the gateway answers %s", resp.Status)
	}
	const most = 64 << 10
	return io.ReadAll(io.LimitReader(resp.Body, most))
}
