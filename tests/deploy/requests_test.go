package deploy

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// do sends a request through the proxy.
func (f *front) do(t *testing.T, client *http.Client, method, path string, body io.Reader, headers ...string) gatewaytest.Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, f.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return gatewaytest.Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text), Err: err}
}

// simulated starts a gateway with the simulator.
func simulated(t *testing.T, settings ...string) *gatewaytest.Program {
	t.Helper()
	return gatewaytest.Start(t, append([]string{trusting, public, "SIMULATOR=true"}, settings...)...)
}

func TestBodiesOfTheGatewaysSizePassTheProxy(t *testing.T) {
	t.Parallel()
	const most = 32 << 20 // MAX_REQUEST_BYTES
	before, after, _ := strings.Cut(gatewaytest.HelloRequest, `"content":"`)
	request := func(size int) string {
		return before + `"content":"` + strings.Repeat("a", size-len(gatewaytest.HelloRequest)) + after
	}
	eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
		var received atomic.Int64
		f := behind(gatewaytest.Start(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			received.Store(n)
			gatewaytest.WriteSlowly("application/json", 0, gatewaytest.Providers()[0].Answer("fine"))(w, r)
		})...))
		client := f.client(t, "127.0.0.1")
		client.Timeout = 15 * time.Minute // with the race detector, beside other tests, the gateway reads such a body in minutes
		a := f.do(t, client, http.MethodPost, "/v1/chat/completions", strings.NewReader(request(most)))
		if a.Status != 200 || gatewaytest.TextOf(a.Body) != "fine" || received.Load() < most-1<<10 {
			t.Errorf("%d %v %.500s: the upstream got %d bytes", a.Status, a.Err, a.Body, received.Load())
		}
		for what, body := range map[string]io.Reader{
			"one byte more":    strings.NewReader(request(most + 1)),
			"twice the size":   strings.NewReader(request(2 * most)),
			"without a length": io.MultiReader(strings.NewReader(request(2 * most))), // is not a type whose length the client knows
		} {
			a := f.do(t, client, http.MethodPost, "/v1/chat/completions", body)
			var told struct {
				Type  string
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal([]byte(a.Body), &told); err != nil || a.Status != 413 || told.Error.Code != "request_too_large" ||
				told.Error.Message == "" || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
				t.Errorf("%s: %d %v %.500s", what, a.Status, err, a.Body)
			}
		}
		if a := f.do(t, client, http.MethodGet, "/v1/models", nil); a.Status != 200 {
			t.Errorf("after them: %d", a.Status)
		}
	})
}

func TestClientsAddressIsThatOfItsConnection(t *testing.T) {
	t.Parallel()
	const bound = 3
	eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
		p := simulated(t, "AUTH_RATE_LIMIT_RPM="+strconv.Itoa(bound))
		f := behind(p)
		client := f.client(t, "127.0.0.2")
		const login = `{"email":"ada@example.com","password":"wrong wrong"}`
		var statuses []int
		for i := range bound + 1 { // each names another address
			a := f.do(t, client, http.MethodPost, "/auth/login", strings.NewReader(login),
				"X-Forwarded-For", "203.0.113."+strconv.Itoa(i), "X-Real-IP", "203.0.113.9", "Forwarded", "for=203.0.113.9")
			statuses = append(statuses, a.Status)
		}
		if want := []int{401, 401, 401, 429}; !slices.Equal(statuses, want) {
			t.Errorf("a client that names other addresses: %v", statuses)
		}
		if a := f.do(t, f.client(t, "127.0.0.3"), http.MethodPost, "/auth/login", strings.NewReader(login)); a.Status != 401 {
			t.Errorf("another client: %d, as if it had the same address", a.Status)
		}
		gatewaytest.Until(t, "the log has both addresses", func() bool {
			log := p.Log.String()
			return strings.Contains(log, `"client":"127.0.0.2"`) && strings.Contains(log, `"client":"127.0.0.3"`)
		})
		if strings.Contains(p.Log.String(), `"client":"203.0.113.`) {
			t.Error("the log has an address that the client made up")
		}
	})
}

