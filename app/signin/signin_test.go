package signin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"modelgateway/app/signin"
)

// authority is a gateway at which people sign in. A refresh token works once.
type authority struct {
	url string

	mu      sync.Mutex
	polls   []string // errors that answer the next questions whether a code is confirmed
	holds   int      // seconds that an access token holds
	down    bool
	calls   map[string]int
	revoked string
	issued  int
	refresh string // the one that works
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{holds: 3600, calls: map[string]int{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// ServeHTTP answers as the gateway's routes under /oauth do.
func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":%q}`, code)
	}
	kind := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] + strings.TrimSuffix(" "+r.FormValue("grant_type"), " ")
	a.calls[kind]++
	switch kind {
	case "oauth-authorization-server":
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"device_authorization_endpoint":"%s/oauth/device_authorization",
			"token_endpoint":"%s/oauth/token","revocation_endpoint":"%s/oauth/revoke"}`, a.url, a.url, a.url, a.url)
	case "device_authorization":
		_, _ = fmt.Fprintf(w, `{"device_code":"device","user_code":"BCDF-GHJK","verification_uri":"%s/device",
			"verification_uri_complete":"%s/device?user_code=BCDF-GHJK","expires_in":600,"interval":1}`, a.url, a.url)
	case "token urn:ietf:params:oauth:grant-type:device_code":
		if len(a.polls) > 0 {
			refuse(400, a.polls[0])
			a.polls = a.polls[1:]
			return
		}
		a.issue(w)
	case "token refresh_token":
		switch {
		case a.down:
			http.Error(w, "no upstream", http.StatusBadGateway)
		case r.FormValue("refresh_token") != a.refresh:
			refuse(401, "invalid_grant")
		default:
			a.issue(w)
		}
	case "revoke":
		a.revoked = r.FormValue("token")
	default:
		refuse(404, "not_found")
	}
}

func (a *authority) issue(w http.ResponseWriter) {
	a.issued++
	a.refresh = "refresh" + strconv.Itoa(a.issued)
	_, _ = fmt.Fprintf(w, `{"access_token":"access%d","token_type":"Bearer","expires_in":%d,"refresh_token":%q,"email":"ada@example.com"}`,
		a.issued, a.holds, a.refresh)
}

// set changes what it does.
func (a *authority) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// user is a person of this machine with a terminal, or without.
func (a *authority) user(dir string, terminal bool) (g *signin.Gateway, shown *strings.Builder) {
	g, shown = &signin.Gateway{URL: a.url, Dir: dir}, &strings.Builder{}
	if terminal {
		g.Show = func(line string) { shown.WriteString(line + "\n") }
	}
	return g, shown
}

// gets requires a token.
func gets(t *testing.T, g *signin.Gateway, want string) {
	t.Helper()
	if token, err := g.Token(t.Context()); err != nil || token != want {
		t.Errorf("%q, not %q: %v", token, want, err)
	}
}

func TestPersonSignsInOnceAndTheSignInIsKeptForThatPersonOnly(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), filepath.Join(t.TempDir(), "config", "sign-ins")
	a.set(func() { a.polls = []string{"authorization_pending", "slow_down"} })
	g, shown := a.user(dir, true)
	gets(t, g, "access1")
	if text := shown.String(); !strings.Contains(text, a.url+"/device?user_code=BCDF-GHJK") || !strings.Contains(text, "code BCDF-GHJK") ||
		!strings.Contains(text, "ada@example.com") {
		t.Errorf("a person reads %q", text)
	}
	other, _ := a.user(dir, false)
	gets(t, other, "access1")
	if !other.SignedIn() || a.issued != 1 {
		t.Errorf("%d tokens were issued", a.issued)
	}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v: %v", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestProcessesThatRunAtOnceRenewASignInOnce(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	a.set(func() { a.holds = 60 }) // less than what a token must hold when it is handed out
	g, _ := a.user(dir, true)
	gets(t, g, "access1")
	a.set(func() { a.holds = 3600 })
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			g, _ := a.user(dir, false)
			gets(t, g, "access2")
		})
	}
	wait.Wait()
	if n := a.calls["token refresh_token"]; n != 1 {
		t.Errorf("the sign-in was renewed %d times", n)
	}
}

func TestEndedSignInIsBegunAgainOnATerminalOnly(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	a.set(func() { a.holds = 60 })
	g, _ := a.user(dir, true)
	gets(t, g, "access1")
	a.set(func() { a.refresh = "ended" })
	script, _ := a.user(dir, false)
	if _, err := script.Token(t.Context()); err == nil || !strings.Contains(err.Error(), "run `modelgateway token --url "+a.url+"` in a terminal") ||
		a.calls["device_authorization"] != 1 {
		t.Errorf("%v, and %d sign-ins have begun", err, a.calls["device_authorization"])
	}
	gets(t, g, "access2")
}

func TestGatewayThatIsDownEndsNoSignIn(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	a.set(func() { a.holds = 60 })
	g, _ := a.user(dir, true)
	gets(t, g, "access1")
	a.set(func() { a.down = true })
	if _, err := g.Token(t.Context()); err == nil || !strings.Contains(err.Error(), "502 Bad Gateway") || a.calls["device_authorization"] != 1 {
		t.Errorf("%v", err)
	}
	a.set(func() { a.down = false })
	gets(t, g, "access2")
}

func TestRefusedSignInKeepsNothing(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"access_denied": "refused in the browser", "expired_token": "not confirmed in time", "invalid_client": "invalid_client",
	} {
		a := newAuthority(t)
		a.polls = []string{code}
		g, _ := a.user(t.TempDir(), true)
		if _, err := g.Token(t.Context()); err == nil || !strings.Contains(err.Error(), want) || g.SignedIn() {
			t.Errorf("%s: %v", code, err)
		}
	}
	none := httptest.NewServer(http.NotFoundHandler())
	defer none.Close()
	g := &signin.Gateway{URL: none.URL, Dir: t.TempDir(), Show: func(string) {}}
	if _, err := g.Token(t.Context()); err == nil || !strings.Contains(err.Error(), "only a key works") {
		t.Error(err)
	}
}

func TestSigningOutEndsTheSignInAtTheGateway(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	g, _ := a.user(t.TempDir(), true)
	gets(t, g, "access1")
	if err := g.SignOut(t.Context()); err != nil || g.SignedIn() || a.revoked != "refresh1" {
		t.Errorf("%v; revoked %q", err, a.revoked)
	}
	if err := g.SignOut(t.Context()); err != nil {
		t.Errorf("signed out already: %v", err)
	}
}
