package limits

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestRateLimitHeadersAndErrors(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "RATE_LIMIT_RPM=5", "AUTH_RATE_LIMIT_RPM=3")...)
		for i := range 7 {
			a := p.Chat(t, gatewaytest.HelloRequest)
			if remaining := a.Header.Get("X-Ratelimit-Remaining-Requests"); a.Header.Get("X-Ratelimit-Limit-Requests") != "5" ||
				remaining != strconv.Itoa(max(4-i, 0)) ||
				a.Header.Get("X-Ratelimit-Reset-Requests") == "" {
				t.Errorf("call %d: %v", i, a.Header)
			}
			if i < 5 {
				if a.Status != 200 {
					t.Errorf("call %d: %d %s", i, a.Status, a.Body)
				}
				continue
			}
			f := a.APIError(t)
			wait := a.Header.Get("Retry-After")
			if a.Status != 429 || f.Type != "rate_limit_error" || f.Code != "rate_limit_exceeded" || wait == "" ||
				!strings.Contains(f.Message, wait+"s") ||
				a.Header.Get("X-Should-Retry") != "true" {
				t.Errorf("call %d: %d %s, Retry-After %s", i, a.Status, a.Body, wait)
			}
		}
		for i := range 4 {
			a := p.Call(t, "POST", "/auth/login", `{"email":"unknown@example.com","password":"wrong password"}`)
			if want := map[bool]int{true: 401, false: 429}[i < 3]; a.Status != want {
				t.Errorf("login %d: %d %s", i, a.Status, a.Body)
			}
		}
	})
}

func TestForwardedAddressesCountOnlyFromTrustedProxies(t *testing.T) {
	t.Parallel()
	forge := func(p *gatewaytest.Program) int {
		limited := 0
		for i := range 6 {
			if a := p.Call(t, "GET", "/v1/models", "", "X-Forwarded-For", "203.0.113."+strconv.Itoa(i)); a.Status == 429 {
				limited++
			}
		}
		return limited
	}
	if n := forge(gatewaytest.Start(t, "RATE_LIMIT_RPM=3")); n != 3 {
		t.Errorf("forged addresses passed the limit: %d of 6 refused", n)
	}
	if n := forge(gatewaytest.Start(t, "RATE_LIMIT_RPM=3", "TRUSTED_PROXIES=127.0.0.0/8")); n != 0 {
		t.Errorf("a trusted proxy is not believed: %d of 6 refused", n)
	}
}

// countedTogether is the number of refusals of six requests that differ in one
// header, over a limit of three a minute.
func countedTogether(t *testing.T, header string, value func(i int) string) (refused int) {
	t.Helper()
	p := gatewaytest.Start(t, "RATE_LIMIT_RPM=3", "TRUSTED_PROXIES=127.0.0.0/8")
	for i := range 6 {
		if a := p.Call(t, "GET", "/v1/models", "", header, value(i)); a.Status == 429 {
			refused++
		}
	}
	return refused
}

func TestXRealIPIsNotTrusted(t *testing.T) {
	t.Parallel()
	if n := countedTogether(t, "X-Real-IP", func(i int) string { return "203.0.113." + strconv.Itoa(i) }); n != 3 {
		t.Errorf("%d of 6 refused", n)
	}
}

func TestForwardedAddressMayHaveAPort(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]struct {
		value   func(i int) string
		refused int
	}{
		"one IPv4 address, many ports": {func(i int) string { return fmt.Sprintf("203.0.113.7:%d", 4000+i) }, 3},
		"many IPv4 addresses":          {func(i int) string { return fmt.Sprintf("203.0.113.%d:4711", i) }, 0},
		"one IPv6 address, many ports": {func(i int) string { return fmt.Sprintf("[2001:db8::7]:%d", 4000+i) }, 3},
		"many IPv6 networks":           {func(i int) string { return fmt.Sprintf("[2001:db8:%d::7]", i) }, 0},
		"before a trusted proxy":       {func(i int) string { return fmt.Sprintf("203.0.113.%d:4711, 127.0.0.2:80", i) }, 0},
		"no address":                   {func(i int) string { return fmt.Sprintf("unknown-%d", i) }, 3},
	} {
		if n := countedTogether(t, "X-Forwarded-For", form.value); n != form.refused {
			t.Errorf("%s: %d of 6 refused, not %d", name, n, form.refused)
		}
	}
}

