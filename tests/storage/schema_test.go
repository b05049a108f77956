package storage

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

// eachDatabase runs a test for SQLite and for PostgreSQL; fresh returns the address
// of an empty database.
func eachDatabase(t *testing.T, test func(t *testing.T, fresh func() string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, func() string { return "sqlite:" + filepath.Join(t.TempDir(), "gateway.db") })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, func() string { return servertest.Postgres(t) })
	})
}

// migrationFiles are the migrations of the kind of database at this address, in
// order.
func migrationFiles(t *testing.T, address string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(gatewaytest.File(t, "models/migrations/*.sql"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	foreign := ".postgres.sql"
	if !strings.HasPrefix(address, "sqlite:") {
		foreign = ".sqlite.sql"
	}
	return slices.DeleteFunc(all, func(file string) bool { return strings.HasSuffix(file, foreign) })
}

// formerData is a user and a key as a former version stores them.
type formerData struct {
	user struct {
		id, email, name, hash string
		created, disabled     int64
	}
	key struct {
		id, userID, name, hash, prefix string
		created, used, revoked         int64
	}
	text string // the key itself
}

// create registers a user and creates a key through a gateway, and reads both from
// its database.
func (k *formerData) create(t *testing.T, address string) {
	t.Helper()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "DATABASE_URL="+address)
	_, k.text = p.CreateKey(t, p.Login(t))
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	db := gatewaytest.OpenSQL(t, address)
	u, key := &k.user, &k.key
	err := errors.Join(
		db.QueryRowContext(t.Context(), formerUser).Scan(&u.id, &u.email, &u.name, &u.hash, &u.created, &u.disabled),
		db.QueryRowContext(t.Context(), formerKey).
			Scan(&key.id, &key.userID, &key.name, &key.hash, &key.prefix, &key.created, &key.used, &key.revoked),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// The queries of the second version of the schema. They do not change with the
// code: replicas of that version send them while others are replaced.
const (
	formerUser   = "SELECT id, email, name, password_hash, created_at, disabled_at FROM users"
	formerKey    = "SELECT id, user_id, name, hash, prefix, created_at, last_used_at, revoked_at FROM api_keys"
	formerHolder = "SELECT api_keys.*, users.disabled_at AS user_disabled_at FROM api_keys JOIN users ON users.id = api_keys.user_id WHERE api_keys.revoked_at = 0"
	newUser      = "INSERT INTO users (id, email, name, password_hash, created_at, disabled_at) VALUES (?, ?, ?, ?, ?, ?)"
	newKey       = "INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at, last_used_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
	newIdentity  = "INSERT INTO identities (issuer, subject, user_id, created_at) VALUES (?, ?, ?, ?)"
	useKey       = "UPDATE api_keys SET last_used_at = ? WHERE id = ? AND last_used_at < ?"
	endKey       = "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at = 0"
	writeProbe   = "UPDATE probes SET at = ? WHERE id = 1"
)

func (k *formerData) insert(t *testing.T, db *sql.DB) {
	t.Helper()
	u, key := k.user, k.key
	gatewaytest.Execute(t, db, newUser, u.id, u.email, u.name, u.hash, u.created, u.disabled)
	gatewaytest.Execute(t, db, newKey, key.id, key.userID, key.name, key.hash, key.prefix, key.created, key.used, key.revoked)
}

// TestFormerSchemasAreMigratedWithTheirData starts the gateway on the schema of
// every former version.
func TestFormerSchemasAreMigratedWithTheirData(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, fresh func() string) {
		var k formerData
		address := fresh()
		k.create(t, address)
		files := migrationFiles(t, address)
		for version := 1; version < len(files); version++ {
			address := fresh()
			db := gatewaytest.OpenSQL(t, address)
			gatewaytest.Execute(t, db, "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL)")
			for i, file := range files[:version] {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				gatewaytest.Execute(t, db, string(text))
				gatewaytest.Execute(t, db, "INSERT INTO schema_migrations (version, applied_at) VALUES (?, ?)", i+1, 5)
			}
			const accounts = 2 // the version that added them
			if version >= accounts {
				k.insert(t, db)
			}
			p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "DATABASE_URL="+address)
			if a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", k.text); (a.Status == 200) != (version >= accounts) || a.Status >= 500 {
				t.Errorf("version %d: a key that was there: %d %s", version, a.Status, a.Body)
			}
			id, key := p.CreateKey(t, p.Login(t))
			if a := p.Call(t, "DELETE", "/auth/keys/"+id, "", p.Login(t)...); a.Status != 200 {
				t.Errorf("version %d: revoke: %d %s", version, a.Status, a.Body)
			}
			if a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key); a.Status != 401 {
				t.Errorf("version %d: a revoked key: %d %s", version, a.Status, a.Body)
			}
			var last int
			if err := db.QueryRowContext(t.Context(), "SELECT MAX(version) FROM schema_migrations").Scan(&last); err != nil ||
				last != len(files) {
				t.Errorf("version %d became %d: %v", version, last, err)
			}
		}
	})
}

