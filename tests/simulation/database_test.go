package simulation

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/storetest"

	sqlite "modernc.org/sqlite"
)

// database is the one database of all replicas: SQLite in memory, whose statements
// run one transaction after the other. The connections to it have the faults.
type database struct {
	run  *run
	conn engine
	lock chan struct{}        // full while a transaction is open
	made map[string]statement // prepared statements, by their text
	seen map[int64]bool       // rows of the ledger that were read
}

// statement is a prepared statement, which stays prepared.
type statement struct {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func (statement) Close() error { return nil }

// engine is a connection of SQLite's driver.
type engine interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	Serialize() ([]byte, error)
	Deserialize([]byte) error
}

// connect opens a database in which simulated_now() is the time of the simulation.
func connect(t testing.TB, address string) engine {
	t.Helper()
	with := &sqlite.Driver{}
	err := with.RegisterScalarFunction("simulated_now", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return time.Now().UnixMicro(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := with.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := c.(engine)
	if !ok {
		t.Fatalf("%T is another driver", c)
	}
	return conn
}

// schema is an empty database with the product's schema, as the bytes of its file.
func schema(t testing.TB) []byte {
	t.Helper()
	file := storetest.SQLite(t)
	if err := file.Store.Close(); err != nil { // moves the journal into the file
		t.Fatal(err)
	}
	conn := connect(t, file.DSN)
	defer func() { _ = conn.Close() }()
	empty, err := conn.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	empty[18], empty[19] = 1, 1 // no write-ahead log, which memory has not: https://www.sqlite.org/fileformat.html
	return empty
}

func newDatabase(t testing.TB, r *run, schema []byte) *database {
	t.Helper()
	d := &database{run: r, conn: connect(t, ":memory:"), lock: make(chan struct{}, 1), made: map[string]statement{}, seen: map[int64]bool{}}
	if err := d.conn.Deserialize(schema); err != nil {
		t.Fatal(err)
	}
	return d
}

// prepare prepares a statement, once. What a store says to PostgreSQL is turned into
// what SQLite understands. The caller has the lock.
func (d *database) prepare(text string) (statement, error) {
	if s, ok := d.made[text]; ok {
		return s, nil
	}
	prepared, err := d.conn.PrepareContext(context.Background(), strings.NewReplacer(
		"EXTRACT(EPOCH FROM statement_timestamp()) * 1000000", "simulated_now()",
		"EXISTS (SELECT FROM", "EXISTS (SELECT 1 FROM").Replace(text))
	if err != nil {
		return statement{}, err
	}
	exec, _ := prepared.(driver.StmtExecContext)
	query, _ := prepared.(driver.StmtQueryContext)
	d.made[text] = statement{prepared, exec, query}
	return d.made[text], nil
}

// exec runs a statement at once. The caller has the lock.
func (d *database) exec(text string) {
	s, err := d.prepare(text)
	if err == nil {
		_, err = s.ExecContext(context.Background(), nil)
	}
	if err != nil {
		d.run.fail("%s: %v", text, err)
	}
}

// query reads rows of texts and numbers at once. The caller has the lock.
func (d *database) query(text string, row func(texts []string, numbers []int64), args ...driver.NamedValue) {
	s, err := d.prepare(text)
	if err != nil {
		d.run.fail("%s: %v", text, err)
		return
	}
	rows, err := s.QueryContext(context.Background(), args)
	if err != nil {
		d.run.fail("%s: %v", text, err)
		return
	}
	defer func() { _ = rows.Close() }()
	values := make([]driver.Value, len(rows.Columns()))
	for rows.Next(values) == nil {
		var texts []string
		var numbers []int64
		for _, v := range values {
			switch v := v.(type) {
			case string:
				texts = append(texts, v)
			case int64:
				numbers = append(numbers, v)
			}
		}
		row(texts, numbers)
	}
}

// close closes the database.
func (d *database) close() error {
	for _, s := range d.made {
		if err := s.Stmt.Close(); err != nil {
			return err
		}
	}
	return d.conn.Close()
}

const advisoryLock = "pg_advisory_xact_lock" // needless: transactions run one after the other

// purpose names a transaction by its first statement, so that the trace shows it
// and its faults are drawn apart from those of others.
func purpose(statement string, args []driver.NamedValue) string {
	switch {
	case strings.Contains(statement, advisoryLock):
		if name, _ := args[0].Value.(string); name != "replicas" {
			return "grant " + name
		}
		return "renew"
	case strings.HasPrefix(statement, "SELECT EXISTS (SELECT 1 FROM calls)"):
		return "ledger"
	case strings.Contains(statement, "running_calls"):
		return "look for lost calls"
	case strings.Contains(statement, "calls"):
		return "ledger again"
	case strings.HasPrefix(statement, "DELETE FROM replicas"):
		return "end lease"
	default:
		return "save"
	}
}

// connector makes the connections of one process.
type connector struct{ of *process }

func (c connector) Connect(context.Context) (driver.Conn, error) { return &conn{of: c.of}, nil }
func (c connector) Driver() driver.Driver                        { return nil }

// conn is a connection of a process. A statement outside of a transaction has one
// of its own.
type conn struct {
	of *process
	tx *transaction
}

var errUnexpected = errors.New("the simulation does not expect this statement")

func (c *conn) Close() error                        { return nil }
func (c *conn) Prepare(string) (driver.Stmt, error) { return nil, errUnexpected }
func (c *conn) Begin() (driver.Tx, error)           { return c.BeginTx(context.Background(), driver.TxOptions{}) }

func (c *conn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	c.tx = &transaction{conn: c, ctx: ctx, cancel: func() {}}
	return c.tx, nil
}

func (c *conn) PrepareContext(_ context.Context, text string) (driver.Stmt, error) {
	return c.reach(text, nil)
}

// reach has a statement in the database.
func (c *conn) reach(text string, args []driver.NamedValue) (statement, error) {
	if c.tx == nil {
		return statement{}, errUnexpected
	}
	if err := c.tx.reach(text, args); err != nil {
		return statement{}, err
	}
	if strings.Contains(text, advisoryLock) {
		text = "SELECT ?"
	}
	return c.of.run.db.prepare(text)
}

func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if c.tx == nil {
		return c.execAlone(ctx, text, args)
	}
	s, err := c.reach(text, args)
	if err != nil {
		return nil, err
	}
	c.tx.notice(text, args)
	return s.ExecContext(context.WithoutCancel(ctx), args)
}

func (c *conn) execAlone(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	tx, err := c.BeginTx(ctx, driver.TxOptions{})
	if err != nil {
		return nil, err
	}
	done, err := c.ExecContext(ctx, text, args)
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return done, tx.Commit()
}

func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if text == "select sqlite_version()" {
		return &readRows{names: []string{"version"}, rows: [][]driver.Value{{"3.50.0"}}}, nil
	}
	if c.tx == nil {
		return c.queryAlone(ctx, text, args)
	}
	s, err := c.reach(text, args)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.WithoutCancel(ctx), args)
}

// queryAlone reads all rows, so that the transaction can end.
func (c *conn) queryAlone(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	tx, err := c.BeginTx(ctx, driver.TxOptions{})
	if err != nil {
		return nil, err
	}
	rows, err := c.QueryContext(ctx, text, args)
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	read := &readRows{names: rows.Columns()}
	for row := make([]driver.Value, len(read.names)); rows.Next(row) == nil; {
		read.rows = append(read.rows, slices.Clone(row))
	}
	return read, errors.Join(rows.Close(), tx.Commit())
}

// readRows are rows in memory.
type readRows struct {
	names []string
	rows  [][]driver.Value
}

func (r *readRows) Columns() []string { return r.names }
func (r *readRows) Close() error      { return nil }

func (r *readRows) Next(to []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(to, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}
