package models_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/models"
	"modelgateway/tests/servertest"
)

// eachDatabase runs a test on an empty SQLite file and on an empty PostgreSQL
// database.
func eachDatabase(t *testing.T, test func(t *testing.T, address string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "sub", "gateway.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, servertest.Postgres(t)) })
}

func open(t *testing.T, address string) *models.Store {
	t.Helper()
	store, err := models.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func migrated(t *testing.T, address string) *models.Store {
	t.Helper()
	store := open(t, address)
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

func user(id string) *models.User {
	return &models.User{ID: id, Email: id + "@x.com", Name: "n", PasswordHash: "h", CreatedAt: 5, Generation: 1}
}

func key(id, userID string, at int64) *models.Key {
	return &models.Key{ID: id, UserID: userID, Name: "n", Hash: "hash-" + id, Prefix: "mgw_abcd", CreatedAt: at}
}

// rawDB is a connection to the database beside the store.
func rawDB(t *testing.T, address string) *sql.DB {
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

// createUsers adds users, each with two keys: the user ada has ada1 and ada2.
func createUsers(t *testing.T, store *models.Store, ids ...string) {
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

// number is the one number that a query returns.
func number(t *testing.T, db *sql.DB, query string) (n int64) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func expect(t *testing.T, db *sql.DB, wants map[string]int64) {
	t.Helper()
	for query, want := range wants {
		if got := number(t, db, query); got != want {
			t.Errorf("%s = %d, want %d", query, got, want)
		}
	}
}

// stored is a user's key that is not revoked, with all of its columns.
func stored(t testing.TB, store *models.Store, userID, id string) (models.Key, error) {
	t.Helper()
	keys, err := store.AllKeys(t.Context(), models.KeyFilter{UserID: userID}, models.Page{Limit: 100})
	for _, k := range keys {
		if k.ID == id {
			return k.Key, err
		}
	}
	return models.Key{}, err
}
