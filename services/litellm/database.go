// Package litellm reads a LiteLLM proxy: its database and its configuration. It never
// writes to the database.
//
// Tables and columns are those of litellm/proxy/schema.prisma in the repository BerriAI/litellm.
// Databases of former versions lack some of them: a table that is missing has no rows, and a
// column that is missing is zero.
package litellm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// Database is the database of a LiteLLM. One goroutine at a time may use it.
type Database struct{ conn *pgx.Conn }

// Open connects to a database by the address that LiteLLM itself has in DATABASE_URL. PostgreSQL would refuse what only
// LiteLLM's own driver, Prisma, knows of it.
func Open(ctx context.Context, address string) (*Database, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil || !strings.HasPrefix(address, "postgres") {
		return nil, errors.New("the address of LiteLLM's database must be postgres://…, as in its DATABASE_URL, with files that exist")
	}
	if schema := config.RuntimeParams["schema"]; schema != "" {
		config.RuntimeParams["search_path"] = schema
	}
	for _, name := range []string{
		"schema", "connection_limit", "pool_timeout", "pgbouncer", "socket_timeout", "statement_cache_size", "sslaccept", "sslidentity",
	} {
		delete(config.RuntimeParams, name)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database of LiteLLM: %w", err)
	}
	return &Database{conn}, nil
}

// Close ends the connection.
func (d *Database) Close(ctx context.Context) { _ = d.conn.Close(ctx) }

// Snapshot is what a LiteLLM knew at one moment, but for its calls.
type Snapshot struct {
	Keys          []Key
	Deprecated    []Deprecated
	Users         []User
	Teams         []Team
	Organizations []Organization
	Members       []Membership
	Budgets       map[string]Budget // by id
	AccessGroups  []AccessGroup
	Models        []ProxyModel
	Credentials   []Credential
	Config        []Setting
	Daily         []Daily
	TeamDaily     []Daily
	Losses        []Loss // what the tables have that this gateway cannot take
}

// Read reads all of it, in one transaction that sees one moment and changes nothing; of the daily
// sums those since a day.
func (d *Database) Read(ctx context.Context, since time.Time) (*Snapshot, error) {
	tx, err := d.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("read the database of LiteLLM: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	day := since.UTC().Format(time.DateOnly)
	s := &Snapshot{Budgets: map[string]Budget{}}
	var budgets []Budget
	r := &reading{tx: tx}
	read(ctx, r, "VerificationToken", &s.Keys, "")
	read(ctx, r, "DeprecatedVerificationToken", &s.Deprecated, "")
	read(ctx, r, "UserTable", &s.Users, "")
	read(ctx, r, "TeamTable", &s.Teams, "")
	read(ctx, r, "OrganizationTable", &s.Organizations, "")
	read(ctx, r, "TeamMembership", &s.Members, "")
	read(ctx, r, "BudgetTable", &budgets, "")
	read(ctx, r, "AccessGroupTable", &s.AccessGroups, "")
	read(ctx, r, "ProxyModelTable", &s.Models, "")
	read(ctx, r, "CredentialsTable", &s.Credentials, "")
	read(ctx, r, "Config", &s.Config, "")
	read(ctx, r, "DailyUserSpend", &s.Daily, "date >= $1", day)
	read(ctx, r, "DailyTeamSpend", &s.TeamDaily, "date >= $1", day)
	for i := range budgets {
		s.Budgets[budgets[i].ID] = budgets[i]
	}
	s.Losses = losses(ctx, r)
	if !r.has(ctx, "VerificationToken") && r.err == nil {
		r.err = errors.New("the database has no table LiteLLM_VerificationToken: is it that of a LiteLLM?")
	}
	return s, r.err
}

// reading is a transaction that reads. After its first error it reads nothing.
type reading struct {
	tx  pgx.Tx
	err error
}

// read reads the rows of a table, as the JSON that PostgreSQL makes of them: it has the columns that
// there are.
func read[T any](ctx context.Context, r *reading, table string, into *[]T, where string, values ...any) {
	if !r.has(ctx, table) {
		return
	}
	// An error of Query is one of rows as well.
	rows, _ := r.tx.Query(ctx, `SELECT to_jsonb(t) FROM "LiteLLM_`+table+`" t WHERE `+cmp.Or(where, "true"), values...)
	var err error
	*into, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (one T, err error) {
		var text []byte
		if err = row.Scan(&text); err == nil {
			err = json.Unmarshal(text, &one)
		}
		return one, err
	})
	if err != nil {
		r.err = fmt.Errorf("read LiteLLM_%s: %w", table, err)
	}
}

// has says whether there is a table, also one that must not be read: then reading it fails, while without
// its rows limits would seem to be gone.
func (r *reading) has(ctx context.Context, table string) (there bool) {
	if r.err == nil {
		r.err = r.tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", `"LiteLLM_`+table+`"`).Scan(&there)
	}
	return there
}
