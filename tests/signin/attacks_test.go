package signin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// Forms that are not as the protocol has them are refused with an error that says why.
func TestFormsOfTheProtocolAreChecked(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, settings()...)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for _, tt := range []struct {
		path, body, says string
		header           []string
		status           int
		code             string
	}{
		{"/oauth/device_authorization", `{"surface":"claude_code"}`, "application/x-www-form-urlencoded", nil, 400, "invalid_request"},
		{"/oauth/device_authorization", "surface=a&surface=b", "twice", form, 400, "invalid_request"},
		{"/oauth/device_authorization", "surface=" + strings.Repeat("a", 20<<10), "16 KiB", form, 400, "invalid_request"},
		{"/oauth/token", "", "application/x-www-form-urlencoded", nil, 400, "invalid_request"},
		{"/oauth/token", "grant_type=", "grant_type is missing", form, 400, "invalid_request"},
		{"/oauth/token", "grant_type=password&username=a&password=b", "grant_type must be", form, 400, "unsupported_grant_type"},
		{"/oauth/token", "grant_type=refresh_token", "refresh_token is missing", form, 400, "invalid_request"},
		{"/oauth/token", "grant_type=" + url.QueryEscape(deviceGrant), "device_code is missing", form, 400, "invalid_request"},
		{"/oauth/token", "grant_type=refresh_token&refresh_token=a&refresh_token=b", "twice", form, 400, "invalid_request"},
		{"/oauth/token", "grant_type=refresh_token&refresh_token=%zz", "no form", form, 400, "invalid_request"},
		{"/oauth/revoke", "token_type_hint=refresh_token", "token is missing", form, 400, "invalid_request"},
	} {
		a := p.Call(t, http.MethodPost, tt.path, tt.body, tt.header...)
		checkOAuth(t, a, tt.status, tt.code)
		if !strings.Contains(a.Body, tt.says) {
			t.Errorf("%s %s: %s", tt.path, tt.body, a.Body)
		}
	}
}

// Tokens and codes that were guessed, changed or made for something else open nothing.
func TestWrongTokensOpenNothing(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, settings()...)
	ada := p.Login(t)
	s := signIn(t, p, ada, "")
	name, rest, _ := strings.Cut(strings.TrimPrefix(s.Refresh, "mgwr_"), "_")
	_, mac, _ := strings.Cut(rest, "_")
	tried := 0
	for _, token := range []string{
		"mgwr_", "mgwr_" + name, "mgwr_" + name + "_2_" + mac, "mgwr_" + name + "_1_", "mgwr_" + name + "_01_" + mac, "mgwr_" + name + "_+1_" + mac,
		"mgwr_" + name + "_-1_" + mac, "mgwr_" + name + "_99999999999999999999_" + mac, strings.ToUpper(s.Refresh), s.Refresh + "=", s.Refresh + " ",
		s.Refresh[:len(s.Refresh)-1], s.Access, "mgwr_" + strings.Repeat("A", 26) + "_1_" + mac, "\x00", strings.Repeat("a", 8000),
	} {
		checkOAuth(t, refresh(t, p, token), 401, "invalid_grant")
		if a := post(t, p, "/oauth/revoke", url.Values{"token": {token}}); a.Status != 200 && token != "\x00" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if token == s.Access { // its holder has signed out
			s = signIn(t, p, ada, "")
		}
		tried++
	}
	for i := range 256 { // one letter is another one
		at := i % len(s.Access)
		other := byte('A')
		if s.Access[at] == other {
			other = 'B'
		}
		wrong := tokens{Access: s.Access[:at] + string(other) + s.Access[at+1:]}
		if a := p.Call(t, http.MethodPost, messages, hello, wrong.header()...); a.Status != 401 {
			t.Fatalf("%d with another letter at %d", a.Status, at)
		}
		tried++
	}
	for _, header := range [][]string{
		{"Authorization", s.Access}, {"Authorization", "Basic " + s.Access}, {"X-Api-Key", s.Refresh},
		{"Authorization", "Bearer " + s.Refresh},
	} {
		if a := p.Call(t, http.MethodPost, messages, hello, header...); a.Status == 200 {
			t.Errorf("%s opens the gateway", header[0])
		}
		tried++
	}
	for _, path := range []string{"/auth/session", "/auth/keys", "/auth/sign-ins", "/admin/users", "/admin/sign-ins", "/admin/agent-settings"} {
		if a := p.Call(t, http.MethodGet, path, "", s.header()...); a.Status != 401 && a.Status != 403 {
			t.Errorf("a program reads %s: %d", path, a.Status)
		}
		tried++
	}
	if a := call(t, p, s, hello); a.Status != 200 {
		t.Errorf("the sign-in has ended: %d %s", a.Status, a.Body)
	}
	t.Logf("%d wrong tokens", tried)
}

