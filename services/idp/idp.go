// Package idp logs users in through an external identity provider.
//
// goth begins a login and fetches the user. This package adds what makes a login
// safe and what goth v1.82.0 leaves to its callers or omits:
//
//   - state, PKCE verifier and nonce are random, single use, and sealed into a
//     cookie of the browser that began the login (goth's own store takes the
//     state from the client);
//   - the code is exchanged here (goth sends a verifier for one provider of the
//     five only, sends the request without a context, and panics when the
//     id_token of the answer is not a string);
//   - ID tokens are verified (goth decodes them without checking the
//     signature, and panics when one has no exp);
//   - an e-mail address counts only when its provider says that it is verified
//     (goth does not check);
//   - redirects are not followed, and responses are limited to seconds and to
//     1 MiB.
package idp

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"modelgateway/config"
	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/auth"
)

// Time-outs of identity providers.
const (
	requestTimeout = 5 * time.Second // of one request
	loginTimeout   = 8 * time.Second // of all requests at the end of a login
)

// Options are the parts of a Login.
type Options struct {
	Config    config.IDP
	PublicURL string // the only source of the callback's URL
	Secret    []byte // seals the cookie; the same on every replica
	Store     *models.Store
	Redis     models.Redis // shares used logins between replicas; nil: there is one replica
	Now       func() time.Time
	HTTP      *http.Client // nil: a client of its own; redirects are never followed

	Issue       func(*models.User) (auth.Token, error)
	NormalEmail func(text string) (string, error)
	Allowed     func(email string) bool // the domain rule, for a normalised address

	Mail   bool                                 // the gateway sends mail, so that users verify their addresses
	Linked func(*models.User, *models.Identity) // tells a user that an identity was linked; nil = nothing
}

// Login logs users in through the configured identity provider.
type Login struct {
	opts     Options
	callback string
	http     *http.Client
	cipher   cipher.AEAD
	used     *usedStates
	find     func(context.Context) (*provider, error)
}

// New returns a Login. It sends no request: the gateway starts while its identity
// provider is down.
func New(opts Options) (*Login, error) {
	l := &Login{opts: opts, callback: opts.PublicURL + Path + "/callback"}
	if !l.Configured() {
		return l, nil
	}
	aead, err := newCipher(opts.Secret)
	if err != nil {
		return nil, fmt.Errorf("login cookie: %w", err)
	}
	l.cipher, l.http, l.used = aead, newClient(opts.HTTP), newUsedStates(opts.Redis, opts.Now)
	l.find, err = l.finder()
	return l, err
}

func (l *Login) finder() (func(context.Context) (*provider, error), error) {
	fixed := map[string]func() *provider{
		"google": l.google, "github": l.github, "gitlab": l.gitlab, "azureadv2": l.azure,
	}
	if l.opts.Config.Name == "oidc" {
		return newDiscovery(l.discover, l.opts.Now).provider, nil
	}
	build, ok := fixed[l.opts.Config.Name]
	if !ok {
		return nil, fmt.Errorf("unknown identity provider %q", l.opts.Config.Name)
	}
	p := build()
	return func(context.Context) (*provider, error) { return p, nil }, nil
}

// Configured reports whether there is an identity provider.
func (l *Login) Configured() bool { return l.opts.Config.ClientID != "" }

// Begin starts a login. It returns the URL for the browser, and the value of the
// cookie that the callback must send back.
func (l *Login) Begin(ctx context.Context) (redirect, cookie string, err error) {
	if !l.Configured() {
		return "", "", notConfigured()
	}
	return l.beginFor(ctx, linkTo{})
}

func (l *Login) beginFor(ctx context.Context, to linkTo) (redirect, cookie string, err error) {
	p, err := l.find(ctx)
	if err != nil {
		return "", "", unavailable(err)
	}
	a := newAttempt(l.opts.Now())
	a.to = to
	redirect, err = p.address(l.http, a)
	if err != nil {
		return "", "", unavailable(err)
	}
	return redirect, l.seal(a), nil
}

// Began reports whether a callback has the state of the login that the cookie
// began.
func (l *Login) Began(query url.Values, cookie string) bool {
	if !l.Configured() {
		return false
	}
	a, err := l.open(cookie)
	return err == nil && a.matches(query)
}

func (a attempt) matches(query url.Values) bool {
	return len(query["state"]) == 1 && a.hasState(query.Get("state"))
}

// Finish ends a login with the query of the provider's redirect and the value of
// the cookie, empty without one. A login that has failed cannot be finished again
// either.
func (l *Login) Finish(ctx context.Context, query url.Values, cookie string, from audit.Entry) (auth.Token, error) {
	if !l.Configured() {
		return auth.Token{}, notConfigured()
	}
	if code := query.Get("error"); code != "" {
		return auth.Token{}, refused(code)
	}
	a, err := l.resume(ctx, query, cookie)
	if err != nil {
		return auth.Token{}, err
	}
	who, err := l.identify(ctx, a, query.Get("code"))
	if err != nil {
		return auth.Token{}, err
	}
	user, err := l.user(ctx, a, who, from)
	if err != nil {
		return auth.Token{}, err
	}
	return l.opts.Issue(user)
}

// user returns the user who has logged in, or to whom the identity was added.
func (l *Login) user(ctx context.Context, a attempt, who person, from audit.Entry) (*models.User, error) {
	email, err := l.address(who)
	if err != nil {
		return nil, err
	}
	if a.to.userID != "" {
		return l.link(ctx, a.to, who, email, from)
	}
	return l.account(ctx, who, email, from)
}

// resume returns the attempt of a callback and marks its state as used.
func (l *Login) resume(ctx context.Context, query url.Values, cookie string) (attempt, error) {
	a, err := l.open(cookie)
	switch {
	case err != nil:
		return attempt{}, invalidState(err)
	case !a.matches(query):
		return attempt{}, invalidState(errors.New("the state is not the cookie's"))
	case len(query["code"]) != 1 || query.Get("code") == "":
		return attempt{}, invalidState(errors.New("no code"))
	case !l.used.first(ctx, a.state, a.expiresAt()):
		return attempt{}, invalidState(errors.New("the state was used before"))
	}
	return a, nil
}

// identify requests from the provider who has logged in.
func (l *Login) identify(ctx context.Context, a attempt, code string) (person, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	p, err := l.find(ctx)
	if err != nil {
		return person{}, failed(err)
	}
	v, err := p.redeem(ctx, l.http, proof{code: code, attempt: a})
	if err != nil {
		return person{}, err
	}
	return p.person(ctx, v)
}
