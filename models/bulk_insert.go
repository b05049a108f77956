package models

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
)

// bulkInsert inserts many rows into one table in the way that costs each kind
// of database the least. Its columns are texts, then booleans, then integers.
// docs/adr/0031 says why GORM does not insert them.
type bulkInsert struct {
	table                 string
	columns               []string
	texts, flags, numbers int
	insert                string // as in "INSERT INTO table (columns) "
	placeholders          string // VALUES, for SQLite
	unnest                string // SELECT, for PostgreSQL: one array for each column
	onConflict            string
	sparse                bool // empty texts and numbers that are 0 are NULL, and the last column is of bytes
}

func newBulkInsert(table string, texts, flags, numbers []string, onConflict string) bulkInsert {
	in := bulkInsert{table: table, texts: len(texts), flags: len(flags), numbers: len(numbers), onConflict: onConflict}
	var placeholders, arrays []string
	add := func(kind string, names []string) {
		for _, name := range names {
			in.columns = append(in.columns, name)
			placeholders = append(placeholders, "?")
			arrays = append(arrays, fmt.Sprintf("$%d::%s[]", len(in.columns), kind))
		}
	}
	add("text", texts)
	add("bool", flags)
	add("bigint", numbers)
	in.insert = "INSERT INTO " + table + " (" + strings.Join(in.columns, ", ") + ") "
	in.placeholders = "VALUES (" + strings.Join(placeholders, ", ") + ") "
	in.unnest = "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ") "
	return in
}

// thin is the insert of rows most of whose values are empty or 0, which are NULL then, and that have
// bytes in the last column. It cannot upsert.
func (in bulkInsert) thin(blob string) bulkInsert {
	in.sparse = true
	in.columns = append(in.columns, blob)
	in.insert = strings.TrimSuffix(in.insert, ") ") + ", " + blob + ") "
	in.placeholders = strings.TrimSuffix(in.placeholders, ") ") + ", ?) "
	return in
}

// bulkRow is one row of a bulkInsert, in the order of its columns.
type bulkRow struct {
	texts   []string
	flags   []bool
	numbers []int64
	blob    []byte
}

// bulkRows are n rows. fill appends the values of row i to an empty bulkRow,
// and is called for one row after the other.
type bulkRows struct {
	n    int
	fill func(i int, r *bulkRow)
}

// connTx is a transaction and the connection that it is on.
type connTx struct {
	tx   *gorm.DB
	conn *sql.Conn
}

// inConnTx runs queries in one transaction, on a connection whose driver they
// may use directly.
func (s *Store) inConnTx(ctx context.Context, queries func(on connTx) error) error {
	return s.run(ctx, func(db *gorm.DB) error {
		return db.Connection(func(db *gorm.DB) error {
			conn, ok := db.Statement.ConnPool.(*sql.Conn)
			if !ok {
				return fmt.Errorf("%T is not a connection", db.Statement.ConnPool)
			}
			return db.Transaction(func(tx *gorm.DB) error { return queries(connTx{tx, conn}) })
		})
	})
}

// raw runs f with the connection of the driver. sql.Conn.Raw panics when the
// connection is closed between its check for that and its use, as it is when the
// context of the transaction ends at that moment: that is sql.ErrConnDone here.
func (on connTx) raw(f func(conn any) error) (err error) {
	entered := false
	defer func() {
		if entered {
			return // a panic of f goes on
		}
		if recover() != nil {
			err = sql.ErrConnDone
		}
	}()
	return on.conn.Raw(func(conn any) error {
		entered = true
		return f(conn)
	})
}

func (on connTx) embedded() bool { return on.tx.Name() == "sqlite" }

