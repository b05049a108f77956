package gatewaytest

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"modelgateway/models"
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
	UpstreamID                                  string
}

// AwaitLedgerRow waits for the row of a request, and fails if there are two.
func AwaitLedgerRow(t *testing.T, file, requestID string) (r ledgerRow) {
	t.Helper()
	store, err := models.Open("sqlite:" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	var found *models.CallPage
	Until(t, "the row of "+requestID, func() bool {
		found, err = store.Calls(t.Context(), models.CallFilter{RequestID: requestID}, models.Page{Limit: 2})
		return err == nil && len(found.Rows) > 0 // a busy machine may take longer than a query may
	})
	if len(found.Rows) > 1 {
		t.Fatalf("%s: %d rows", requestID, len(found.Rows))
	}
	c := &found.Rows[0]
	return ledgerRow{
		Model: c.Model, Served: c.Served, provider: c.Provider, Outcome: c.Outcome, KeyID: c.KeyID,
		Stream: c.Stream, Estimated: c.Estimated, Priced: c.Priced, Attempts: c.Attempts, Status: c.Status,
		Prompt: c.InputTokens, Cached: c.CachedTokens, Written: c.CacheWriteTokens, Output: c.OutputTokens, Reasoning: c.ReasoningTokens,
		Cost: c.Cost, began: c.BeganAt, FirstToken: c.FirstTokenUS, Duration: c.DurationUS, Overhead: c.OverheadUS,
		UpstreamID: c.UpstreamRequestID,
	}
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
