//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/servertest"
	"modelgateway/providers/providertest"
	"modelgateway/services"
)

// TestO7AFullDiskEndsWritesAndNothingElse fills the disk under the embedded
// database: what needs no write goes on, nothing is acknowledged that is not
// kept, and with room everything is as before.
func TestO7AFullDiskEndsWritesAndNothingElse(t *testing.T) {
	disk := smallDisk(t)
	p := start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", goodSecret, "DATABASE_URL=sqlite:"+filepath.Join(disk, "gateway.db"))
	token := p.login(t)
	id, key := p.createKey(t, token)
	fill(t, filepath.Join(disk, "filler"))
	for range 3 {
		for what, a := range map[string]answer{
			"register": p.call(t, "POST", "/auth/register", `{"email":"late@example.com","password":"correct horse battery","name":"Late"}`),
			"create":   p.call(t, "POST", "/auth/keys", `{"name":"late"}`, token...),
			"revoke":   p.call(t, "DELETE", "/auth/keys/"+id, "", token...),
		} {
			if f := a.fault(t); a.status != 503 || f.Type != "api_error" || f.Code != "service_unavailable" || strings.Contains(f.Message, disk) {
				t.Errorf("%s on a full disk: %d %s", what, a.status, a.body)
			}
		}
		if a := p.call(t, "GET", "/auth/keys", "", token...); a.status != 200 || strings.Count(a.body, `"object":"api_key"`) != 1 || !strings.Contains(a.body, id) {
			t.Errorf("list on a full disk: %d %s", a.status, a.body)
		}
		for _, credential := range [][]string{{"X-API-Key", key}, token} {
			if a := p.chat(t, hello, credential...); a.status != 200 {
				t.Errorf("chat on a full disk: %d %s", a.status, a.body)
			}
		}
		if a := p.call(t, "POST", "/auth/login", `{"email":"ada@example.com","password":"correct horse battery"}`); a.status != 200 {
			t.Errorf("login on a full disk: %d %s", a.status, a.body)
		}
	}
	until(t, "health says so", func() bool { return strings.Contains(p.get(t, "/health").body, `"database":"unhealthy"`) })
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	until(t, "health is well again", func() bool { return strings.Contains(p.get(t, "/health").body, `"database":"healthy"`) })
	if a := p.call(t, "POST", "/auth/register", `{"email":"late@example.com","password":"correct horse battery","name":"Late"}`); a.status != 201 {
		t.Errorf("register with room again, which nobody had been told was done: %d %s", a.status, a.body)
	}
	if a := p.call(t, "DELETE", "/auth/keys/"+id, "", token...); a.status != 200 {
		t.Errorf("revoke with room again: %d %s", a.status, a.body)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	db := openSQL(t, "sqlite:"+filepath.Join(disk, "gateway.db"))
	var state string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&state); err != nil || state != "ok" {
		t.Errorf("the file is %s: %v", state, err)
	}
}