// A code is of no use to who did not get it, and its confirmation to no other page.
func TestCodesAreConfirmedByTheirUserOnly(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, settings()...)
	ada, bob := p.SignUp(t, "ada"), p.SignUp(t, "bob")
	c := begin(t, p)
	for range 200 { // guesses
		guess := begin(t, p).User
		if a := p.Call(t, http.MethodPost, "/auth/device", `{"user_code":"`+guess[:7]+"A"+`"}`, bob...); a.Status != 404 {
			t.Fatalf("a guess: %d %s", a.Status, a.Body)
		}
	}
	for _, headers := range [][]string{
		nil, // no login
		{"Cookie", cookie(t, p, "ada"), "Origin", "https://evil.example.com"},
		{"Cookie", cookie(t, p, "ada"), "Sec-Fetch-Site", "cross-site"},
	} {
		if a := p.Call(t, http.MethodPost, "/auth/device/confirm", `{"user_code":"`+c.User+`","approve":true}`, headers...); a.Status != 401 && a.Status != 403 {
			t.Errorf("%v: %d %s", headers, a.Status, a.Body)
		}
	}
	if a := p.Call(t, http.MethodGet, "/auth/device/confirm?user_code="+c.User+"&approve=true", "", ada...); a.Status != 405 {
		t.Errorf("a link confirms: %d", a.Status)
	}
	if a := confirm(t, p, ada, c.User, `"approve":true,"team_id":"team_QZ3M5T2JXH4V6N7ABCDEFGHIJK"`); a.Status != 404 {
		t.Errorf("a team of others: %d %s", a.Status, a.Body)
	}
	checkOAuth(t, ask(t, p, c.Device), 400, "authorization_pending") // after all of that

	refused := begin(t, p)
	if a := confirm(t, p, ada, refused.User, `"approve":false`); a.Status != 204 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	checkOAuth(t, ask(t, p, refused.Device), 400, "access_denied")
	checkOAuth(t, ask(t, p, refused.Device), 400, "expired_token")
	checkOAuth(t, ask(t, p, c.User), 400, "expired_token") // the user's code is not the program's
}

func cookie(t *testing.T, p *gatewaytest.Program, name string) string {
	t.Helper()
	a := p.Patiently(t, "/auth/session", `{"email":"`+name+`@example.com","password":"correct horse battery"}`)
	value, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	return value
}

// Requests with one code or one refresh token at the same time give one sign-in, and one pair of tokens; and none that
// comes after its end.
func TestRacesOfCodesAndTokens(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, storage []string) {
		all := append(settings(), storage...)
		here, there := gatewaytest.Start(t, all...), (*gatewaytest.Program)(nil)
		if there = here; strings.Contains(strings.Join(storage, " "), "postgres") {
			there = gatewaytest.Start(t, all...)
		}
		ada := here.Login(t)
		db := gatewaytest.OpenDatabase(t, storage)
		const rounds, together = 10, 8
		for round := range rounds {
			c := begin(t, here)
			confirm(t, here, ada, c.User, `"approve":true`)
			var s tokens
			var made atomic.Int64
			each(together, func(i int) {
				if a := ask(t, []*gatewaytest.Program{here, there}[i%2], c.Device); a.Status == 200 {
					made.Add(1)
					a.JSON(t, &s)
				}
			})
			if made.Load() != 1 {
				t.Fatalf("%d sign-ins of one code", made.Load())
			}
			var mu sync.Mutex
			seen := map[string]int{}
			each(together, func(i int) {
				a := refresh(t, []*gatewaytest.Program{here, there}[i%2], s.Refresh)
				mu.Lock()
				defer mu.Unlock()
				seen[fmt.Sprint(a.Status, " ", gatewaytest.Field(t, a, "access_token"))]++
			})
			if len(seen) != 1 {
				t.Fatalf("%v", seen)
			}
			var last tokens
			each(together, func(i int) {
				if i == round%together {
					post(t, here, "/oauth/revoke", url.Values{"token": {s.Refresh}})
				} else if a := refresh(t, there, s.Refresh); a.Status == 200 {
					mu.Lock()
					a.JSON(t, &last)
					mu.Unlock()
				}
			})
			checkOAuth(t, refresh(t, there, s.Refresh), 401, "invalid_grant")
			if last.Access != "" {
				gatewaytest.Until(t, "the tokens of the race are refused", func() bool {
					return there.Call(t, http.MethodPost, messages, hello, last.header()...).Status == 401
				})
			}
		}
		if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM sign_ins"); n != 0 {
			t.Errorf("%d sign-ins are left", n)
		}
	})
}

func each(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// Addresses and users that try too much have to wait.
func TestSignInsAreLimited(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, settings("AUTH_RATE_LIMIT_RPM=20", "RATE_LIMIT_RPM=60")...)
	ada := p.Login(t)
	statuses := map[int]int{}
	for range 40 {
		statuses[post(t, p, "/oauth/device_authorization", nil).Status]++
	}
	if statuses[429] == 0 || statuses[200] == 0 || statuses[200] > 20 {
		t.Errorf("codes: %v", statuses)
	}
	clear(statuses)
	for range 40 {
		statuses[p.Call(t, http.MethodPost, "/auth/device", `{"user_code":"BBBB-BBBB"}`, ada...).Status]++
	}
	if statuses[429] == 0 || statuses[404] == 0 || statuses[404] > 20 {
		t.Errorf("guesses: %v", statuses)
	}
	clear(statuses)
	for range 120 {
		a := ask(t, p, "mgwd_guess")
		if statuses[a.Status]++; a.Status == 429 {
			checkOAuth(t, a, 429, "slow_down")
		}
	}
	if statuses[429] == 0 || statuses[400] > 60 {
		t.Errorf("device codes: %v", statuses)
	}
}
