// Package idp is the login through an external identity provider.
//
// goth begins a login and fetches the user. What makes a login safe is done
// here, as goth v1.82.0 leaves it to its callers or does without:
//
//   - state, PKCE verifier and nonce are random, single use, and sealed into a
//     cookie of the browser that began the login (goth's own store takes the
//     state from the client);
//   - the code is exchanged here (goth sends a verifier for one provider of the
//     five only, sends the request without a context, and panics when the
//     id_token of the answer is not a string);
//   - ID tokens are verified (goth decodes them without looking at the
//     signature, and panics when one has no exp);
//   - an e-mail address counts only when its provider says that it is verified
//     (goth does not ask);
//   - no answer is followed elsewhere, waited for longer than seconds or read
//     beyond a mebibyte.
package idp

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/config"
	"modelgateway/models"
	"modelgateway/services/auth"
)

// How long an identity provider may keep a caller waiting.
const (
	requestPatience = 5 * time.Second // for one request
	loginPatience   = 8 * time.Second // for all that the end of a login needs
)

// Options are what a Login is made of.
type Options struct {
	Config    config.IDP
	PublicURL string // the callback's address is built from it, and from nothing else
	Secret    []byte // seals the cookie; the same on every replica
	Store     *models.Store
	Redis     *redis.Client // shares used logins between replicas; nil: this process is alone
	Now       func() time.Time
	HTTP      *http.Client // nil: one of its own; its redirects are never followed

	Issue       func(*models.User) (auth.Token, error)
	NormalEmail func(text string) (string, error)
	Allowed     func(email string) bool // the domain rule, for a normalised address
}

// Login is the login through the configured identity provider.
type Login struct {
	opts     Options
	callback string
	http     *http.Client
	box      cipher.AEAD
	used     *used
	find     func(context.Context) (*provider, error)
}

// New prepares a login. It asks nobody: an identity provider that is down does
// not keep the gateway from starting.
func New(opts Options) (*Login, error) {
	l := &Login{opts: opts, callback: opts.PublicURL + Path + "/callback"}
	if !l.Configured() {
		return l, nil
	}
	box, err := newBox(opts.Secret)
	if err != nil {
		return nil, fmt.Errorf("login cookie: %w", err)
	}
	l.box, l.http, l.used = box, newClient(opts.HTTP), newUsed(opts.Redis, opts.Now)
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

// Configured says whether there is an identity provider at all.
func (l *Login) Configured() bool { return l.opts.Config.ClientID != "" }

// Begin starts a login: where to send the browser, and the value of the cookie
// that it must bring back.
func (l *Login) Begin(ctx context.Context) (redirect, cookie string, err error) {
	if !l.Configured() {
		return "", "", notConfigured()
	}
	p, err := l.find(ctx)
	if err != nil {
		return "", "", unavailable(err)
	}
	a := newAttempt(l.opts.Now())
	redirect, err = p.address(l.http, a)
	if err != nil {
		return "", "", unavailable(err)
	}
	return redirect, l.seal(a), nil
}

// Finish ends a login with what the provider's redirect brought and the value
// of the cookie, empty when there is none. Whatever comes of it, the login is
// over and cannot be finished again.
func (l *Login) Finish(ctx context.Context, query url.Values, cookie string) (auth.Token, error) {
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
	who, err := l.ask(ctx, a, query.Get("code"))
	if err != nil {
		return auth.Token{}, err
	}
	user, err := l.account(ctx, who)
	if err != nil {
		return auth.Token{}, err
	}
	return l.opts.Issue(user)
}

// resume finds the attempt that a callback belongs to, and uses it up.
func (l *Login) resume(ctx context.Context, query url.Values, cookie string) (attempt, error) {
	a, err := l.open(cookie)
	switch {
	case err != nil:
		return attempt{}, invalidState(err)
	case len(query["state"]) != 1 || !a.hasState(query.Get("state")):
		return attempt{}, invalidState(errors.New("the state is not the cookie's"))
	case len(query["code"]) != 1 || query.Get("code") == "":
		return attempt{}, invalidState(errors.New("no code"))
	case !l.used.first(ctx, a.state, a.ends()):
		return attempt{}, invalidState(errors.New("the state was used before"))
	}
	return a, nil
}

// ask learns from the provider who has logged in.
func (l *Login) ask(ctx context.Context, a attempt, code string) (person, error) {
	ctx, cancel := context.WithTimeout(ctx, loginPatience)
	defer cancel()
	p, err := l.find(ctx)
	if err != nil {
		return person{}, lost(err)
	}
	v, err := p.visit(ctx, l.http, proof{code: code, attempt: a})
	if err != nil {
		return person{}, err
	}
	return p.person(ctx, v)
}
