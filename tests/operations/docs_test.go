package operations

import (
	"regexp"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestPageOfTheAPILoadsItsOwnFilesOnly(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	page := p.Get(t, "/docs")
	policy := page.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy: %s", policy)
	}
	tag := page.Header.Get("ETag") // the page is of 2 MB
	if again := p.Call(t, "GET", "/docs", "", "If-None-Match", tag); again.Status != 304 || again.Body != "" {
		t.Errorf("again: %d", again.Status)
	}
	if packed := p.Call(t, "GET", "/docs", "", "Accept-Encoding", "gzip"); packed.Header.Get("Content-Encoding") != "gzip" ||
		len(packed.Body) > len(page.Body)/10 {
		t.Errorf("compressed: %d bytes, %v", len(packed.Body), packed.Header)
	}
	for path, kind := range map[string]string{
		"/docs/page.css": "text/css; charset=utf-8", "/docs/page.js": "text/javascript; charset=utf-8",
	} {
		if !strings.Contains(page.Body, `="`+strings.TrimPrefix(path, "/")+`"`) {
			t.Errorf("the page does not load %s", path)
		}
		a := p.Get(t, path)
		if a.Status != 200 || a.Header.Get("Content-Type") != kind || a.Body == "" {
			t.Errorf("%s: %d %v", path, a.Status, a.Header)
		}
		if again := p.Call(t, "GET", path, "", "If-None-Match", a.Header.Get("ETag")); again.Status != 304 || again.Body != "" {
			t.Errorf("%s again: %d", path, again.Status)
		}
	}
	for _, language := range []string{"curl", "python", "javascript"} {
		if n := len(regexp.MustCompile(`<pre class="`+language+`"[^>]*>[^<]*http://`).FindAllString(page.Body, -1)); n < 50 {
			t.Errorf("%d calls in %s", n, language)
		}
	}
}

func TestBrowserShowsTheDocumentAsText(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	for accept, want := range map[string]string{
		"text/html,application/xhtml+xml,*/*;q=0.8": "text/plain; charset=utf-8", "*/*": "application/yaml; charset=utf-8",
		"application/yaml": "application/yaml; charset=utf-8",
	} {
		a := p.Call(t, "GET", "/openapi.yaml", "", "Accept", accept)
		if a.Status != 200 || a.Header.Get("Content-Type") != want || a.Header.Get("Vary") == "" ||
			!strings.HasPrefix(a.Body, "openapi: 3.1") {
			t.Errorf("%s: %d %v", accept, a.Status, a.Header)
		}
	}
}
