package idp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/config"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/audit"
	"modelgateway/services/auth"
	"modelgateway/services/idp/idptest"
)

const (
	publicURL = "https://gateway.example.com"
	callback  = idptest.Callback
	jwtSecret = "canary-0123456789-0123456789-0123456789"
)

// rig is a login with a provider, over a real database.
type rig struct {
	*Login
	t      testing.TB
	idp    *idptest.Provider
	store  *models.Store
	tokens *auth.Tokens
	opts   Options
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	return newRigWith(t, idptest.Serve(t), change...)
}

func newRigWith(t testing.TB, m *idptest.Provider, change ...func(*Options)) *rig {
	return newRigOn(t, m, openStore(t, "sqlite:"+filepath.Join(t.TempDir(), "gateway.db")), change...)
}

func openStore(t testing.TB, address string) *models.Store {
	t.Helper()
	store, err := models.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := store.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return store
}

func newRigOn(t testing.TB, m *idptest.Provider, store *models.Store, change ...func(*Options)) *rig {
	t.Helper()
	tokens := auth.NewTokens(auth.TokenOptions{
		Secret: []byte(jwtSecret), Expiry: time.Hour, Issuer: publicURL, Store: store, Now: time.Now,
	})
	opts := Options{
		Config:    config.IDP{ClientID: idptest.ClientID, ClientSecret: config.NewSecret(idptest.ClientSecret), Name: "oidc", Issuer: m.URL},
		PublicURL: publicURL, Secret: []byte(jwtSecret), Store: store, Now: time.Now,
		Issue: tokens.Issue, NormalEmail: account.NormalEmail, Allowed: func(string) bool { return true },
	}
	for _, c := range change {
		c(&opts)
	}
	l, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Login: l, t: t, idp: m, store: store, tokens: tokens, opts: opts}
}

// impatient is for tests of providers that do not answer.
func impatient(o *Options) { o.HTTP = &http.Client{Timeout: 300 * time.Millisecond} }

// begun is a browser on its way to the provider.
type begun struct {
	redirect, cookie string
}

func (r *rig) begin() begun {
	r.t.Helper()
	redirect, cookie, err := r.Begin(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return begun{redirect, cookie}
}

// consent is what the provider sends the browser back with.
func (r *rig) consent(b begun) url.Values {
	r.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if r.idp.Server == nil {
		client.Transport = idptest.InProcess{Handler: r.idp}
	}
	answer, err := client.Get(b.redirect)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	back, err := answer.Location()
	if err != nil || !strings.HasPrefix(back.String(), callback+"?") {
		r.t.Fatalf("the provider answers %d and sends the browser to %v", answer.StatusCode, back)
	}
	return back.Query()
}

func (r *rig) login() (auth.Token, error) {
	r.t.Helper()
	b := r.begin()
	return r.Finish(r.t.Context(), r.consent(b), b.cookie, audit.Entry{})
}

// must log in, as this user.
func (r *rig) must() *models.User {
	r.t.Helper()
	token, err := r.login()
	if err != nil {
		r.t.Fatal(err)
	}
	return r.userOf(token)
}

func (r *rig) userOf(token auth.Token) *models.User {
	r.t.Helper()
	id, err := r.tokens.Verify(r.t.Context(), token.Text)
	if err != nil {
		r.t.Fatal("the token does not work: ", err)
	}
	user, err := r.store.User(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return user
}

// refuses wants this failure, and nothing made of it.
func (r *rig) refuses(token auth.Token, err error, status int, code string) *api.Error {
	r.t.Helper()
	if token != (auth.Token{}) {
		r.t.Error("there is a token beside the failure")
	}
	return wants(r.t, err, status, code)
}

func wants(t testing.TB, err error, status int, code string) *api.Error {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != status || e.Code != code {
		t.Fatalf("got %v, want %d %s", err, status, code)
	}
	kinds := map[int]string{
		400: api.TypeInvalidRequest,
		401: api.TypeAuthentication,
		403: api.TypePermission,
		404: api.TypeNotFound,
		409: api.TypeInvalidRequest,
		503: api.TypeAPI,
	}
	if e.Type != kinds[status] {
		t.Errorf("type %s with %d", e.Type, status)
	}
	if text := err.Error(); strings.Contains(text, "canary") || len(text) > 600 {
		t.Errorf("%d bytes for the log, with secrets: %.300s", len(text), text)
	}
	return e
}

// noUser checks that no user was created.
func (r *rig) noUser() {
	r.t.Helper()
	for _, email := range []string{"ada@example.com", "victim@example.com"} {
		if _, err := r.store.UserByEmail(context.Background(), email); !errors.Is(err, models.ErrNotFound) {
			r.t.Errorf("%s is a user now (%v)", email, err)
		}
	}
}
