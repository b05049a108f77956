package models_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/models"
)

func revision(t *testing.T, store *models.Store) int64 {
	t.Helper()
	n, err := store.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheRevisionGrowsWithChangesOfKeysAndUsers(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada", "bob", "cyd", "dan")
		db := rawDB(t, address)
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
			"UPDATE api_keys SET budget_extra = 5 WHERE id = 'ada2'",
			"UPDATE users SET budget_extra_until = 5 WHERE id = 'bob'",
			"INSERT INTO teams (id, name, created_at) VALUES ('red', 'red', 1); UPDATE teams SET session_budget = 5",
			"UPDATE api_keys SET limited_by = 'admin', rpm_limit = 6 WHERE id = 'ada2'",
			"DELETE FROM api_keys WHERE id = 'ada2'",
			"UPDATE users SET disabled_at = 5 WHERE id = 'bob'",
			"UPDATE users SET disabled_at = 0",
			"UPDATE users SET password_hash = 'another' WHERE id = 'bob'",
			"UPDATE users SET name = 'b', disabled_at = 7, email = 'b@x.com' WHERE id = 'bob'",
			"DELETE FROM users WHERE id = 'bob'", // with two keys
			"DELETE FROM identities; DELETE FROM users WHERE id = 'cyd'",
			"INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at) VALUES ('dan1', 'dan', 'n', 'h', 'p', 1) " +
				"ON CONFLICT (id) DO UPDATE SET revoked_at = 9",
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
		createUsers(t, store, "eve")
		before := revision(t, store)
		if _, err := store.RevokeKey(t.Context(), "eve", "eve1", 5); err != nil || revision(t, store) <= before {
			t.Errorf("a revocation by the store is not counted: %v", err)
		}
	})
}

func TestTheRevisionIgnoresNamesAndTimesOfUse(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		before := revision(t, store)
		createUsers(t, store, "ada", "bob")
		if err := store.CreateUserWithIdentity(t.Context(), user("cyd"), &models.Identity{Issuer: "i", Subject: "s", UserID: "cyd"}); err != nil {
			t.Fatal(err)
		}
		if err := store.TouchKeys(t.Context(), map[string]int64{"ada1": 50, "bob1": 60}); err != nil {
			t.Fatal(err)
		}
		db := rawDB(t, address)
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
		if h, err := stored(t, store, "ada", "ada1"); err != nil || h.LastUsedAt != 70 || h.RevokedAt != 0 {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

func TestTheRevisionGrowsInTheTransactionOfTheChange(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada")
		before := revision(t, store)
		tx, err := rawDB(t, address).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(t.Context(), "UPDATE api_keys SET revoked_at = 5"); err != nil {
			t.Fatal(err)
		}
		if n := revision(t, store); n != before {
			t.Error("the revision is visible before its change")
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := revision(t, store); n <= before {
			t.Error("the change is committed and not counted")
		}
	})
}

func TestRevisionFailsWithoutItsTableOrRow(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		if n, err := open(t, address).Revision(t.Context()); err == nil {
			t.Errorf("%d without its table", n)
		}
		store := migrated(t, address)
		execute(t, rawDB(t, address), "DELETE FROM revisions")
		if n, err := store.Revision(t.Context()); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("%d, %v without its row", n, err)
		}
	})
}

// A transaction that revokes two keys has locked the first while it waits for the
// second.
func TestATransactionOfTwoRevocationsAndAnotherRevocationDoNotDeadlock(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		if strings.HasPrefix(address, "sqlite:") {
			t.Skip("SQLite has one lock")
		}
		store := migrated(t, address)
		createUsers(t, store, "ada")
		db := rawDB(t, address)
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
				t.Errorf("another transaction has revoked the key, and: %v", err)
			}
		})
		defer other.Wait()
		for end, waiting := time.Now().Add(time.Second), 0; waiting == 0; time.Sleep(5 * time.Millisecond) {
			const query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
			if err := db.QueryRowContext(t.Context(), query).Scan(&waiting); err != nil || time.Now().After(end) {
				t.Fatalf("no transaction waits for a lock: %v", err)
			}
		}
		revoke("ada2")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	})
}
