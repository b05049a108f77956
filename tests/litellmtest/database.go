// Package litellmtest makes databases as a LiteLLM proxy keeps them, at several of its
// versions, with a company in them, and a configuration of such a proxy.
//
// The tables have the names, columns and types of LiteLLM's public schema
// (litellm/proxy/schema.prisma); foreign keys and most indexes are left out.
package litellmtest

import (
	"context"
	"embed"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"modelgateway/tests/servertest"
)

//go:embed schema
var schema embed.FS

//go:embed config.yaml
var config string

// Config is a LiteLLM's config.yaml: forty deployments at nine providers, and settings of
// every kind, also those of which a takeover can make nothing.
func Config() string { return config }

// Versions of LiteLLM, oldest first: a month, or the newest.
func Versions() []string { return []string{"2025-03", "2026-02", "newest"} }

// Database is a LiteLLM's database on the test's PostgreSQL.
type Database struct {
	Address string // postgres://…
	Version string
	pool    *pgxpool.Pool
	columns map[string][]string // of each table
}

// Create makes the tables of a version in an empty database that ends with the test.
func Create(t testing.TB, version string) *Database {
	t.Helper()
	last := slices.Index(Versions(), version)
	if last < 0 {
		t.Fatalf("LiteLLM %q: want one of %v", version, Versions())
	}
	d := &Database{Address: servertest.Postgres(t), Version: version, columns: map[string][]string{}}
	pool, err := pgxpool.New(t.Context(), d.Address+"&pool_max_conns=4")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d.pool = pool
	for _, v := range Versions()[:last+1] {
		d.Exec(t, statements(t, v))
	}
	rows, err := pool.Query(t.Context(), `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	var table, column string
	_, err = pgx.ForEachRow(rows, []any{&table, &column}, func() error {
		d.columns[table] = append(d.columns[table], column)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func statements(t testing.TB, version string) string {
	t.Helper()
	text, err := schema.ReadFile("schema/" + version + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Exec runs a statement with $1, $2, … for its arguments. Without arguments there may be several statements.
func (d *Database) Exec(t testing.TB, statement string, arguments ...any) {
	t.Helper()
	if _, err := d.pool.Exec(context.WithoutCancel(t.Context()), statement, arguments...); err != nil {
		t.Fatalf("%.60s: %v", statement, err)
	}
}

// Has reports whether this version has a table.
func (d *Database) Has(table string) bool { return d.columns["LiteLLM_"+table] != nil }

// row is a row of a table by the names of its columns. Rows that are inserted together have the same.
type row map[string]any

// insert adds rows to a table, without the columns that this version does not have, and
// nothing where it does not have the table.
func (d *Database) insert(t testing.TB, table string, rows ...row) {
	t.Helper()
	if !d.Has(table) || len(rows) == 0 {
		return
	}
	var names []string
	for name := range rows[0] {
		if slices.Contains(d.columns["LiteLLM_"+table], name) {
			names = append(names, name)
		} else if d.Version == "newest" {
			t.Fatalf("LiteLLM_%s has no column %s", table, name)
		}
	}
	source := pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		var values []any
		for _, name := range names {
			values = append(values, rows[i][name])
		}
		return values, nil
	})
	if _, err := d.pool.CopyFrom(t.Context(), pgx.Identifier{"LiteLLM_" + table}, names, source); err != nil {
		t.Fatalf("LiteLLM_%s: %v", table, err)
	}
}
