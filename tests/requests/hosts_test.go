package requests

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// from requests a path under a name of the gateway, as a page of a site with that name would.
func from(t *testing.T, p *gatewaytest.Program, host, method, path string, headers ...string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

func TestOpenModeAnswersOnlyToItsOwnHosts(t *testing.T) {
	p := gatewaytest.Start(t, "PUBLIC_URL=https://Models.example.com/gateway", "ALLOWED_HOSTS=ai.example.org, Box.example.net")
	for _, host := range []string{
		"127.0.0.1", "10.1.2.3:80", "[::1]:8080", "[fe80::1%25eth0]", "localhost", "LOCALHOST:1", "localhost.", "app.localhost:3000", "gateway:8080", "laptop.local",
		"host.docker.internal", "gateway.llm.svc.cluster.local", "models.example.com", "MODELS.example.com:8443", "ai.example.org", "box.example.net.", "",
	} {
		if status, body := from(t, p, host, "GET", "/v1/models"); status != 200 {
			t.Errorf("%q: %d %s", host, status, body)
		}
	}
	for _, host := range []string{
		"evil.example", "evil.example:8080", "evil.example.", "127.0.0.1.evil.example", "localhost.evil.example", "models.example.com.evil.example",
		"sub.models.example.com", "internal.example", "evil.notlocal", "127.1", "evil.example:80:80",
	} {
		for _, path := range []string{"/v1/models", "/", "/docs", "/metrics", "/auth/methods", "/none"} {
			status, body := from(t, p, host, "GET", path, "Origin", "http://"+host, "Sec-Fetch-Site", "same-origin", "X-Forwarded-Host", "localhost")
			var e struct {
				Error struct{ Type, Code, Message string }
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || status != 403 || e.Error.Code != "host_not_allowed" || e.Error.Type != "permission_error" ||
				!strings.Contains(e.Error.Message, "ALLOWED_HOSTS") {
				t.Errorf("%q %s: %d %s", host, path, status, body)
			}
		}
		for _, path := range []string{"/health", "/livez", "/readyz"} {
			if status, body := from(t, p, host, "GET", path); status == 403 {
				t.Errorf("%q %s: %s", host, path, body)
			}
		}
	}
	for path, form := range map[string]string{"/v1/messages": `{"type":"error","error":{"type":"permission_error"`, "/v1/responses": `"code":"host_not_allowed"`} {
		if status, body := from(t, p, "evil.example", "POST", path); status != 403 || !strings.Contains(body, form) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := from(t, p, "evil.example", "OPTIONS", "/v1/models", "Origin", "http://evil.example", "Access-Control-Request-Method", "POST"); status != 403 {
		t.Errorf("a preflight: %d %s", status, body)
	}
}

func TestAnyHostIsServedWhereItIsAllowedOrACredentialIsNeeded(t *testing.T) {
	for name, settings := range map[string][]string{"allowed": {"ALLOWED_HOSTS=*"}, "with credentials": {"REQUIRE_AUTH=true", gatewaytest.JWTSecret}} {
		p := gatewaytest.Start(t, settings...)
		if status, body := from(t, p, "evil.example", "GET", "/auth/methods"); status != 200 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestAllowedHostsAreNames(t *testing.T) {
	for _, hosts := range []string{"http://a.example", "a.example:80", "a.example/x", "*.example.com", "*,a.example", "a.example,,b"} {
		if _, err := gatewaytest.TryStart(t, "ALLOWED_HOSTS="+hosts); err == nil || !strings.Contains(err.Error(), "ALLOWED_HOSTS") {
			t.Errorf("%s: %v", hosts, err)
		}
	}
}
