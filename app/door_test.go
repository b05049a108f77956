package app

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

const hi = `"messages":[{"role":"user","content":"hi"}]`

func TestEveryFailureHasTheOneShape(t *testing.T) {
	p := start(t, "MAX_REQUEST_BYTES=4096")
	const chat = "/v1/chat/completions"
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		kind, code, param        string
	}{
		{"unknown path", "GET", "/nope", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"root", "GET", "/", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"doubled slash", "GET", "//v1/models", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"trailing slash", "GET", "/v1/models/", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"trailing slash on chat", "POST", chat + "/", "{}", nil, 404, "not_found_error", "route_not_found", ""},
		{"upper case", "GET", "/V1/MODELS", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"dots", "GET", "/v1/../v1/models", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"escaped dots", "GET", "/v1/%2e%2e/health", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"semicolon", "GET", "/v1/models;x", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"wrong method on chat", "PUT", chat, "{}", nil, 405, "invalid_request_error", "method_not_allowed", ""},
		{"get of chat", "GET", chat, "", nil, 405, "invalid_request_error", "method_not_allowed", ""},
		{"post of models", "POST", "/v1/models", "{}", nil, 405, "invalid_request_error", "method_not_allowed", ""},
		{"delete of health", "DELETE", "/health", "", nil, 405, "invalid_request_error", "method_not_allowed", ""},
		{"unknown method", "BREW", "/health", "", nil, 405, "invalid_request_error", "method_not_allowed", ""},
		{"unknown model", "GET", "/v1/models/nope", "", nil, 404, "invalid_request_error", "model_not_found", "model"},
		{"unknown model, escaped", "GET", "/v1/models/a%2Fb%00%0Ac", "", nil, 404, "invalid_request_error", "model_not_found", "model"},
		{"no content type", "POST", chat, "{}", []string{"Content-Type", ""}, 415, "invalid_request_error", "unsupported_media_type", ""},
		{"text", "POST", chat, "{}", []string{"Content-Type", "text/plain"}, 415, "invalid_request_error", "unsupported_media_type", ""},
		{"form", "POST", chat, "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "invalid_request_error", "unsupported_media_type", ""},
		{"gzip", "POST", chat, "xx", []string{"Content-Encoding", "gzip"}, 415, "invalid_request_error", "unsupported_media_type", ""},
		{"too large", "POST", chat, `{"x":"` + strings.Repeat("x", 5000) + `"}`, nil, 413, "invalid_request_error", "request_too_large", ""},
		{"large header", "GET", "/v1/models", "", []string{"X-Big", strings.Repeat("x", 40_000)}, 431, "invalid_request_error", "request_too_large", ""},
		{"not JSON", "POST", chat, "hello", nil, 400, "invalid_request_error", "invalid_json", ""},
		{"no model", "POST", chat, `{` + hi + `}`, nil, 400, "invalid_request_error", "missing_field", "model"},
		{"bad temperature", "POST", chat, `{"model":"gpt-4","temperature":3,` + hi + `}`, nil, 400, "invalid_request_error", "invalid_value", "temperature"},
		{"model of nobody", "POST", chat, `{"model":"gpt-99",` + hi + `}`, nil, 404, "invalid_request_error", "model_not_found", "model"},
		{"model with a NUL", "POST", chat, `{"model":"gpt-4\u0000",` + hi + `}`, nil, 404, "invalid_request_error", "model_not_found", "model"},
		{"provider not configured", "POST", chat, `{"model":"gpt-4",` + hi + `}`, nil, 503, "api_error", "provider_error", ""},
		{"provider not configured, stream", "POST", chat, `{"model":"gpt-4","stream":true,` + hi + `}`, nil, 503, "api_error", "provider_error", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := p.call(t, tt.method, tt.path, tt.body, tt.headers...)
			f := a.fault(t)
			if a.status != tt.status || f.Type != tt.kind || f.Code != tt.code || f.Message == "" {
				t.Errorf("%d %s", a.status, a.body)
			}
			if tt.param == "" && f.Param != nil || tt.param != "" && (f.Param == nil || *f.Param != tt.param) {
				t.Errorf("param: %s", a.body)
			}
			if a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Request-Id") == "" || a.header.Get("X-Should-Retry") != "false" {
				t.Errorf("header: %v", a.header)
			}
			if tt.status == 405 && a.header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if tt.status == 503 && a.header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
		})
	}
}

func TestABodyThatIsTooLargeIsNotRead(t *testing.T) {
	p := start(t, "MAX_REQUEST_BYTES=4096")
	for name, head := range map[string]string{
		"announced": "Content-Length: 100000000\r\n\r\n{",
		"chunked":   "Transfer-Encoding: chunked\r\n\r\n2000\r\n" + strings.Repeat("x", 0x2000) + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s", head)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != 413 || !resp.Close {
				t.Errorf("%d, close %v", resp.StatusCode, resp.Close)
			}
		})
	}
}

func TestAClientThatStopsMidBodyDoesNotHoldOn(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a read deadline")
	}
	p := start(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(45 * time.Second))
	_, _ = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	began := time.Now()
	_, err = io.ReadAll(conn)
	if took := time.Since(began); err != nil || took > 40*time.Second {
		t.Errorf("held on for %s: %v", took, err)
	}
}

