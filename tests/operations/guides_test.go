package operations

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestGuidesAreServedFromTheBinary(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	page := p.Get(t, "/docs/quick-start")
	policy := page.Header.Get("Content-Security-Policy")
	if page.Status != 200 || page.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
		!strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Fatalf("%d %v", page.Status, page.Header)
	}
	seen := map[string]bool{}
	for _, link := range regexp.MustCompile(` (?:href|src)="([^"#:]+)["#]`).FindAllStringSubmatch(page.Body, -1) {
		path := "/docs/" + link[1]
		if rest, found := strings.CutPrefix(link[1], "../"); found {
			path = "/" + rest
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		a := p.Get(t, path)
		if a.Status != 200 || a.Body == "" {
			t.Errorf("%s: %d", path, a.Status)
		}
		if tag := a.Header.Get("ETag"); strings.HasPrefix(path, "/docs/") {
			if again := p.Call(t, "GET", path, "", "If-None-Match", tag); tag == "" || again.Status != 304 || again.Body != "" {
				t.Errorf("%s again: %d", path, again.Status)
			}
		}
	}
	if len(seen) < 25 {
		t.Errorf("only %d links", len(seen))
	}
	if a := p.Get(t, "/docs/none"); a.Status != 404 || a.APIError(t).Code != "route_not_found" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestGuidesAreSentCompressed(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	plain := p.Get(t, "/docs/clients").Body
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/docs/clients", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	short, err := io.ReadAll(resp.Body)
	if err != nil || resp.Header.Get("Content-Encoding") != "gzip" || len(short) > len(plain)/2 {
		t.Errorf("%v %v: %d bytes of %d", err, resp.Header, len(short), len(plain))
	}
}
