package models

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"
)

// insertion writes many rows of one table in the way that costs each kind of
// database the least: PostgreSQL gets a row of arrays, one for each column, and
// SQLite a prepared statement, row by row. Its columns are texts, then truths,
// then numbers.
type insertion struct {
	texts, flags, numbers int
	postgres, sqlite      string
}

func newInsertion(table string, texts, flags, numbers []string, onConflict string) insertion {
	var columns, arrays, marks []string
	add := func(kind string, names []string) {
		for _, name := range names {
			columns = append(columns, name)
			arrays = append(arrays, fmt.Sprintf("$%d::%s[]", len(columns), kind))
			marks = append(marks, "?")
		}
	}
	add("text", texts)
	add("bool", flags)
	add("bigint", numbers)
	into := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") "
	return insertion{
		texts: len(texts), flags: len(flags), numbers: len(numbers),
		postgres: into + "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ") " + onConflict,
		sqlite:   into + "VALUES (" + strings.Join(marks, ", ") + ") " + onConflict,
	}
}

// record is one row of an insertion.
type record struct {
	texts   []string
	flags   []bool
	numbers []int64
}

// write writes n rows, which fill appends to an empty record one after the
// other, and says how many were added or changed.
func (in *insertion) write(tx *gorm.DB, n int, fill func(i int, r *record)) (int64, error) {
	if tx.Name() == "sqlite" {
		return in.writeRows(tx, n, fill)
	}
	return in.writeArrays(tx, n, fill)
}

func (in *insertion) writeArrays(tx *gorm.DB, n int, fill func(i int, r *record)) (int64, error) {
	texts, flags, numbers := columns[string](in.texts, n), columns[bool](in.flags, n), columns[int64](in.numbers, n)
	var r record
	for i := range n {
		r = record{r.texts[:0], r.flags[:0], r.numbers[:0]}
		fill(i, &r)
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
	args := make([]any, 0, in.texts+in.flags+in.numbers)
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
	result, err := tx.Statement.ConnPool.ExecContext(tx.Statement.Context, in.postgres, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// columns are n columns of rows values each.
func columns[T any](n, rows int) [][]T {
	all := make([][]T, n)
	for i := range all {
		all[i] = make([]T, rows)
	}
	return all
}

func (in *insertion) writeRows(tx *gorm.DB, n int, fill func(i int, r *record)) (added int64, err error) {
	// The driver starts a goroutine for each statement of a context that may
	// end, which costs a third more. The transaction still ends with its own:
	// no row is written after that.
	ctx := context.WithoutCancel(tx.Statement.Context)
	statement, err := tx.Statement.ConnPool.PrepareContext(ctx, in.sqlite)
	if err != nil {
		return 0, err
	}
	defer func() { _ = statement.Close() }()
	var r record
	args := make([]any, 0, in.texts+in.flags+in.numbers)
	for i := range n {
		r, args = record{r.texts[:0], r.flags[:0], r.numbers[:0]}, args[:0]
		fill(i, &r)
		for _, v := range r.texts {
			args = append(args, v)
		}
		for _, v := range r.flags {
			args = append(args, v)
		}
		for _, v := range r.numbers {
			args = append(args, v)
		}
		result, err := statement.ExecContext(ctx, args...)
		if err != nil {
			return added, err
		}
		changed, err := result.RowsAffected()
		if err != nil {
			return added, err
		}
		added += changed
	}
	return added, nil
}
