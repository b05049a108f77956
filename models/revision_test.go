package models_test

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/models"
)

// behind is a connection to the database past the store.
func behind(t *testing.T, address string) *sql.DB {
	t.Helper()
	driver, source := "pgx", address
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		driver, source = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statements string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func revision(t *testing.T, store *models.Store) int64 {
	t.Helper()
	n, err := store.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// people adds users, each with keys named after them.
func people(t *testing.T, store *models.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := store.CreateUser(t.Context(), user(id)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"1", "2"} {
			if err := store.CreateKey(t.Context(), key(id+name, id, 1), 9); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTheRevisionGrowsWithWhatEndsAKeyOrAUser(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		people(t, store, "ada", "bob", "cyd", "dan")
		db := behind(t, address)
		changes := []string{
			"UPDATE api_keys SET revoked_at = 5 WHERE id = 'ada1'",
			"UPDATE api_keys SET revoked_at = 0 WHERE id = 'ada1'",
			"UPDATE api_keys SET last_used_at = 5, revoked_at = 6 WHERE id = 'ada1'",
			"UPDATE api_keys SET user_id = 'bob' WHERE id = 'ada2'",
			"UPDATE api_keys SET hash = 'another' WHERE id = 'ada2'",
			"UPDATE api_keys SET expires_at = 5 WHERE id = 'ada2'",
			"UPDATE api_keys SET models = 'gpt-4' WHERE id = 'ada2'",
			"UPDATE api_keys SET rpm_limit = 5 WHERE id = 'ada2'",
			"UPDATE api_keys SET tpm_limit = 5 WHERE id = 'ada2'",
			"UPDATE api_keys SET max_parallel = 5 WHERE id = 'ada2'",
			"UPDATE api_keys SET budget = 5 WHERE id = 'ada2'",
			"UPDATE api_keys SET budget_window = 'day' WHERE id = 'ada2'",
			"UPDATE api_keys SET limited_by = 'admin', rpm_limit = 6 WHERE id = 'ada2'",
			"DELETE FROM api_keys WHERE id = 'ada2'",
			"UPDATE users SET disabled_at = 5 WHERE id = 'bob'",
			"UPDATE users SET disabled_at = 0",
			"UPDATE users SET password_hash = 'another' WHERE id = 'bob'",
			"UPDATE users SET name = 'b', disabled_at = 7, email = 'b@x.com' WHERE id = 'bob'",
			"DELETE FROM users WHERE id = 'bob'", // and two keys
			"DELETE FROM identities; DELETE FROM users WHERE id = 'cyd'",
			"INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at) VALUES ('dan1', 'dan', 'n', 'h', 'p', 1) ON CONFLICT (id) DO UPDATE SET revoked_at = 9",
			"DELETE FROM api_keys",
		}
		if !strings.HasPrefix(address, "sqlite:") {
			changes = append(changes, "TRUNCATE api_keys", "TRUNCATE users CASCADE",
				"SET search_path TO pg_catalog; UPDATE public.users SET disabled_at = 1; RESET search_path")
		}
		for _, change := range changes {
			before := revision(t, store)
			execute(t, db, change)
			if revision(t, store) <= before {
				t.Errorf("not counted: %s", change)
			}
		}
		people(t, store, "eve")
		before := revision(t, store)
		if _, err := store.RevokeKey(t.Context(), "eve", "eve1", 5); err != nil || revision(t, store) <= before {
			t.Errorf("a revocation of ours is not counted: %v", err)
		}
	})
}

func TestTheRevisionIsTheSameWhateverEndsNothing(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		before := revision(t, store)
		people(t, store, "ada", "bob")
		if err := store.CreateUserWithIdentity(t.Context(), user("cyd"), &models.Identity{Issuer: "i", Subject: "s", UserID: "cyd"}); err != nil {
			t.Fatal(err)
		}
		if err := store.TouchKeys(t.Context(), map[string]int64{"ada1": 50, "bob1": 60}); err != nil {
			t.Fatal(err)
		}
		db := behind(t, address)
		for _, statement := range []string{
			"UPDATE api_keys SET last_used_at = 70",
			"UPDATE api_keys SET name = 'another'",
			"UPDATE api_keys SET limited_by = 'admin'",
			"UPDATE users SET name = 'another'",
			"DELETE FROM identities",
			"INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at, revoked_at) VALUES ('k', 'ada', 'n', 'h', 'p', 1, 2)",
			"BEGIN; UPDATE users SET disabled_at = 5; DELETE FROM api_keys; ROLLBACK",
			"SELECT * FROM users",
		} {
			execute(t, db, statement)
			if n := revision(t, store); n != before {
				t.Errorf("counted %d times: %s", n-before, statement)
				before = n
			}
		}
		if h, err := store.KeyByHash(t.Context(), "hash-ada1"); err != nil || h.LastUsedAt != 70 || h.RevokedAt != 0 {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

func TestTheRevisionGrowsInTheTransactionOfTheChange(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		people(t, store, "ada")
		before := revision(t, store)
		tx, err := behind(t, address).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(t.Context(), "UPDATE api_keys SET revoked_at = 5"); err != nil {
			t.Fatal(err)
		}
		if n := revision(t, store); n != before {
			t.Error("seen before the change can be")
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := revision(t, store); n <= before {
			t.Error("the change is there, and not counted")
		}
	})
}

func TestThereIsNoRevisionWhereNothingCounts(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		if n, err := open(t, address).Revision(t.Context()); err == nil {
			t.Errorf("%d without its table", n)
		}
		store := migrated(t, address)
		execute(t, behind(t, address), "DELETE FROM revisions")
		if n, err := store.Revision(t.Context()); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("%d, %v without its row", n, err)
		}
	})
}

// Who revokes two keys holds the first while they wait for the second.
func TestChangesOfSeveralRowsAndRevocationsDoNotLockEachOtherOut(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		if strings.HasPrefix(address, "sqlite:") {
			t.Skip("SQLite has one lock")
		}
		store := migrated(t, address)
		people(t, store, "ada")
		db := behind(t, address)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		revoke := func(id string) {
			if _, err := tx.ExecContext(t.Context(), "UPDATE api_keys SET revoked_at = 5 WHERE id = $1", id); err != nil {
				t.Fatal(err)
			}
		}
		revoke("ada1")
		var other sync.WaitGroup
		other.Go(func() {
			if _, err := store.RevokeKey(t.Context(), "ada", "ada2", 6); !errors.Is(err, models.ErrNotFound) {
				t.Errorf("the other was first, and: %v", err)
			}
		})
		defer other.Wait()
		for end, waiting := time.Now().Add(time.Second), 0; waiting == 0; time.Sleep(5 * time.Millisecond) {
			const query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
			if err := db.QueryRowContext(t.Context(), query).Scan(&waiting); err != nil || time.Now().After(end) {
				t.Fatalf("nobody waits: %v", err)
			}
		}
		revoke("ada2")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	})
}