func TestMalformedHTTPIsRefused(t *testing.T) {
	p := start(t)
	for name, head := range map[string]string{
		"two lengths":            "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
		"bad length":             "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n{}",
		"unknown coding":         "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, x\r\n\r\n{}",
		"no host":                "GET /health HTTP/1.1\r\n\r\n",
		"folded header":          "GET /health HTTP/1.1\r\n folded\r\nHost: x\r\n\r\n",
		"header with a new line": "GET /health HTTP/1.1\r\nHost: x\r\nX-A: a\nb\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = io.WriteString(conn, head)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return // closed without a word, which is as good
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode < 400 || resp.StatusCode == 500 {
				t.Errorf("status %d", resp.StatusCode)
			}
		})
	}
}

func TestRequestIDsAreKeptWhenSane(t *testing.T) {
	p := start(t)
	for given, kept := range map[string]bool{
		"abc-123_X.y:z": true, "": false, "a b": false, "a\"b": false, strings.Repeat("x", 129): false, "é": false, "{}": false,
	} {
		a := p.call(t, "GET", "/health", "", "X-Request-Id", given)
		got := a.header.Get("X-Request-Id")
		if (got == given) != kept || got == "" {
			t.Errorf("%q became %q", given, got)
		}
	}
	if len(p.log.String()) == 0 || strings.Contains(p.log.String(), `a\"b`) {
		t.Error("the log repeats an unsafe id")
	}
}

func TestCORSIsOffUnlessAskedFor(t *testing.T) {
	if a := start(t).call(t, "GET", "/v1/models", "", "Origin", "https://a.example"); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("on by default")
	}
	p := start(t, "CORS_ALLOWED_ORIGINS=https://a.example")
	if a := p.call(t, "GET", "/v1/models", "", "Origin", "https://a.example"); a.header.Get("Access-Control-Allow-Origin") != "https://a.example" || a.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%v", a.header)
	}
	if a := p.call(t, "GET", "/v1/models", "", "Origin", "https://b.example"); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("another origin is let in")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, p.url+"/v1/chat/completions", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://a.example")
	req.Header.Set("Access-Control-Request-Method", "POST")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 204 || !strings.Contains(resp.Header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("preflight: %d %v", resp.StatusCode, resp.Header)
	}
}

func TestModelsListsTheCatalogue(t *testing.T) {
	p := start(t, "OPENAI_API_KEY=sk-x")
	a := p.get(t, "/v1/models")
	if a.status != 200 || strings.Count(a.body, `"object":"model"`) != 18 || strings.Count(a.body, `"available":true`) != 3 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if one := p.get(t, "/v1/models/gemini-2.5-flash"); one.status != 200 || !strings.Contains(one.body, `"owned_by":"gemini"`) || !strings.Contains(one.body, `"available":false`) {
		t.Errorf("%d %s", one.status, one.body)
	}
}

func TestHealthWithoutProvidersIsDegraded(t *testing.T) {
	p := start(t)
	a := p.get(t, "/health")
	if a.status != 200 || !strings.Contains(a.body, `"status":"degraded"`) || !strings.Contains(a.body, `"database":"healthy"`) || !strings.Contains(a.body, `"cache":"healthy"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if a := p.get(t, path); a.status != 200 || a.body != `{"status":"ok"}` {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, path := range []string{"/openapi.yaml", "/docs"} {
		if a := p.get(t, path); a.status != 200 || !strings.Contains(a.body, "chat/completions") {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

func TestADatabaseThatIsGoneIsNotHiddenAndNotFatal(t *testing.T) {
	p := start(t, "DATABASE_URL=postgres://nobody:secretpw@127.0.0.1:1/none", "REDIS_URL=redis://:secretpw@127.0.0.1:1/0")
	a := p.get(t, "/health")
	if a.status != 200 || !strings.Contains(a.body, `"database":"unhealthy"`) || !strings.Contains(a.body, `"cache":"unhealthy"`) || strings.Contains(a.body, "127.0.0.1") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := p.get(t, "/readyz"); a.status != 503 || a.fault(t).Code != "service_unavailable" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if strings.Contains(p.log.String(), "secretpw") {
		t.Error("the log holds a password")
	}
}

func TestA11A12O12BadSettingsRefuseToStart(t *testing.T) {
	for _, settings := range [][]string{
		{"PORT=eighty"},
		{"REQUIRE_AUTH=ture"},
		{"REQUIRE_AUTH=TRUE "},
		{"REQUIRE_AUTH=yes"},
		{"JWT_SECRET=", "REQUIRE_AUTH=true"},
		{"JWT_SECRET=changeme", "REQUIRE_AUTH=true"},
		{"JWT_SECRET=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "REQUIRE_AUTH=true"},
		{"JWT_SECRET=short-but-random-8f2b", "REQUIRE_AUTH=true"},
		{"IDP_CLIENT_ID=half"},
		{"TRUSTED_PROXIES=everybody"},
		{"JWT_EXPIRY_SECONDS=24h"},
		{"MODELS_FILE=/nonexistent.yaml"},
		{"SIMULATOR=true", "OPENAI_BASE_URL=http://127.0.0.1:1"},
		{"REQUIRE_ATUH=true"},
	} {
		p, err := tryStart(t, settings...)
		if err == nil {
			_ = p.stop()
		}
		name, _, _ := strings.Cut(settings[0], "=")
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v", settings, err)
		}
	}
}
