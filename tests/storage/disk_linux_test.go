package storage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// TestFullDiskFailsOnlyWrites fills the disk of SQLite: reads go on, no lost write
// is acknowledged, and all works again when there is space.
func TestFullDiskFailsOnlyWrites(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret,
		"DATABASE_URL=sqlite:"+filepath.Join(disk, "gateway.db"))
	token := p.Login(t)
	id, key := p.CreateKey(t, token)
	fillDisk(t, filepath.Join(disk, "filler"))
	for range 3 {
		for what, a := range map[string]gatewaytest.Answer{
			"register": p.Call(t, "POST", "/auth/register", `{"email":"late@example.com","password":"correct horse battery","name":"Late"}`),
			"create":   p.Call(t, "POST", "/auth/keys", `{"name":"late"}`, token...),
			"revoke":   p.Call(t, "DELETE", "/auth/keys/"+id, "", token...),
		} {
			if f := a.APIError(t); a.Status != 503 || f.Type != "api_error" || f.Code != "service_unavailable" ||
				strings.Contains(f.Message, disk) {
				t.Errorf("%s on a full disk: %d %s", what, a.Status, a.Body)
			}
		}
		if a := p.Call(t, "GET", "/auth/keys", "", token...); a.Status != 200 || strings.Count(a.Body, `"object":"api_key"`) != 1 ||
			!strings.Contains(a.Body, id) {
			t.Errorf("list on a full disk: %d %s", a.Status, a.Body)
		}
		for _, credential := range [][]string{{"X-API-Key", key}, token} {
			if a := p.Chat(t, gatewaytest.HelloRequest, credential...); a.Status != 200 {
				t.Errorf("chat on a full disk: %d %s", a.Status, a.Body)
			}
		}
		if a := p.Call(t, "POST", "/auth/login", `{"email":"ada@example.com","password":"correct horse battery"}`); a.Status != 200 {
			t.Errorf("login on a full disk: %d %s", a.Status, a.Body)
		}
	}
	gatewaytest.Until(t, "health says so", func() bool { return strings.Contains(p.Get(t, "/health").Body, `"database":"unhealthy"`) })
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Until(t, "health is well again", func() bool { return strings.Contains(p.Get(t, "/health").Body, `"database":"healthy"`) })
	if a := p.Call(t, "POST", "/auth/register", `{"email":"late@example.com","password":"correct horse battery","name":"Late"}`); a.Status != 201 {
		t.Errorf("register with space again, which was never acknowledged: %d %s", a.Status, a.Body)
	}
	if a := p.Call(t, "DELETE", "/auth/keys/"+id, "", token...); a.Status != 200 {
		t.Errorf("revoke with room again: %d %s", a.Status, a.Body)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	db := gatewaytest.OpenSQL(t, "sqlite:"+filepath.Join(disk, "gateway.db"))
	var state string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&state); err != nil || state != "ok" {
		t.Errorf("the file is %s: %v", state, err)
	}
}

// smallDisk mounts a disk of 1 MiB and returns its folder.
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

// fillDisk writes until the disk is full.
func fillDisk(t *testing.T, name string) {
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
