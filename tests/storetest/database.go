// Package storetest gives tests a migrated database of either kind.
package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"modelgateway/models"
	"modelgateway/tests/servertest"
)

// Database is a migrated database with two users, ada and bob.
type Database struct {
	Store   *models.Store
	Address string // for models.Open
	Driver  string // of package sql
	DSN     string
}

// Each runs a test on both kinds of storage.
func Each(t *testing.T, test func(t *testing.T, d *Database)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, Postgres(t, servertest.Postgres(t))) })
}

// SQLite is a database in a file that ends with the test.
func SQLite(t testing.TB) *Database {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gateway.db")
	d := &Database{Address: "sqlite:" + path, Driver: "sqlite", DSN: "file:" + path + "?_pragma=busy_timeout(5000)"}
	content, err := migrated()
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Store = d.Open(t)
	return d
}

// migrated is the file of a migrated database with the users. Each test gets a
// copy, which takes less than the migrations.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "migrated-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "gateway.db")
	store, err := models.Open("sqlite:" + path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(fill(context.Background(), store), store.Close()); err != nil { // the close ends the write-ahead log
		return nil, err
	}
	return os.ReadFile(path)
})

// Postgres migrates the database at an address of servertest.
func Postgres(t testing.TB, address string) *Database {
	t.Helper()
	d := &Database{Address: address, Driver: "pgx", DSN: address}
	d.migrate(t)
	return d
}

func (d *Database) migrate(t testing.TB) {
	t.Helper()
	d.Store = d.Open(t)
	if err := fill(t.Context(), d.Store); err != nil {
		t.Fatal(err)
	}
}

// fill migrates an empty database and creates the users.
func fill(ctx context.Context, store *models.Store) error {
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	for _, name := range []string{"ada", "bob"} {
		u := &models.User{ID: name, Email: name + "@example.com", Name: name, PasswordHash: "x", CreatedAt: 1, VerifiedAt: 1}
		if err := store.CreateUser(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// Open opens another store on the database, as a replica does.
func (d *Database) Open(t testing.TB) *models.Store {
	t.Helper()
	store, err := models.Open(d.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

// Query runs a statement past the store and returns every value of every row,
// as text.
func (d *Database) Query(t testing.TB, statement string) []string {
	t.Helper()
	db, err := sql.Open(d.Driver, d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			all = append(all, v.String)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// patience is how long a test waits for what must come, on a machine however slow.
const patience = time.Minute

// Until waits for a condition and fails the test when it never becomes true.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

var callIDs struct {
	sync.Mutex
	numbers map[string]int64
}

// CallID is the id of a call that begins at a time. Calls with the same suffix have the same at that time.
func CallID(at time.Time, suffix string) string {
	callIDs.Lock()
	defer callIDs.Unlock()
	if callIDs.numbers == nil {
		callIDs.numbers = map[string]int64{}
	}
	n, known := callIDs.numbers[suffix]
	if !known {
		n = int64(len(callIDs.numbers))
		callIDs.numbers[suffix] = n
	}
	const epoch, bits = 1_704_067_200_000, 22
	return fmt.Sprintf("call_%019d", (at.UnixMilli()-epoch)<<bits|n)
}

// Usage is what all calls come to in the sums of a database.
func Usage(t testing.TB, db *sql.DB) models.Sum {
	t.Helper()
	var dialector gorm.Dialector = sqlite.Dialector{Conn: db}
	if fmt.Sprintf("%T", db.Driver()) == "*stdlib.Driver" {
		dialector = postgres.New(postgres.Config{Conn: db})
	}
	store, err := models.NewStore(dialector, false)
	if err != nil {
		t.Fatal(err)
	}
	return Total(t, store)
}

// Total is what all calls come to in the sums of a store.
func Total(t testing.TB, store *models.Store) (total models.Sum) {
	t.Helper()
	_, err := store.UsageTimes(t.Context(), &models.UsageQuery{}, models.UsageRange{
		From: time.Now().AddDate(-2, 0, 0).Unix(), To: time.Now().AddDate(0, 0, 1).Unix(),
		Whole: func(int64, int64) bool { return true },
		Add: func(of models.UsageTime) error {
			total.Add(&of.Tally.Sum)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}