// TestFormerVersionWorksOnTheNewSchema sends the queries of a former version while
// this one serves: each sees the other's changes.
func TestFormerVersionWorksOnTheNewSchema(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, fresh func() string) {
		var k formerData
		k.create(t, fresh())
		address := fresh()
		p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "DATABASE_URL="+address)
		db := gatewaytest.OpenSQL(t, address)
		k.insert(t, db)
		gatewaytest.Execute(t, db, newIdentity, "https://idp.example", "subject", k.user.id, 5)
		gatewaytest.Execute(t, db, writeProbe, time.Now().Unix())
		if a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", k.text); a.Status != 200 {
			t.Errorf("a key that the former version made: %d %s", a.Status, a.Body)
		}
		token := p.Login(t) // of the former version's user
		gatewaytest.Execute(t, db, useKey, k.key.used+1, k.key.id, k.key.used+1)
		rows, err := db.QueryContext(t.Context(), formerHolder)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		_ = rows.Close()
		if err != nil || !slices.Contains(columns, "revoked_at") || !slices.Contains(columns, "user_disabled_at") {
			t.Errorf("%v, %v", columns, err)
		}
		id, _ := p.CreateKey(t, token)
		var found formerData
		key := &found.key
		if err := db.QueryRowContext(t.Context(), formerKey+" WHERE id = '"+id+"'").Scan(&key.id, &key.userID, &key.name, &key.hash, &key.prefix, &key.created, &key.used, &key.revoked); err != nil ||
			key.userID != k.user.id ||
			len(key.hash) != len(k.key.hash) {
			t.Errorf("a key that this version made: %+v, %v", key, err)
		}
		gatewaytest.Execute(t, db, endKey, time.Now().UnixMicro(), k.key.id)
		began, late := time.Now(), longtest.Lateness(t)
		gatewaytest.Until(t, "the key is refused that the former version revoked",
			func() bool { return p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", k.text).Status == 401 })
		if took := time.Since(began); took > 3*time.Second+late() {
			t.Errorf("it took %s", took)
		}
	})
}

// TestThisVersionWorksOnALaterSchema adds columns with a default, a table and a
// version, as a later version may.
func TestThisVersionWorksOnALaterSchema(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, fresh func() string) {
		address := fresh()
		var k formerData
		k.create(t, address)
		db := gatewaytest.OpenSQL(t, address)
		for _, table := range []string{"users", "api_keys", "identities", "probes", "revisions"} {
			gatewaytest.Execute(t, db, "ALTER TABLE "+table+" ADD COLUMN later TEXT NOT NULL DEFAULT 'x'")
		}
		gatewaytest.Execute(t, db, "CREATE TABLE later (id INTEGER PRIMARY KEY)")
		gatewaytest.Execute(t, db, "INSERT INTO schema_migrations (version, applied_at) VALUES (?, ?)", 9999, 5)
		p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "DATABASE_URL="+address)
		if a := p.Get(t, "/health"); a.Status != 200 || !strings.Contains(a.Body, `"database":"healthy"`) {
			t.Errorf("health: %d %s", a.Status, a.Body)
		}
		if a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", k.text); a.Status != 200 {
			t.Errorf("a key that was there: %d %s", a.Status, a.Body)
		}
		if a := p.Call(t, "POST", "/auth/register", `{"email":"new@example.com","password":"correct horse battery","name":"New"}`); a.Status != 201 {
			t.Errorf("register: %d %s", a.Status, a.Body)
		}
		token := p.Login(t)
		id, key := p.CreateKey(t, token)
		if a := p.Call(t, "DELETE", "/auth/keys/"+id, "", token...); a.Status != 200 {
			t.Errorf("revoke: %d %s", a.Status, a.Body)
		}
		if a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key); a.Status != 401 {
			t.Errorf("a revoked key: %d %s", a.Status, a.Body)
		}
	})
}
