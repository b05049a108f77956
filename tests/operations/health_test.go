package operations

import (
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

func TestHealthWithoutProvidersIsDegraded(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	a := p.Get(t, "/health")
	if a.Status != 200 || !strings.Contains(a.Body, `"status":"degraded"`) || !strings.Contains(a.Body, `"database":"healthy"`) ||
		!strings.Contains(a.Body, `"cache":"healthy"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if a := p.Get(t, path); a.Status != 200 || a.Body != `{"status":"ok"}` {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	for _, path := range []string{"/openapi.yaml", "/docs"} {
		if a := p.Get(t, path); a.Status != 200 || !strings.Contains(a.Body, "chat/completions") {
			t.Errorf("%s: %d", path, a.Status)
		}
	}
}

func TestUnreachableDatabaseAndCacheAreReportedByHealth(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "DATABASE_URL=postgres://nobody:secretpw@127.0.0.1:1/none", "REDIS_URL=redis://:secretpw@127.0.0.1:1/0")
	a := p.Get(t, "/health")
	if a.Status != 200 || !strings.Contains(a.Body, `"database":"unhealthy"`) || !strings.Contains(a.Body, `"cache":"unhealthy"`) ||
		strings.Contains(a.Body, "127.0.0.1") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.Get(t, "/readyz"); a.Status != 503 || a.APIError(t).Code != "service_unavailable" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if strings.Contains(p.Log.String(), "secretpw") {
		t.Error("the log holds a password")
	}
}

func TestHealthReportsAStoppedDatabaseAtOnce(t *testing.T) {
	t.Parallel()
	database := servertest.StartPostgres(t)
	p := gatewaytest.Start(t, "DATABASE_URL="+database.URL)
	gatewaytest.Until(t, "it is healthy", func() bool { return strings.Contains(p.Get(t, "/health").Body, `"database":"healthy"`) })
	database.Kill()
	time.Sleep(300 * time.Millisecond) // a report may use a probe that is younger
	if a := p.Get(t, "/health"); !strings.Contains(a.Body, `"database":"unhealthy"`) {
		t.Error(a.Body)
	}
}

// TestHealthAnswersWithinASecondWhenItsDependenciesHang freezes the database and
// the cache.
func TestHealthAnswersWithinASecondWhenItsDependenciesHang(t *testing.T) {
	database, cache := servertest.StartPostgres(t), servertest.StartRedis(t)
	u := providertest.Serve(t, gatewaytest.Events(providertest.Hold))
	settings := []string{"DATABASE_URL=" + database.URL, "REDIS_URL=" + cache.URL, "LOG_LEVEL=info"}
	for _, f := range gatewaytest.Providers() {
		settings = append(settings, f.EnvPrefix+"_API_KEY=sk-canary-"+f.Name, f.EnvPrefix+"_BASE_URL="+u.URL)
	}
	p := gatewaytest.Start(t, settings...)
	look := func(want ...string) bool {
		t.Helper()
		began, late := time.Now(), longtest.Lateness(t)
		a := p.Get(t, "/health")
		if took := time.Since(began); took > time.Second+late() {
			t.Errorf("it took %s", took)
		}
		for _, secret := range []string{"canary", "127.0.0.1", "localhost", "postgres", "redis", "timeout", "dial", "refused", "context", "error", strings.TrimPrefix(u.URL, "http://")} {
			if strings.Contains(a.Body, secret) {
				t.Errorf("it tells %q: %s", secret, a.Body)
			}
		}
		for _, text := range want {
			if !strings.Contains(a.Body, text) {
				return false
			}
		}
		return a.Header.Get("Cache-Control") == "no-store"
	}
	if !look(`"status":"healthy"`, `"database":"healthy"`, `"cache":"healthy"`, `"openai":"healthy"`) {
		t.Error("it is not well at first")
	}
	database.Freeze()
	cache.Freeze()
	defer database.Thaw()
	defer cache.Thaw()
	gatewaytest.Until(t, "it says what hangs", func() bool { return look(`"database":"unhealthy"`, `"cache":"unhealthy"`) })
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		began, late := time.Now(), longtest.Lateness(t)
		if a := p.Get(t, path); time.Since(began) > time.Second+late() || a.Status != 200 && path != "/readyz" {
			t.Errorf("%s: %d after %s", path, a.Status, time.Since(began))
		}
	}
	database.Thaw()
	cache.Thaw()
	gatewaytest.Until(t, "it is well again", func() bool { return look(`"status":"healthy"`, `"database":"healthy"`, `"cache":"healthy"`) })
	if n := len(u.Requests()); n != 0 {
		t.Errorf("it asked a provider %d times", n)
	}
}