func TestConsoleWorksBehindTheProxy(t *testing.T) {
	t.Parallel()
	eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
		p := simulated(t, gatewaytest.JWTSecret)
		f := behind(p)
		p.Login(t) // registers Ada
		client := f.client(t, "127.0.0.1")
		a := f.do(t, client, http.MethodPost, "/auth/session", strings.NewReader(`{"email":"ada@example.com","password":"correct horse battery"}`))
		var session *http.Cookie
		for _, cookie := range (&http.Response{Header: a.Header}).Cookies() {
			if cookie.Name == "mgw_session" {
				session = cookie
			}
		}
		if a.Status != 204 || session == nil || !session.Secure || !session.HttpOnly {
			t.Fatalf("%d %v %s", a.Status, session, a.Body)
		}
		cookie := session.Name + "=" + session.Value
		for origin, want := range map[string]int{f.URL: 201, "https://evil.example.com": 403} { // an old browser says no more
			a := f.do(t, client, http.MethodPost, "/auth/keys", strings.NewReader(`{"name":"app"}`), "Cookie", cookie, "Origin", origin)
			if a.Status != want {
				t.Errorf("from a page of %s: %d %s", origin, a.Status, a.Body)
			}
		}
	})
}

func TestPlainRequestsAreSentToTLS(t *testing.T) {
	t.Parallel()
	eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
		f := behind(simulated(t))
		resp, err := f.client(t, "127.0.0.1").Get(f.plainURL + "/docs?x=1")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		// The ports of a test are not those of the examples, which no address shows.
		to := regexp.MustCompile(`:\d+/`).ReplaceAllString(resp.Header.Get("Location"), "/")
		if resp.StatusCode/100 != 3 || to != "https://"+host+"/docs?x=1" {
			t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Location"))
		}
		// A request with a name that a client makes up is not sent to that name.
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.plainURL+"/docs", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "evil.example"
		if resp, err := f.client(t, "127.0.0.1").Do(req); err == nil {
			defer func() { _ = resp.Body.Close() }()
			if strings.Contains(resp.Header.Get("Location"), "evil") {
				t.Errorf("of another name: %d %s", resp.StatusCode, resp.Header.Get("Location"))
			}
		}
	})
}

func TestBrowsersAreToldToUseTLSOnly(t *testing.T) {
	t.Parallel()
	eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
		f := behind(simulated(t))
		for path, status := range map[string]int{"/docs": 200, "/v1/nowhere": 404} {
			a := f.do(t, f.client(t, "127.0.0.1"), http.MethodGet, path, nil)
			if a.Status != status || a.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
				t.Errorf("%s: %d %q", path, a.Status, a.Header.Get("Strict-Transport-Security"))
			}
		}
	})
}

func TestProxiesWaitLongerThanTheGateway(t *testing.T) {
	t.Parallel()
	settings, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(pattern string, text []byte) time.Duration {
		match := regexp.MustCompile(pattern).FindSubmatch(text)
		if match == nil {
			t.Fatalf("nothing matches %s", pattern)
		}
		n, _ := strconv.Atoi(string(match[1])) // digits
		return time.Duration(n) * time.Second
	}
	gateway := number("`UPSTREAM_TIMEOUT_SECONDS` \\| `(\\d+)`", settings)
	for file, pattern := range map[string]string{
		"nginx/modelgateway.conf": `proxy_read_timeout (\d+)s;`, "caddy/Caddyfile": `response_header_timeout (\d+)s`,
		"traefik/modelgateway.yml": `responseHeaderTimeout: (\d+)s`,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		if wait := number(pattern, text); wait < gateway+30*time.Second {
			t.Errorf("%s waits for %s, the gateway for %s", file, wait, gateway)
		}
	}
}
