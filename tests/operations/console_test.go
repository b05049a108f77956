package operations

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

const browserAccepts = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func TestPagesOfTheConsoleAreOneDocumentForBrowsersOnly(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	for _, path := range []string{"/", "/signin", "/keys?range=7d", "/usage", "/calls",
		"/playground", "/models", "/account", "/users", "/settings"} {
		for _, method := range []string{"GET", "HEAD"} {
			a := p.Call(t, method, path, "", "Accept", browserAccepts)
			h := a.Header
			if a.Status != 200 || h.Get("Content-Type") != "text/html; charset=utf-8" ||
				h.Get("Cache-Control") != "no-cache" || h.Get("ETag") == "" {
				t.Errorf("%s %s: %d %v", method, path, a.Status, h)
			}
			if (method == "HEAD") != (a.Body == "") {
				t.Errorf("%s %s: %q", method, path, a.Body)
			}
			const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
				"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
			if h.Get("Content-Security-Policy") != policy ||
				h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
				h.Get("Cross-Origin-Opener-Policy") != "same-origin" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
				!strings.Contains(h.Get("Permissions-Policy"), "camera=()") {
				t.Errorf("%s %s: %v", method, path, h)
			}
		}
		tag := p.Call(t, "GET", path, "", "Accept", browserAccepts).Header.Get("ETag")
		again := p.Call(t, "GET", path, "", "Accept", browserAccepts, "If-None-Match", tag)
		if again.Status != 304 || again.Body != "" {
			t.Errorf("%s again: %d", path, again.Status)
		}
	}
	for _, accept := range []string{"*/*", "application/json", "", "text/html;q=0, */*"} {
		if a := p.Call(t, "GET", "/", "", "Accept", accept); a.Status != 200 ||
			!strings.HasPrefix(a.Body, `{"object":"gateway","name":"Model Gateway",`) {
			t.Errorf("/ for %q: %d %s", accept, a.Status, a.Body)
		}
		if a := p.Call(t, "GET", "/keys", "", "Accept", accept); a.Status != 404 || a.APIError(t).Code != "route_not_found" {
			t.Errorf("/keys for %q: %d %s", accept, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "GET", "/v1/models", "", "Accept", browserAccepts); a.Status != 401 {
		t.Errorf("a path of the API: %d", a.Status)
	}
}

func TestAnUnknownPathIsAPageForBrowsersAndAnErrorForOthers(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	document := p.Call(t, "GET", "/", "", "Accept", browserAccepts)
	for _, tt := range []struct {
		method, path, accept string
		page                 bool
	}{
		{"GET", "/nothing/here", browserAccepts, true}, {"GET", "/v2", browserAccepts, true}, {"HEAD", "/nothing", browserAccepts, true},
		{"GET", "/nothing", "*/*", false}, {"POST", "/nothing/here", browserAccepts, false}, {"GET", "/v1/nothing", browserAccepts, false},
		{"GET", "/v1", browserAccepts, false}, {"GET", "/auth/nothing", browserAccepts, false}, {"GET", "/admin/nothing", browserAccepts, false},
	} {
		a := p.Call(t, tt.method, tt.path, "", "Accept", tt.accept, "If-None-Match", document.Header.Get("Etag"))
		if !tt.page {
			if a.Status != 404 || a.APIError(t).Code != "route_not_found" {
				t.Errorf("%s %s for %s: %d %s", tt.method, tt.path, tt.accept, a.Status, a.Body)
			}
			continue
		}
		if a.Status != 404 || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || tt.method == "GET" && a.Body != document.Body ||
			a.Header.Get("Content-Security-Policy") != document.Header.Get("Content-Security-Policy") {
			t.Errorf("%s %s: %d %v", tt.method, tt.path, a.Status, a.Header)
		}
	}
}

func TestFilesOfTheConsoleComeCompressedFromTheBinary(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	document := p.Call(t, "GET", "/", "", "Accept", browserAccepts).Body
	for path, kind := range map[string]string{
		"/console/main.js": "text/javascript; charset=utf-8", "/console/app.css": "text/css; charset=utf-8",
		"/console/favicon.svg": "image/svg+xml",
	} {
		if !strings.Contains(document, `"`+path+`"`) {
			t.Errorf("the document does not load %s", path)
		}
		plain := p.Call(t, "GET", path, "", "Accept-Encoding", "identity")
		packed := p.Call(t, "GET", path, "", "Accept-Encoding", "gzip, br")
		for _, a := range []gatewaytest.Answer{plain, packed} {
			h := a.Header
			if a.Status != 200 || h.Get("Content-Type") != kind ||
				h.Get("ETag") == "" || h.Get("Cache-Control") != "no-cache" || h.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s: %d %v", path, a.Status, h)
			}
		}
		r, err := gzip.NewReader(strings.NewReader(packed.Body))
		if err != nil {
			t.Fatal(path, err)
		}
		if text, err := io.ReadAll(r); err != nil || string(text) != plain.Body {
			t.Errorf("%s: compressed it is another text (%v)", path, err)
		}
		if a := p.Call(t, "GET", path, "", "If-None-Match", "W/"+plain.Header.Get("ETag")); a.Status != 304 || a.Body != "" {
			t.Errorf("%s again: %d", path, a.Status)
		}
	}
}

func TestTheTypefaceOfTheConsoleComesAsItIsWithItsLicense(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	p.Client = gatewaytest.ParallelClient(t) // it validates no paths: the OpenAPI document describes /console/{file}, without subfolders
	font := p.Call(t, "GET", "/console/fonts/inter-latin.woff2", "", "Accept-Encoding", "gzip")
	if h := font.Header; font.Status != 200 || h.Get("Content-Type") != "font/woff2" || h.Get("Content-Encoding") != "" ||
		h.Get("Cache-Control") != "no-cache" || h.Get("ETag") == "" || !strings.HasPrefix(font.Body, "wOF2") {
		t.Errorf("%d %v", font.Status, font.Header)
	}
	if a := p.Call(t, "GET", "/console/fonts/inter-OFL.txt", ""); !strings.Contains(a.Body, "SIL OPEN FONT LICENSE") {
		t.Errorf("%d %.100s", a.Status, a.Body)
	}
}

func TestOnlyFilesOfTheConsoleAreServed(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	for _, path := range []string{
		"/console", "/console/", "/console/.", "/console/none.js", "/console/lib", "/console/lib/",
		"/console/../web.go", "/console/%2e%2e/openapi.yaml",
		"/console/..%2fopenapi.yaml", "/console/lib/..%2f..%2flink.css",
		"/console//etc/passwd", "/console/%2fetc%2fpasswd", "/console/..%5clink.css",
		"/console/main.js%00", "/console/./main.js",
	} {
		if a := p.Call(t, "GET", path, "", "Accept", browserAccepts); a.Status != 404 || a.APIError(t).Code != "route_not_found" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "POST", "/console/main.js", "{}"); a.Status != 405 {
		t.Errorf("POST: %d", a.Status)
	}
}