func TestChangesOfKeysAreLimitedByUser(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "AUTH_RATE_LIMIT_RPM=4", "RATE_LIMIT_RPM=20")
	token := p.Login(t)
	for i := range 6 {
		a := p.Call(t, "POST", "/auth/keys", `{"name":"app"}`, token...)
		if want := map[bool]int{true: 201, false: 429}[i < 4]; a.Status != want {
			t.Errorf("key %d: %d %s", i, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "DELETE", "/auth/keys/none", "", token...); a.Status != 429 {
		t.Errorf("a revocation: %d", a.Status)
	}
	refused := 0
	for range 20 {
		if a := p.Call(t, "GET", "/auth/keys", "", token...); a.Status == 429 {
			refused++
		}
	}
	if refused != 7 { // seven requests came before
		t.Errorf("%d of 20 lists refused", refused)
	}
}

func TestLoginsOfAnIPv6NetworkAreLimitedTogether(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "AUTH_RATE_LIMIT_RPM=2", "TRUSTED_PROXIES=127.0.0.0/8")
	login := func(address string) int {
		return p.Call(t, "GET", "/auth/idp", "", "X-Forwarded-For", address).Status
	}
	for i := range 12 { // 12 clients of a /48, each with its own /64
		if status, want := login(fmt.Sprintf("2001:db8:0:%x::1", i)), map[bool]int{true: 404, false: 429}[i < 10]; status != want {
			t.Errorf("client %d: %d", i, status)
		}
	}
	for _, address := range []string{"2001:db8:1::1", "203.0.113.7"} {
		if status := login(address); status != 404 {
			t.Errorf("%s: %d", address, status)
		}
	}
}

func TestEveryPublicRouteIsRateLimited(t *testing.T) {
	t.Parallel()
	const calls, tries = 1, 2
	p := gatewaytest.Start(t, "SIMULATOR=true", "RATE_LIMIT_RPM="+strconv.Itoa(calls), "AUTH_RATE_LIMIT_RPM="+strconv.Itoa(tries),
		"TRUSTED_PROXIES=127.0.0.0/8")
	for i, route := range []struct {
		method, path, body string
		limit              int
	}{
		{"POST", "/v1/chat/completions", gatewaytest.HelloRequest, calls}, {"POST", "/v1/chat/completions", "{", calls},
		{"GET", "/v1/models", "", calls}, {"GET", "/v1/models/gpt-4", "", calls}, {"GET", "/v1/models/nope", "", calls},
		{"POST", "/auth/register", gatewaytest.AdaAccount, tries}, {"POST", "/auth/login", gatewaytest.AdaAccount, tries}, {"GET", "/auth/idp", "", tries}, {"GET", "/auth/idp/callback", "", tries},
	} {
		for n := range route.limit + 1 {
			a := p.Call(t, route.method, route.path, route.body, "X-Forwarded-For", "203.0.113."+strconv.Itoa(i))
			if a.Header.Get("X-Ratelimit-Limit-Requests") != strconv.Itoa(route.limit) {
				t.Errorf("%s %s is not counted against %d: %v", route.method, route.path, route.limit, a.Header)
			}
			refused := a.Status == 429 && a.APIError(t).Code == "rate_limit_exceeded" && a.Header.Get("Retry-After") != ""
			if refused != (n == route.limit) {
				t.Errorf("%s %s, call %d: %d %s", route.method, route.path, n, a.Status, a.Body)
			}
		}
	}
}
