package idp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	discoveryTTL   = time.Hour   // then the document is requested again
	discoveryRetry = time.Minute // between failed requests, while the old one is used
)

// discovery requests the document of an issuer at the first login and caches it.
type discovery struct {
	discover func(context.Context) (*provider, error)
	now      func() time.Time

	lock  chan struct{} // held by the login that requests; waiting ends with the context
	found *provider
	until time.Time
}

func newDiscovery(discover func(context.Context) (*provider, error), now func() time.Time) *discovery {
	return &discovery{discover: discover, now: now, lock: make(chan struct{}, 1)}
}

// provider returns the cached provider or requests it. After a failure the next
// login tries again.
func (d *discovery) provider(ctx context.Context) (*provider, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	select {
	case d.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("discovery: %w", ctx.Err())
	}
	defer func() { <-d.lock }()
	if d.found != nil && d.now().Before(d.until) {
		return d.found, nil
	}
	p, err := d.discover(ctx)
	switch {
	case err == nil:
		d.found, d.until = p, d.now().Add(discoveryTTL)
	case d.found != nil:
		d.until = d.now().Add(discoveryRetry)
	default:
		return nil, fmt.Errorf("discovery: %w", reason(err))
	}
	return d.found, nil
}

// metadata are the members of the discovery document that go-oidc does not return
// (OpenID Connect Discovery 1.0, section 3).
type metadata struct {
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	Algorithms  []string `json:"id_token_signing_alg_values_supported"`
	Keys        string   `json:"jwks_uri"`
}

// discover requests the issuer's document. go-oidc checks that it names the issuer.
func (l *Login) discover(ctx context.Context) (*provider, error) {
	issuer := l.opts.Config.Issuer
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, l.http), issuer)
	if err != nil {
		return nil, err
	}
	var more metadata
	if err := found.Claims(&more); err != nil {
		return nil, err
	}
	endpoint := found.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, more.Keys} {
		if err := checkEndpoint(address, issuer); err != nil {
			return nil, err
		}
	}
	if address := found.UserInfoEndpoint(); address != "" {
		if err := checkEndpoint(address, issuer); err != nil {
			return nil, err
		}
	}
	return l.openID(found, more), nil //nolint:contextcheck // the provider outlives this call: each login brings its own context
}

// checkEndpoint accepts a URL that is no less protected than the issuer's. goth
// panics on an invalid URL.
func checkEndpoint(address, issuer string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return errors.New("an endpoint is not a URL")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || schemeOf(issuer) != "http") {
		return errors.New("an endpoint is not https")
	}
	return nil
}

func schemeOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme
}

// authStyles returns how to send our secret, and the second way if the issuer
// accepts both. The default of OpenID Connect is the header.
func authStyles(methods []string) (first, other oauth2.AuthStyle) {
	inHeader := len(methods) == 0 || slices.Contains(methods, "client_secret_basic")
	inParams := slices.Contains(methods, "client_secret_post")
	switch {
	case inHeader && inParams:
		return oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams
	case inParams:
		return oauth2.AuthStyleInParams, 0
	default:
		return oauth2.AuthStyleInHeader, 0
	}
}
