package models_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"modelgateway/models"
)

func TestReplicasMigrateAnEmptyDatabaseAtTheSameTime(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		const replicas = 5
		var all sync.WaitGroup
		failures := make(chan error, replicas)
		for range replicas {
			store := open(t, address)
			all.Go(func() { failures <- store.Migrate(t.Context()) })
		}
		all.Wait()
		close(failures)
		for err := range failures {
			if err != nil {
				t.Error(err)
			}
		}
		store := migrated(t, address) // migrating again changes nothing
		if err := store.Probe(t.Context()); err != nil {
			t.Error(err)
		}
		if err := store.CreateUser(t.Context(), user("u")); err != nil {
			t.Error(err)
		}
	})
}

func TestReplicasMigrateTheFirstReleaseAtTheSameTime(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		driver, source := "pgx", address
		if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
			driver, source = "sqlite", path
			open(t, address) // creates the folder
		}
		db, err := sql.Open(driver, source)
		if err != nil {
			t.Fatal(err)
		}
		// The first release had this table and no record of versions.
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE probes (id INTEGER PRIMARY KEY, at INTEGER NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		_ = db.Close()
		var all sync.WaitGroup
		for range 5 {
			store := open(t, address)
			all.Go(func() {
				if err := store.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if err := migrated(t, address).CreateUser(t.Context(), user("u")); err != nil {
			t.Error(err)
		}
	})
}

func TestProbeFailsUntilTheSchemaIsMigrated(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := open(t, address)
		if err := store.Probe(t.Context()); err == nil {
			t.Error("the probe succeeds without a schema")
		}
	})
}

func TestReplicasMigrateASchemaWithoutRevisionsAtTheSameTime(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		open(t, address) // creates the folder
		db := rawDB(t, address)
		execute(t, db, "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL)")
		for _, file := range []string{"0001_probes.sql", "0002_accounts.sql"} {
			text, err := os.ReadFile("migrations/" + file)
			if err != nil {
				t.Fatal(err)
			}
			execute(t, db, string(text))
		}
		execute(t, db, "INSERT INTO schema_migrations VALUES (1, 1), (2, 1)")
		former := open(t, address) // a replica that has not been replaced yet
		createFormerUsers(t, db, "ada", "bob")
		var all sync.WaitGroup
		for range 5 {
			store := open(t, address)
			all.Go(func() {
				if err := store.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		store := migrated(t, address)
		before := revision(t, store)
		if _, err := former.RevokeKey(t.Context(), "ada", "ada1", 5); err != nil || revision(t, store) <= before {
			t.Errorf("a revocation by the former release is not counted: %v", err)
		}
		createFormerUsers(t, db, "cyd")
		for _, id := range []string{"bob", "cyd"} {
			keys, err := store.AllKeys(t.Context(), models.KeyFilter{UserID: id}, models.Page{Limit: 100})
			if err != nil || len(keys) != 2 || keys[0].Limits != (models.Limits{}) || keys[1].Limits != (models.Limits{}) {
				t.Errorf("%+v, %v", keys, err)
			}
		}
		versions, files := 0, 0
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM schema_migrations").Scan(&versions); err != nil {
			t.Fatal(err)
		}
		names, err := os.ReadDir("migrations")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.HasSuffix(name.Name(), ".sqlite.sql") { // there is one for PostgreSQL too
				files++
			}
		}
		if versions != files {
			t.Errorf("%d versions of %d", versions, files)
		}
	})
}

// createFormerUsers is createUsers of a former release: its statements do not name
// the columns that were added since.
func createFormerUsers(t *testing.T, db *sql.DB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		execute(t, db, "INSERT INTO users (id, email, name, password_hash, created_at, disabled_at) VALUES ('"+
			id+"', '"+id+"@x.com', 'n', 'h', 5, 0)")
		for _, n := range []string{"1", "2"} {
			execute(t, db, "INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at, last_used_at, revoked_at) VALUES ('"+
				id+n+"', '"+id+"', 'n', 'hash-"+id+n+"', 'mgw_abcd', 1, 0, 0)")
		}
	}
}

// writeFormerCall is write of a former release, which does not know the columns that
// were added since.
func writeFormerCall(t *testing.T, db *sql.DB, c models.Call) {
	t.Helper()
	execute(t, db, fmt.Sprintf("INSERT INTO calls (id, request_id, user_id, key_id, model, served, provider, stream, attempts, status, outcome, "+
		"error_code, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, estimated, priced, cost, began_at, "+
		"first_token_us, duration_us, overhead_us) VALUES ('%s', '%s', '%s', '%s', 'asked', 'served', 'openai', true, 1, 200, 'ok', '', "+
		"11, 0, 0, 25, 0, false, true, %d, %d, 8, 9, 10)", c.ID, c.RequestID, c.UserID, c.KeyID, c.Cost, c.BeganAt))
	execute(t, db, fmt.Sprintf("INSERT INTO spend (account, day, cost) VALUES ('%s', '%s', %d)",
		models.KeyAccount(c.KeyID), noon.Format("2006-01-02"), c.Cost))
	execute(t, db, fmt.Sprintf("INSERT INTO usage_days VALUES ('%s', '%s', '%s', 'served', 'openai', 1, 0, 0, 0, 11, 0, 0, 25, 0, %d)",
		noon.Format("2006-01-02"), c.UserID, c.KeyID, c.Cost))
}

