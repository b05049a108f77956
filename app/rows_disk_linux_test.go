package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
