package accounts

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/argon2"

	"modelgateway/tests/gatewaytest"
)

// formerDatabase makes the database of a release whose last migration was 0009, with a
// user root, who has a password, and a user ida of an identity provider.
func formerDatabase(t *testing.T, settings []string, kind string) {
	t.Helper()
	db := gatewaytest.OpenDatabase(t, settings)
	gatewaytest.Execute(t, db, "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL)")
	files, err := filepath.Glob("../../models/migrations/000*.sql")
	if err != nil || len(files) < 9 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if special := strings.Count(filepath.Base(file), ".") > 1; special && !strings.Contains(file, "."+kind+".") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), string(text)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		gatewaytest.Execute(t, db, "INSERT INTO schema_migrations (version, applied_at) VALUES (?, 1)", filepath.Base(file)[3]-'0')
	}
	salt := []byte("0123456789abcdef")
	encode := base64.RawStdEncoding.EncodeToString
	hash := "$argon2id$v=19$m=9216,t=4,p=1$" + encode(salt) + "$" +
		encode(argon2.IDKey([]byte("correct horse battery"), salt, 4, 9216, 1, 32))
	for _, user := range [][]any{{"usr_root", "root@example.com", hash}, {"usr_ida", "ida@example.com", ""}} {
		gatewaytest.Execute(t, db, "INSERT INTO users (id, email, name, password_hash, created_at) VALUES (?, ?, 'n', ?, 5)", user...)
	}
	gatewaytest.Execute(t, db, "INSERT INTO identities (issuer, subject, user_id, created_at) VALUES ('i', 's', 'usr_ida', 5)")
}

// An upgrade believes no address that was not proven, also one of ADMIN_EMAILS.
func TestAfterAnUpgradeNoUnprovenAddressIsAnAdministrator(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		replicas, kind := 5, "postgres"
		if strings.HasPrefix(settings[0], "DATABASE_URL=sqlite:") {
			replicas, kind = 1, "sqlite" // several stores on one file: see the tests of package models
		}
		formerDatabase(t, settings, kind)
		programs := make([]*gatewaytest.Program, replicas)
		var all sync.WaitGroup
		for i := range programs {
			all.Go(func() {
				programs[i] = gatewaytest.Start(t, append(settings,
					"SIMULATOR=true", gatewaytest.JWTSecret, adminSetting+",ida@example.com")...)
			})
		}
		all.Wait()
		p := programs[0]
		a := p.Call(t, "POST", "/auth/login", `{"email":"root@example.com","password":"correct horse battery"}`)
		if a.Status != 200 {
			t.Fatalf("the former password: %d %s", a.Status, a.Body)
		}
		root := []string{"Authorization", "Bearer " + gatewaytest.Field(t, a, "token")}
		for i, p := range programs {
			if a := p.Call(t, "GET", "/admin/users", "", root...); a.Status != 403 || a.APIError(t).Code != "admin_required" {
				t.Errorf("replica %d: %d %s", i, a.Status, a.Body)
			}
			if !strings.Contains(p.Log.String(), "modelgateway admin create --email") {
				t.Errorf("replica %d does not say what to do: %s", i, p.Log)
			}
		}
		db := gatewaytest.OpenDatabase(t, settings)
		for id, want := range map[string]int64{"usr_root": 0, "usr_ida": 5} {
			if got := gatewaytest.Sum(t, db, fmt.Sprintf("SELECT verified_at FROM users WHERE id = '%s'", id)); got != want {
				t.Errorf("%s is verified at %d", id, got)
			}
		}
		if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM users WHERE admin_at <> 0"); n != 0 {
			t.Errorf("%d administrators", n)
		}
	})
}