// smallDisk is a folder on a disk of 1 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("gateway-test", folder, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("a small disk cannot be mounted here, which takes root: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// fill takes all the room there is.
func fill(t *testing.T, name string) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for size := 64 << 10; size > 0; {
		if _, err := file.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestO13ATokenFollowsTheWallClockWithinItsLeeway moves the clock under the
// tokens as an operator or a broken battery does.
func TestO13ATokenFollowsTheWallClockWithinItsLeeway(t *testing.T) {
	store, err := models.Open("sqlite:" + filepath.Join(t.TempDir(), "gateway.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	ada := &models.User{ID: "usr_ada", Email: "ada@example.com", CreatedAt: 5}
	if err := errors.Join(store.Migrate(t.Context()), store.CreateUser(t.Context(), ada)); err != nil {
		t.Fatal(err)
	}
	shift := time.Duration(0)
	clock := func() time.Time { return time.Now().Add(shift) }
	tokens := services.NewTokens(services.TokenOptions{Secret: []byte(goodSecret), Expiry: 24 * time.Hour, Issuer: "modelgateway", Store: store, Now: clock})
	token, err := tokens.Issue(ada)
	if err != nil {
		t.Fatal(err)
	}
	const soon, late = 30 * time.Second, 90 * time.Second // the leeway is a minute
	for _, tt := range []struct {
		name  string
		shift time.Duration
		code  string
	}{
		{"as it was", 0, ""},
		{"back within the leeway", -soon, ""},
		{"back beyond the leeway", -late, api.CodeInvalidToken},
		{"back an hour", -time.Hour, api.CodeInvalidToken},
		{"back a day", -24 * time.Hour, api.CodeInvalidToken},
		{"as it was again", 0, ""},
		{"an hour on", time.Hour, ""},
		{"just before the end", 24*time.Hour - soon, ""},
		{"a day on, which is the end", 24 * time.Hour, api.CodeTokenExpired},
		{"back again from there", 0, ""},
		{"to the beginning of time", -time.Since(time.Unix(0, 0)), api.CodeInvalidToken},
	} {
		shift = tt.shift
		user, err := tokens.Verify(context.Background(), token.Text)
		if tt.code == "" && (err != nil || user != ada.ID) || tt.code != "" && api.AsError(err).Code != tt.code {
			t.Errorf("%s: %q, %v", tt.name, user, err)
		}
	}
	shift = -time.Hour // a login while the clock is wrong works at once, and ends by the same clock
	behind, err := tokens.Issue(ada)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Verify(t.Context(), behind.Text); err != nil {
		t.Errorf("a token of the wrong clock: %v", err)
	}
	shift = 0
	if _, err := tokens.Verify(t.Context(), behind.Text); err != nil {
		t.Errorf("the same when the clock is right again: %v", err)
	}
}

// TestO17HealthAnswersWhateverHangs freezes everything the gateway depends on.
func TestO17HealthAnswersWhateverHangs(t *testing.T) {
	database, cache := servertest.StartPostgres(t), servertest.StartRedis(t)
	u := providertest.Serve(t, events(providertest.Hold))
	settings := []string{"DATABASE_URL=" + database.URL, "REDIS_URL=" + cache.URL, "LOG_LEVEL=info"}
	for _, f := range families() {
		settings = append(settings, f.key+"_API_KEY=sk-canary-"+f.name, f.key+"_BASE_URL="+u.URL)
	}
	p := start(t, settings...)
	look := func(want ...string) bool {
		t.Helper()
		began := time.Now()
		a := p.get(t, "/health")
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		for _, secret := range []string{"canary", "127.0.0.1", "localhost", "postgres", "redis", "timeout", "dial", "refused", "context", "error", strings.TrimPrefix(u.URL, "http://")} {
			if strings.Contains(a.body, secret) {
				t.Errorf("it tells %q: %s", secret, a.body)
			}
		}
		for _, text := range want {
			if !strings.Contains(a.body, text) {
				return false
			}
		}
		return a.header.Get("Cache-Control") == "no-store"
	}
	if !look(`"status":"healthy"`, `"database":"healthy"`, `"cache":"healthy"`, `"openai":"healthy"`) {
		t.Error("it is not well at first")
	}
	database.Freeze()
	cache.Freeze()
	defer database.Thaw()
	defer cache.Thaw()
	until(t, "it says what hangs", func() bool { return look(`"database":"unhealthy"`, `"cache":"unhealthy"`) })
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		began := time.Now()
		if a := p.get(t, path); time.Since(began) > time.Second || a.status != 200 && path != "/readyz" {
			t.Errorf("%s: %d after %s", path, a.status, time.Since(began))
		}
	}
	database.Thaw()
	cache.Thaw()
	until(t, "it is well again", func() bool { return look(`"status":"healthy"`, `"database":"healthy"`, `"cache":"healthy"`) })
	if n := len(u.Requests()); n != 0 {
		t.Errorf("it asked a provider %d times", n)
	}
}
