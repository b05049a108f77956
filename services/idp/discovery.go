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
	discoveryHolds = time.Hour   // then it is asked for again
	discoveryPause = time.Minute // between tries while there is an old one
)

// discovery finds out about an issuer at the first login, and keeps it.
type discovery struct {
	discover func(context.Context) (*provider, error)
	now      func() time.Time

	turn  chan struct{} // held by the login that looks
	found *provider
	until time.Time
}

func newDiscovery(discover func(context.Context) (*provider, error), now func() time.Time) *discovery {
	return &discovery{discover: discover, now: now, turn: make(chan struct{}, 1)}
}

// provider is what was found, or an attempt to find it: a failure is tried
// again with the next login.
func (d *discovery) provider(ctx context.Context) (*provider, error) {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("discovery: %w", ctx.Err())
	}
	defer func() { <-d.turn }()
	if d.found != nil && d.now().Before(d.until) {
		return d.found, nil
	}
	p, err := d.discover(ctx)
	switch {
	case err == nil:
		d.found, d.until = p, d.now().Add(discoveryHolds)
	case d.found != nil:
		d.until = d.now().Add(discoveryPause)
	default:
		return nil, fmt.Errorf("discovery: %w", reason(err))
	}
	return d.found, nil
}

// metadata is what the discovery document says beyond what go-oidc reads
// (OpenID Connect Discovery 1.0, section 3).
type metadata struct {
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	Algorithms  []string `json:"id_token_signing_alg_values_supported"`
	Keys        string   `json:"jwks_uri"`
}

// discover reads the issuer's document; go-oidc has it name the same issuer.
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
	return l.openID(found, more), nil
}

// checkEndpoint wants a URL that is no less protected than the issuer. goth
// panics on one that is none.
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

// authStyles says how our secret is sent, and how else it may be. The default
// of OpenID Connect is the header.
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
