package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgateway/models"
	"modelgateway/tests/servertest"
	"modelgateway/tools/rig"
)

// books is a ledger that is measured: a database and its store.
type books struct {
	options
	name  string // of the kind of database
	store *models.Store
	years *history
	pid   int // of PostgreSQL; 0: SQLite, which runs in this process
	file  string
	conn  *pgx.Conn // nil: SQLite
	close func()
}

// ledgers loads the ledger of both databases, and measures it.
func ledgers(ctx context.Context, s *system, to *rig.Section) error {
	s.stopReplicas()
	var columns [2][][2]string
	for i, open := range []func(context.Context, options) (*books, error){openSQLite, openPostgres} {
		b, err := open(ctx, s.options)
		if err != nil {
			return err
		}
		columns[i], err = b.measure(ctx)
		b.close()
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	t := to.Table("", "", "SQLite", "PostgreSQL")
	for i, row := range columns[0] {
		t.Row(row[0], row[1], columns[1][i][1])
	}
	return nil
}

func openSQLite(ctx context.Context, o options) (*books, error) {
	dir, err := os.MkdirTemp("", "scale-")
	if err != nil {
		return nil, err
	}
	b := &books{options: o, name: "SQLite", file: filepath.Join(dir, "gateway.db"), years: newHistory(o.rows)}
	b.close = func() {
		if b.store != nil {
			_ = b.store.Close()
		}
		_ = os.RemoveAll(dir)
	}
	if b.store, err = models.Open("sqlite:" + b.file); err == nil {
		err = b.store.Migrate(ctx)
	}
	return b, closeAfter(err, b)
}

func openPostgres(ctx context.Context, o options) (*books, error) {
	server, err := servertest.NewPostgres(postgresSettings()...)
	if err != nil {
		return nil, err
	}
	b := &books{options: o, name: "PostgreSQL", pid: server.PID(), years: newHistory(o.rows)}
	b.close = func() {
		if b.store != nil {
			_ = b.store.Close()
		}
		if b.conn != nil {
			_ = b.conn.Close(context.WithoutCancel(ctx))
		}
		if err := server.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if b.conn, err = pgx.Connect(ctx, server.URL); err == nil {
		// A page that takes longer than the gateway waits has to be measured as well.
		b.store, err = models.Open(server.URL + "&statement_timeout=60000")
	}
	if err == nil {
		err = b.store.Migrate(ctx)
	}
	return b, closeAfter(err, b)
}

func closeAfter(err error, b *books) error {
	if err != nil {
		b.close()
	}
	return err
}

// spent is the processor time that this process and PostgreSQL have used.
func (b *books) spent() (own, server time.Duration, err error) {
	own, err = rig.CPUTime(os.Getpid())
	if err == nil && b.pid != 0 {
		server, err = rig.TreeTime(b.pid)
	}
	return own, server, err
}

// size is what the rows of the ledger and their indexes take, or all of an SQLite file.
func (b *books) size(ctx context.Context) (bytes int64, err error) {
	if b.conn != nil {
		err = b.conn.QueryRow(ctx, "SELECT pg_total_relation_size('ledger')").Scan(&bytes)
		return bytes, err
	}
	var all error
	for _, file := range []string{b.file, b.file + "-wal"} {
		info, err := os.Stat(file)
		all = errors.Join(all, err)
		if err == nil {
			bytes += info.Size()
		}
	}
	return bytes, all
}

// measure loads the ledger and measures it: what is measured, and the figure.
func (b *books) measure(ctx context.Context) (rows [][2]string, err error) {
	fmt.Fprintf(os.Stderr, "loading the ledger of %s\n", b.name)
	add := func(what, format string, args ...any) {
		rows = append(rows, [2]string{what, fmt.Sprintf(format, args...)})
	}
	loaded, err := b.load(ctx)
	if err != nil {
		return nil, err
	}
	add("rows", "%s", rig.Thousands(int64(loaded.rows)))
	add("rows/s inserted, of the first tenth", "%s", rig.Thousands(int64(loaded.first)))
	add("rows/s inserted, of the last tenth", "%s", rig.Thousands(int64(loaded.last)))
	add("µs of a row: the gateway's side", "%.1f", loaded.own)
	add("µs of a row: PostgreSQL", "%.1f", loaded.server)
	size, err := b.size(ctx)
	if err != nil {
		return nil, err
	}
	add("GB of calls with indexes (SQLite: all)", "%.2f", float64(size)/1e9)
	add("bytes a row", "%.0f", float64(size)/float64(loaded.rows))
	if err := b.settle(ctx); err != nil {
		return nil, err
	}
	for _, queries := range []func(context.Context) ([][2]string, error){b.reports, b.pages, b.retention} {
		more, err := queries(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// settle merges the sums, as the gateway does once a minute, and updates the statistics.
func (b *books) settle(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = b.store.MergeUsage(ctx, b.years.end); err != nil {
			return fmt.Errorf("merge usage: %w", err)
		}
	}
	if b.conn == nil {
		return nil
	}
	_, err := b.conn.Exec(ctx, "VACUUM (ANALYZE)")
	return err
}
