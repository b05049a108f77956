package models

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	sqlitedriver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// ErrNotMigrated says that Migrate has not succeeded yet.
var ErrNotMigrated = errors.New("the schema has not been migrated yet")

// LoginRefused says whether PostgreSQL refused the user or the password.
func LoginRefused(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "28P01" || e.Code == "28000") // invalid_password, invalid_authorization_specification
}

// TooSlow says whether a query took too long, or waited too long for another process
// that writes to an SQLite file.
func TooSlow(err error) bool {
	e, ok := errors.AsType[*sqlitedriver.Error](err)
	const primary = 0xff // of extended codes
	return ok && e.Code()&primary == codes.SQLITE_BUSY || errors.Is(err, context.DeadlineExceeded)
}

// connectError is an error of a connection in one line: pgx writes a line for each
// address and each attempt, and most of them are equal.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

func (e connectError) Error() string {
	lines := strings.Split(e.error.Error(), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	first, rest := lines[0], lines[1:]
	slices.Sort(rest)
	return strings.Join(append([]string{first}, slices.Compact(rest)...), " ")
}
