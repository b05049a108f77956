package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

const sealingKey = "ENCRYPTION_KEY=8c1f5e0a94b7d3620f8e47ac1b95d0ee37f2a861c04d9b7e5518ea72f6390bcd"

// keeping are the settings of a gateway that keeps texts, sealed with a key.
func keeping(settings []string, more ...string) []string {
	return slices.Concat(settings, []string{
		"SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, sealingKey, "LOG_PROMPTS=all", "RESPONSES_STORE_HOURS=1",
		"SHUTDOWN_GRACE_SECONDS=1",
	}, more)
}

// company is what a gateway has before its backup.
type company struct {
	root, ada           []string
	key, revoked, teams string // texts of keys
	response            string // the id of one that is kept
}

func populate(t *testing.T, p *gatewaytest.Program) (c company) {
	t.Helper()
	ada := gatewaytest.Field(t, p.Call(t, "POST", "/auth/register", gatewaytest.AdaAccount), "id")
	c.root, c.ada = p.Administrator(t), p.Login(t)
	_, c.key = p.CreateLimitedKey(t, c.ada, `"budget_usd":5,"budget_window":"month"`)
	id, revoked := p.CreateKey(t, c.ada)
	c.revoked = revoked
	ok := func(status int, a gatewaytest.Answer) gatewaytest.Answer {
		t.Helper()
		if a.Status != status {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return a
	}
	ok(200, p.Call(t, "DELETE", "/auth/keys/"+id, "", c.ada...))
	team := gatewaytest.Field(t, ok(201, p.Call(t, "POST", "/admin/teams", `{"name":"research","budget_usd":7}`, c.root...)), "id")
	p.Call(t, "POST", "/admin/teams/"+team+"/members", fmt.Sprintf(`{"user_id":%q,"role":"manager"}`, ada), c.root...)
	c.teams = gatewaytest.Field(t, ok(201, p.Call(t, "POST", "/auth/teams/"+team+"/keys", `{"name":"service"}`, c.ada...)), "key")
	c.response = gatewaytest.Field(t, ok(200, p.Call(t, "POST", "/v1/responses", `{"model":"claude-haiku-4-5","input":"plover"}`,
		"Authorization", "Bearer "+c.key)), "id")
	return c
}

// check fails unless a gateway on a restored database serves all of the company.
func (c *company) check(t *testing.T, p *gatewaytest.Program) {
	t.Helper()
	bearer := func(text string) []string { return []string{"Authorization", "Bearer " + text} }
	for _, tt := range []struct {
		method, path, body string
		as                 []string
		status             int
		has                string
	}{
		{"POST", "/v1/chat/completions", gatewaytest.HelloRequest, bearer(c.key), 200, `"content"`},
		{"POST", "/v1/chat/completions", gatewaytest.HelloRequest, bearer(c.teams), 200, `"content"`},
		{"POST", "/v1/chat/completions", gatewaytest.HelloRequest, bearer(c.revoked), 401, ""},
		{"GET", "/v1/responses/" + c.response, "", bearer(c.key), 200, `"output"`}, // it is unsealed
		{"GET", "/auth/keys", "", c.ada, 200, `"budget_usd":5`},                    // the token of before
		{"GET", "/admin/teams", "", c.root, 200, `"budget_usd":7`},
		{"GET", "/admin/users", "", c.root, 200, `ada@example.com`},
	} {
		if a := p.Call(t, tt.method, tt.path, tt.body, tt.as...); a.Status != tt.status || !strings.Contains(a.Body, tt.has) {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, a.Status, a.Body)
		}
	}
	p.Login(t) // with the password of before
}

