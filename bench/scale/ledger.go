//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgateway/bench/proc"
	"modelgateway/models"
	"modelgateway/tests/servertest"
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
	swept float64 // rows a second that sweepOldest deleted
}

// measureLedger measures the parts of the ledger that were asked for, each of which goes on
// from the loaded one.
func measureLedger(ctx context.Context, o options) error {
	server, err := openPostgres(ctx, o)
	if err != nil {
		return err
	}
	defer server.close()
	if o.only.MatchString("ledger") {
		err = server.both(ctx)
	} else if _, err = server.load(ctx); err == nil {
		err = server.settle(ctx)
	}
	if err != nil {
		return err
	}
	return server.more(ctx)
}

// both loads the ledger of both databases, and measures it.
func (b *books) both(ctx context.Context) error {
	to, err := newSection(ctx, "ledger", b.conn)
	if err != nil {
		return err
	}
	embedded, err := measureSQLite(ctx, b.options)
	if err != nil {
		return fmt.Errorf("ledger on SQLite: %w", err)
	}
	rows, err := b.measure(ctx)
	if err != nil {
		return fmt.Errorf("ledger on PostgreSQL: %w", err)
	}
	t := to.add("", "", "SQLite", "PostgreSQL")
	for i := range rows {
		t.row(rows[i][0], embedded[i][1], rows[i][1])
	}
	return to.write(b.markdown)
}

func measureSQLite(ctx context.Context, o options) ([][2]string, error) {
	b, err := openSQLite(ctx, o)
	if err != nil {
		return nil, err
	}
	defer b.close()
	return b.measure(ctx)
}

// more measures the parts that go on from the loaded ledger of PostgreSQL.
func (b *books) more(ctx context.Context) error {
	for _, p := range []struct {
		name    string
		measure func(ctx context.Context, to *section) error
	}{{"partitions", b.partitions}, {"bulk", b.bulk}} {
		if !b.only.MatchString(p.name) {
			continue
		}
		err := writePart(ctx, p.name, b.conn, b.markdown, func(to *section) error { return p.measure(ctx, to) })
		if err != nil {
			return err
		}
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
	own, err = proc.CPUTime(os.Getpid())
	if err == nil && b.pid != 0 {
		server, err = proc.TreeTime(b.pid)
	}
	return own, server, err
}

// size is what the rows of the ledger and their indexes take, or all of an SQLite file.
func (b *books) size(ctx context.Context) (bytes int64, err error) {
	if b.conn != nil {
		err = b.conn.QueryRow(ctx, "SELECT SUM(pg_total_relation_size(relid))::bigint FROM "+
			"(SELECT relid FROM pg_partition_tree('calls') UNION SELECT 'calls'::regclass) AS all_of_it").Scan(&bytes)
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
	add("rows", "%s", thousands(int64(loaded.rows)))
	add("rows/s inserted, of the first tenth", "%s", thousands(int64(loaded.first)))
	add("rows/s inserted, of the last tenth", "%s", thousands(int64(loaded.last)))
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
	if _, err := mergeAll(ctx, b.store, b.years.end); err != nil {
		return err
	}
	if b.conn == nil {
		return nil
	}
	_, err := b.conn.Exec(ctx, "VACUUM (ANALYZE)")
	return err
}
