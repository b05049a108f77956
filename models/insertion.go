package models

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
)

// insertion writes many rows of one table in the way that costs each kind of
// database the least. Its columns are texts, then truths, then numbers.
type insertion struct {
	table                 string
	columns               []string
	texts, flags, numbers int
	into, unnest          string // parts of an INSERT
	onConflict            string
}

func newInsertion(table string, texts, flags, numbers []string, onConflict string) insertion {
	in := insertion{table: table, texts: len(texts), flags: len(flags), numbers: len(numbers)}
	var arrays []string
	add := func(kind string, names []string) {
		for _, name := range names {
			in.columns = append(in.columns, name)
			arrays = append(arrays, fmt.Sprintf("$%d::%s[]", len(in.columns), kind))
		}
	}
	add("text", texts)
	add("bool", flags)
	add("bigint", numbers)
	in.into = "INSERT INTO " + table + " (" + strings.Join(in.columns, ", ") + ") "
	in.unnest = "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ") "
	in.onConflict = onConflict
	return in
}

// record is one row of an insertion.
type record struct {
	texts   []string
	flags   []bool
	numbers []int64
}

// batch is n rows, which fill appends to an empty record one after the other.
type batch struct {
	n    int
	fill func(i int, r *record)
}

// direct is a transaction and the connection that it is on.
type direct struct {
	tx   *gorm.DB
	conn *sql.Conn
}

// direct runs queries as one, on a connection whose driver they may use.
func (s *Store) direct(ctx context.Context, queries func(on direct) error) error {
	return s.do(ctx, func(db *gorm.DB) error {
		return db.Connection(func(db *gorm.DB) error {
			conn, ok := db.Statement.ConnPool.(*sql.Conn)
			if !ok {
				return errors.New("not a connection")
			}
			return db.Transaction(func(tx *gorm.DB) error { return queries(direct{tx, conn}) })
		})
	})
}

func (d direct) embedded() bool { return d.tx.Name() == "sqlite" }

// merge adds rows, each as onConflict says where it is there already.
func (in *insertion) merge(on direct, all batch) error {
	if on.embedded() {
		return in.step(on, all)
	}
	texts, flags, numbers := arrays[string](in.texts, all.n), arrays[bool](in.flags, all.n), arrays[int64](in.numbers, all.n)
	var r record
	for i := range all.n {
		all.get(i, &r)
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
	// Past GORM, which makes a list of values of each array.
	_, err := on.tx.Statement.ConnPool.ExecContext(on.tx.Statement.Context, in.into+in.unnest+in.onConflict, args...)
	return err
}

// arrays are n columns of rows values each.
func arrays[T any](n, rows int) [][]T {
	all := make([][]T, n)
	for i := range all {
		all[i] = make([]T, rows)
	}
	return all
}

// copy adds rows to PostgreSQL, none of which may be there already: it costs
// half of what an INSERT does.
func (in *insertion) copy(on direct, all batch) error {
	var r record
	values := make([]any, len(in.columns))
	source := pgx.CopyFromSlice(all.n, func(i int) ([]any, error) {
		all.get(i, &r)
		for column := range values {
			values[column] = r.value(column)
		}
		return values, nil
	})
	return on.conn.Raw(func(conn any) error {
		c, ok := conn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%T is no connection to PostgreSQL", conn)
		}
		_, err := c.Conn().CopyFrom(on.tx.Statement.Context, pgx.Identifier{in.table}, in.columns, source)
		return err
	})
}

// step adds rows to SQLite one by one. A value that all of them share stands in
// the statement: a driver takes longer to bind one than SQLite to store it, and
// the rows of a moment are much alike.
func (in *insertion) step(on direct, all batch) error {
	// The driver starts a goroutine for each statement of a context that may
	// end, which costs a third more; so the context is looked at in between.
	// That it lives says as well that the transaction does, which ends after it
	// and not while the connection is held here.
	ctx := context.WithoutCancel(on.tx.Statement.Context)
	values := in.shared(all)
	var bound []int // the columns of the arguments
	for i, literal := range values {
		if literal == "" {
			values[i] = "?"
			bound = append(bound, i)
		}
	}
	args := make([]driver.NamedValue, len(bound))
	for i := range args {
		args[i].Ordinal = i + 1
	}
	return on.conn.Raw(func(conn any) error {
		c, ok := conn.(driver.ConnPrepareContext)
		if !ok {
			return fmt.Errorf("%T prepares nothing", conn)
		}
		prepared, err := c.PrepareContext(ctx, in.into+"VALUES ("+strings.Join(values, ", ")+") "+in.onConflict)
		if err != nil {
			return err
		}
		defer func() { _ = prepared.Close() }()
		statement, ok := prepared.(driver.StmtExecContext)
		if !ok {
			return fmt.Errorf("%T runs nothing", prepared)
		}
		var r record
		for i := range all.n {
			if err := on.tx.Statement.Context.Err(); err != nil {
				return err
			}
			all.get(i, &r)
			for k, column := range bound {
				args[k].Value = r.value(column)
			}
			if _, err := statement.ExecContext(ctx, args); err != nil {
				return err
			}
		}
		return nil
	})
}

// shared is, of each column that has one value in all rows, that value as SQL.
func (in *insertion) shared(all batch) []string {
	literals, differ := make([]string, len(in.columns)), make([]bool, len(in.columns))
	var first, r record
	all.get(0, &first)
	for i := 1; i < all.n; i++ {
		all.get(i, &r)
		compare(differ, r.texts, first.texts)
		compare(differ[in.texts:], r.flags, first.flags)
		compare(differ[in.texts+in.flags:], r.numbers, first.numbers)
	}
	for i := range literals {
		if !differ[i] {
			literals[i] = literal(first.value(i))
		}
	}
	return literals
}

// compare notes which values of two rows differ.
func compare[T comparable](differ []bool, a, b []T) {
	for i, v := range a {
		differ[i] = differ[i] || v != b[i]
	}
}

// literal is a value as SQL; empty for a text that is not plainly a name or an
// id, which is bound.
func literal(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case string:
		const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/"
		if strings.Trim(v, plain) == "" {
			return "'" + v + "'"
		}
	}
	return ""
}

// get is one row, in the memory of r.
func (b *batch) get(i int, r *record) {
	*r = record{r.texts[:0], r.flags[:0], r.numbers[:0]}
	b.fill(i, r)
}

// value is that of a column.
func (r *record) value(i int) any {
	if i < len(r.texts) {
		return r.texts[i]
	}
	if i -= len(r.texts); i < len(r.flags) {
		return r.flags[i]
	}
	return r.numbers[i-len(r.flags)]
}