func TestRestoreRefusesWhatWouldHarm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := []string{"DATABASE_URL=sqlite:" + filepath.Join(dir, "gateway.db")}
	p := gatewaytest.Start(t, keeping(settings)...)
	c := populate(t, p)
	file := filepath.Join(dir, "backup.db")
	gatewaytest.Command(t, settings, "backup", file)
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	newer := write("newer.db", sound)
	db := gatewaytest.OpenSQL(t, "sqlite:"+newer)
	gatewaytest.Execute(t, db, "INSERT INTO schema_migrations (version, applied_at) VALUES (9000, 1)")
	_ = db.Close()
	broken := slices.Clone(sound)
	for i := len(broken) / 2; i < len(broken)/2+4096*4; i++ {
		broken[i] = 0xff
	}
	withLog := write("in-use.db", sound)
	write("in-use.db-wal", []byte("changes"))
	fresh := []string{"DATABASE_URL=sqlite:" + filepath.Join(dir, "fresh", "gateway.db")}
	postgres := []string{"DATABASE_URL=postgres://u:secret@127.0.0.1:1/d"}
	refused := func(settings []string, want string, args ...string) {
		t.Helper()
		code, out, faults := gatewaytest.TryCommand(t, settings, "", args...)
		if code != 1 || out != "" || !strings.Contains(faults, want) || strings.Contains(faults, "secret") {
			t.Errorf("%q: %d %s%s", args, code, out, faults)
		}
	}
	refused(settings, "the file exists already; a backup replaces no file", "backup", file)
	refused(settings, "--replace replaces it", "restore", file)
	refused(settings, "has the database open; stop it first", "restore", file, "--replace")
	refused(fresh, "of a later release: its last migration is 9000", "restore", newer)
	refused(fresh, "not a sound SQLite database", "restore", write("broken.db", broken))
	refused(fresh, "not a sound SQLite database", "restore", write("text.db", []byte(strings.Repeat("no database ", 999))))
	refused(fresh, "not a database of the gateway", "restore", write("empty.db", nil))
	refused(fresh, "this is a database in use, not a backup", "restore", withLog)
	refused(fresh, "no such file", "restore", filepath.Join(dir, "missing.db"))
	refused(fresh, "file does not exist", "backup", filepath.Join(dir, "nothing.db"))
	refused(postgres, "for PostgreSQL use pg_dump", "backup", filepath.Join(dir, "pg.db"))
	refused(postgres, "for PostgreSQL use pg_restore", "restore", file)
	if _, err := os.Stat(filepath.Join(dir, "fresh", "gateway.db")); err == nil {
		t.Error("a refused restore left a database")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.partial")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	c.check(t, p) // the gateway that had the database open
}

func TestRestoreReplacesADatabaseAndTheNextStartMigratesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := []string{"DATABASE_URL=sqlite:" + filepath.Join(dir, "gateway.db")}
	p := gatewaytest.Start(t, keeping(settings)...)
	c := populate(t, p)
	file := filepath.Join(dir, "backup.db")
	gatewaytest.Command(t, settings, "backup", file)
	// A release that lacks the last migrations, which only add tables of their own, indexes and columns.
	old := gatewaytest.OpenSQL(t, "sqlite:"+file)
	gatewaytest.Execute(t, old, "DROP TABLE call_contents")
	gatewaytest.Execute(t, old, "DROP INDEX api_keys_created")
	gatewaytest.Execute(t, old, "DROP INDEX users_created")
	gatewaytest.Execute(t, old, "ALTER TABLE kept_responses DROP COLUMN team_id")
	gatewaytest.Execute(t, old, "ALTER TABLE identities DROP COLUMN email")
	for _, table := range []string{"api_keys", "users", "teams"} {
		gatewaytest.Execute(t, old, "DROP TRIGGER "+table+"_reserve_changed")
		gatewaytest.Execute(t, old, "ALTER TABLE "+table+" DROP COLUMN budget_reserve")
	}
	gatewaytest.Execute(t, old, "DELETE FROM schema_migrations WHERE version BETWEEN 19 AND 24")
	_ = old.Close()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	db := gatewaytest.OpenDatabase(t, settings)
	gatewaytest.Execute(t, db, "DELETE FROM api_keys")
	_ = db.Close()
	out := gatewaytest.Command(t, settings, "restore", file, "--replace", "--json")
	if !strings.Contains(out, `"missing":6`) {
		t.Errorf("%s", out)
	}
	if about, err := os.Stat(filepath.Join(dir, "gateway.db")); err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("the database: %v, %v", about, err)
	}
	c.check(t, gatewaytest.Start(t, keeping(settings)...))
}