// upsert inserts rows. Those that exist already are changed as onConflict says.
func (in *bulkInsert) upsert(on connTx, rows bulkRows) error {
	if on.embedded() {
		return in.insertRows(on, rows)
	}
	texts, flags, numbers := arrays[string](in.texts, rows.n), arrays[bool](in.flags, rows.n), arrays[int64](in.numbers, rows.n)
	var r bulkRow
	for i := range rows.n {
		rows.get(i, &r)
		for j, v := range r.texts {
			texts[j][i] = v
		}
		for j, v := range r.flags {
			flags[j][i] = v
		}
		for j, v := range r.numbers {
			numbers[j][i] = v
		}
	}
	args := make([]any, 0, len(in.columns))
	for _, column := range texts {
		args = append(args, column)
	}
	for _, column := range flags {
		args = append(args, column)
	}
	for _, column := range numbers {
		args = append(args, column)
	}
	// Not by GORM, which turns each array into a list of values.
	_, err := on.tx.Statement.ConnPool.ExecContext(on.tx.Statement.Context, in.insert+in.unnest+in.onConflict, args...)
	return err
}

// arrays are the values of n columns, each of as many rows.
func arrays[T any](n, rows int) [][]T {
	all := make([][]T, n)
	for i := range all {
		all[i] = make([]T, rows)
	}
	return all
}

// copyRows inserts rows into PostgreSQL by COPY, which costs half of what an
// INSERT does. It fails when one of them exists already.
func (in *bulkInsert) copyRows(on connTx, rows bulkRows) error {
	var r bulkRow
	values := make([]any, len(in.columns))
	source := pgx.CopyFromSlice(rows.n, func(i int) ([]any, error) {
		rows.get(i, &r)
		for column := range values {
			values[column] = in.value(&r, column)
		}
		return values, nil
	})
	return on.raw(func(conn any) error {
		c, ok := conn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%T is not a connection to PostgreSQL", conn)
		}
		_, err := c.Conn().CopyFrom(on.tx.Statement.Context, pgx.Identifier{in.table}, in.columns, source)
		return err
	})
}

// insertRows inserts rows into SQLite, one after the other by one prepared
// statement.
func (in *bulkInsert) insertRows(on connTx, rows bulkRows) error {
	// For each statement whose context can end the driver starts a goroutine,
	// which costs a third more. So the statements get a context that does not
	// end, and the transaction's is checked before each row: while it has not
	// ended, the transaction has not either, which database/sql rolls back only
	// after its context has ended and not while the connection is in use here.
	ctx := context.WithoutCancel(on.tx.Statement.Context)
	args := make([]driver.NamedValue, len(in.columns))
	for i := range args {
		args[i].Ordinal = i + 1
	}
	return on.raw(func(conn any) error {
		statement, err := prepare(ctx, conn, in.insert+in.placeholders+in.onConflict)
		if err != nil {
			return err
		}
		defer func() { _ = statement.Close() }()
		var r bulkRow
		for i := range rows.n {
			if err := on.tx.Statement.Context.Err(); err != nil {
				return err
			}
			rows.get(i, &r)
			for column := range args {
				args[column].Value = in.value(&r, column)
			}
			if _, err := statement.ExecContext(ctx, args); err != nil {
				return err
			}
		}
		return nil
	})
}

// preparedStatement is what a driver prepares.
type preparedStatement interface {
	driver.Stmt
	driver.StmtExecContext
}

func prepare(ctx context.Context, conn any, query string) (preparedStatement, error) {
	c, ok := conn.(driver.ConnPrepareContext)
	if !ok {
		return nil, fmt.Errorf("%T does not prepare statements", conn)
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	statement, ok := prepared.(preparedStatement)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T does not execute", prepared), prepared.Close())
	}
	return statement, nil
}

// get reads row i into the memory of r.
func (b *bulkRows) get(i int, r *bulkRow) {
	*r = bulkRow{r.texts[:0], r.flags[:0], r.numbers[:0], r.blob[:0]}
	b.fill(i, r)
}

// value is the value of a column.
func (in *bulkInsert) value(r *bulkRow, column int) any {
	if column < in.texts {
		if in.sparse && r.texts[column] == "" {
			return nil
		}
		return r.texts[column]
	}
	if column -= in.texts; column < in.flags {
		return r.flags[column]
	}
	if column -= in.flags; column < in.numbers {
		if in.sparse && r.numbers[column] == 0 {
			return nil
		}
		return r.numbers[column]
	}
	return r.blob
}
