package gatewaytest

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// OpenDatabase opens the database of settings that begin with DATABASE_URL.
func OpenDatabase(t *testing.T, settings []string) *sql.DB {
	t.Helper()
	address, _ := strings.CutPrefix(settings[0], "DATABASE_URL=")
	return OpenSQL(t, address)
}

// ledgerRow is a row of the ledger.
type ledgerRow struct {
	Model, Served, provider, Outcome, KeyID     string
	Stream, Estimated, Priced                   bool
	Attempts, Status                            int
	Prompt, Cached, Written, Output, Reasoning  int64
	Cost, began, FirstToken, Duration, Overhead int64
}

// AwaitLedgerRow waits for the row of a request, and fails if there are two.
func AwaitLedgerRow(t *testing.T, file, requestID string) (r ledgerRow) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM calls WHERE request_id = ?", requestID).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 1 {
			t.Fatalf("%s: %d rows", requestID, n)
		}
		if n == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: no row", requestID)
		}
	}
	err = db.QueryRow(`SELECT model, served, provider, outcome, key_id, stream, estimated, priced, attempts, status,
		input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost, began_at, first_token_us, duration_us, overhead_us
		FROM calls WHERE request_id = ?`, requestID).
		Scan(&r.Model, &r.Served, &r.provider, &r.Outcome, &r.KeyID, &r.Stream, &r.Estimated, &r.Priced, &r.Attempts, &r.Status,
			&r.Prompt, &r.Cached, &r.Written, &r.Output, &r.Reasoning, &r.Cost, &r.began, &r.FirstToken, &r.Duration, &r.Overhead)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// OpenSQL opens the database at this address.
func OpenSQL(t *testing.T, address string) *sql.DB {
	t.Helper()
	driver, source := "pgx", address
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		driver, source = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Execute runs a statement with ? for its arguments, on SQLite or PostgreSQL.
func Execute(t *testing.T, db *sql.DB, statement string, arguments ...any) {
	t.Helper()
	for i := 1; fmt.Sprintf("%T", db.Driver()) == "*stdlib.Driver" && strings.Contains(statement, "?"); i++ {
		statement = strings.Replace(statement, "?", "$"+strconv.Itoa(i), 1)
	}
	if _, err := db.ExecContext(t.Context(), statement, arguments...); err != nil {
		t.Fatalf("%.60s: %v", statement, err)
	}
}

// Sum returns the one number of a query, and 0 for NULL.
func Sum(t testing.TB, db *sql.DB, query string, arguments ...any) int64 {
	t.Helper()
	var n sql.NullInt64
	if fmt.Sprintf("%T", db.Driver()) != "*stdlib.Driver" {
		query = strings.ReplaceAll(query, "$1", "?")
	}
	if err := db.QueryRowContext(t.Context(), query, arguments...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n.Int64
}

// Provider is the name of the provider that answered.
func (r ledgerRow) Provider() string { return r.provider }