// migratedByFormerRelease has the schema of the last release that compared only the
// highest number of a migration with the files.
func migratedByFormerRelease(t *testing.T, address string) *sql.DB {
	t.Helper()
	open(t, address) // creates the folder
	db, suffix := rawDB(t, address), "postgres"
	if strings.HasPrefix(address, "sqlite:") {
		suffix = "sqlite"
	}
	execute(t, db, "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL)")
	for i, file := range []string{
		"0001_probes.sql", "0002_accounts.sql", "0003_revisions." + suffix + ".sql",
		"0004_spend.sql", "0005_rules." + suffix + ".sql", "0006_moved.sql",
	} {
		text, err := os.ReadFile("migrations/" + file)
		if err != nil {
			t.Fatal(err)
		}
		execute(t, db, string(text))
		execute(t, db, fmt.Sprintf("INSERT INTO schema_migrations VALUES (%d, 77)", i+1))
	}
	return db
}

func TestADatabaseOfTheFormerReleaseIsMigratedWithoutLosingAnything(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		db := migratedByFormerRelease(t, address)
		createFormerUsers(t, db, "ada")
		writeFormerCall(t, db, call("a", "ada1", noon))
		var all sync.WaitGroup
		for range 5 {
			store := open(t, address)
			all.Go(func() {
				if err := store.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		store := migrated(t, address)
		expect(t, db, map[string]int64{
			"SELECT count(*) FROM schema_migrations WHERE version <= 6 AND applied_at = 77": 6,
			"SELECT count(*) FROM schema_migrations WHERE version <= 6":                     6,
			"SELECT count(*) FROM calls":                                                    1,
		})
		if keys, err := store.AllKeys(t.Context(), models.KeyFilter{UserID: "ada"}, models.Page{Limit: 100}); err != nil || len(keys) != 2 {
			t.Errorf("%+v, %v", keys, err)
		}
		if u, err := store.User(t.Context(), "ada"); err != nil || u.Generation != 1 || u.VerifiedAt != 0 || u.AdminAt != 0 {
			t.Errorf("%+v, %v", u, err)
		}
		write(t, store, call("b", "ada1", noon))
		expect(t, db, map[string]int64{
			"SELECT cost FROM spend WHERE account = 'key:ada1'": 140,
			"SELECT cost FROM spend WHERE account = 'user:ada'": 140,
		})
	})
}

func TestAMigrationWithALowerNumberThanTheLastIsApplied(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		files := fstest.MapFS{
			"migrations/0001_first.sql":        {Data: []byte("CREATE TABLE first (n BIGINT)")},
			"migrations/0003_third.sql":        {Data: []byte("CREATE TABLE third (n BIGINT); INSERT INTO third VALUES (3)")},
			"migrations/0004_own.sqlite.sql":   {Data: []byte("CREATE TABLE of_sqlite (n BIGINT)")},
			"migrations/0004_own.postgres.sql": {Data: []byte("CREATE TABLE of_postgres (n BIGINT)")},
		}
		migrate := func() {
			t.Helper()
			if err := open(t, address).MigrateFrom(t.Context(), files); err != nil {
				t.Fatal(err)
			}
		}
		migrate()
		files["migrations/0002_late.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE late (n BIGINT); INSERT INTO late VALUES (2)")}
		for range 2 { // the second time changes nothing
			migrate()
		}
		own := "of_postgres"
		if strings.HasPrefix(address, "sqlite:") {
			own = "of_sqlite"
		}
		expect(t, rawDB(t, address), map[string]int64{
			"SELECT n FROM late":                         2,
			"SELECT n FROM third":                        3,
			"SELECT count(*) FROM " + own:                0,
			"SELECT count(*) FROM schema_migrations":     4,
			"SELECT sum(version) FROM schema_migrations": 10,
		})
	})
}

func TestAMigrationThatFailsLeavesTheSchemaAsItWas(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		files := fstest.MapFS{
			"migrations/0001_first.sql":  {Data: []byte("CREATE TABLE first (n BIGINT)")},
			"migrations/0002_second.sql": {Data: []byte("CREATE TABLE second (n BIGINT)")},
			"migrations/0003_wrong.sql":  {Data: []byte("CREATE TABLE third (n BIGINT); INSERT INTO nowhere VALUES (3)")},
		}
		store := open(t, address)
		if err := store.MigrateFrom(t.Context(), files); err == nil || !strings.Contains(err.Error(), "0003_wrong.sql") {
			t.Errorf("the error does not name the file: %v", err)
		}
		if err := store.Probe(t.Context()); err == nil {
			t.Error("the probe succeeds without a schema")
		}
		files["migrations/0003_wrong.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE third (n BIGINT)")}
		if err := store.MigrateFrom(t.Context(), files); err != nil { // the tables of the first try do not exist
			t.Error(err)
		}
	})
}

func TestMigrationsOfALaterReleaseAreLeftAlone(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		migrated(t, address)
		db := rawDB(t, address)
		execute(t, db, "INSERT INTO schema_migrations VALUES (9000, 77)")
		store := migrated(t, address)
		if err := store.Probe(t.Context()); err != nil {
			t.Error(err)
		}
		expect(t, db, map[string]int64{"SELECT count(*) FROM schema_migrations WHERE version = 9000 AND applied_at = 77": 1})
	})
}

func TestMigrationsWithAmbiguousNumbersAreRefused(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"the same number twice":                     {"migrations/0001_a.sql": {}, "migrations/0001_b.sql": {}},
		"the same number in a file of one database": {"migrations/0001_a.sql": {}, "migrations/0001_b.sqlite.sql": {}},
		"no number":       {"migrations/first.sql": {}},
		"too few digits":  {"migrations/001_first.sql": {}},
		"too many digits": {"migrations/00010_first.sql": {}},
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t, "sqlite:"+t.TempDir()+"/gateway.db")
			if err := store.MigrateFrom(t.Context(), files); err == nil {
				t.Error("accepted")
			}
		})
	}
}
