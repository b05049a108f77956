// Package models has the rows of the database and the queries over them. GORM's
// types and errors do not leave it.
//
// A few words have one meaning here. A key is a virtual API key. An account is
// what is charged: a key, a user, a team, or the gateway as a whole. A hold is money
// of an account's budget that a replica may spend without asking the database, or has
// spent without the ledger having recorded it yet.
package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	sqlitedriver "modernc.org/sqlite" // registers the driver named sqlite, without cgo
	codes "modernc.org/sqlite/lib"
)

// These errors are answers of the database; any other error of a query means that
// it could not answer.
var (
	ErrNotFound = errors.New("not found")
	ErrTaken    = errors.New("taken")    // another row has the unique value
	ErrTooMany  = errors.New("too many") // a limit on the number of rows is reached
)

// queryTimeout bounds every query: a database that hangs delays a caller by no
// more than this. An operator with a slower database sets statement_timeout in the address.
const queryTimeout = 2 * time.Second

// InMemory is the address of an embedded database without a file, which ends with
// its store.
const InMemory = "sqlite::memory:"

const poolSize = 20 // connections to PostgreSQL

// Store is the database: PostgreSQL, or an embedded SQLite file.
type Store struct {
	db       *gorm.DB
	embedded bool
	longest  time.Duration // of a query
	migrated atomic.Bool
	callIDs  callIDs
	names    names
	movedTo  atomic.Value // string: the last row that MoveCalls has moved, from which it goes on
}

// Open takes a postgres://, postgresql:// or sqlite:PATH address. It creates the
// folder of an embedded file, but does not connect: Migrate and Probe report
// whether the database answers.
func Open(address string) (*Store, error) {
	dialector, embedded, err := newDialector(address)
	if err != nil {
		return nil, err
	}
	s, err := NewStore(dialector, embedded)
	if err == nil && !embedded {
		s.longest = statementTimeout(address)
	}
	return s, err
}

// NewStore returns a store on any connection of GORM. The database is embedded if no
// other replica can use it: replicas have no leases then.
func NewStore(dialector gorm.Dialector, embedded bool) (*Store, error) {
	db, err := gorm.Open(dialector, &gorm.Config{
		DisableAutomaticPing:   true,
		SkipDefaultTransaction: true,
		Logger:                 logger.Discard, // it would print values of rows; errors are returned, and logged by callers
	})
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	pool.SetMaxOpenConns(poolSize)
	pool.SetMaxIdleConns(poolSize)
	pool.SetConnMaxLifetime(30 * time.Minute)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	if embedded {
		pool.SetMaxOpenConns(1) // SQLite has one writer at a time
		pool.SetConnMaxLifetime(0)
		pool.SetConnMaxIdleTime(0)
	}
	return &Store{db: db, embedded: embedded, longest: queryTimeout}, nil
}

func newDialector(address string) (dialector gorm.Dialector, embedded bool, err error) {
	path, embedded := strings.CutPrefix(address, "sqlite:")
	if !embedded {
		limited, err := withTimeouts(address)
		if err != nil {
			return nil, false, err
		}
		return postgres.Open(limited), false, nil
	}
	if address != InMemory {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, true, fmt.Errorf("database folder: %w", err)
		}
		if err := createPrivate(path); err != nil {
			return nil, true, fmt.Errorf("database file: %w", err)
		}
	}
	return sqlite.Dialector{DriverName: "sqlite", DSN: sqliteSource(path) +
		"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&_txlock=immediate"}, true, nil
}

// FileMissing reports whether an address of Open names an embedded file that does
// not exist yet. Its path is returned for every embedded file.
func FileMissing(address string) (path string, missing bool) {
	path, embedded := strings.CutPrefix(address, "sqlite:")
	if !embedded {
		return "", false
	}
	_, err := os.Stat(path)
	return path, address != InMemory && errors.Is(err, fs.ErrNotExist)
}

// createPrivate makes a file that only this user reads, or has one that is there, of an early release, no longer read by
// all. SQLite itself would make it readable by all; the files beside it get the permissions of this one.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	const others = 0o007
	if info, err := file.Stat(); err == nil && info.Mode().Perm()&others != 0 {
		_ = file.Chmod(0o600) // it fails for a file of another owner, which works all the same
	}
	return file.Close()
}

// withTimeouts adds the timeouts that the server and the driver enforce
// themselves, in milliseconds but for connect_timeout, which is in seconds. What
// the operator has set in the address stays.
func withTimeouts(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("not an address of PostgreSQL") // the cause may contain the password
	}
	q := u.Query()
	for name, value := range map[string]string{
		"connect_timeout": "2", "statement_timeout": "5000", "idle_in_transaction_session_timeout": "60000",
	} {
		if !q.Has(name) {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// statementTimeout returns the bound of a query that an operator has set in the
// address of the database, or ours.
func statementTimeout(address string) time.Duration {
	u, err := url.Parse(address)
	if err != nil {
		return queryTimeout
	}
	text := u.Query().Get("statement_timeout")
	if ms, err := strconv.ParseInt(text, 10, 32); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 { // PostgreSQL takes "10s" as well
		return d
	}
	return queryTimeout
}

// Probe returns an error unless the database answers and has its schema. On an
// embedded database it writes a row, as the disk may be full.
func (s *Store) Probe(ctx context.Context) error {
	if !s.migrated.Load() {
		return ErrNotMigrated
	}
	if !s.embedded {
		return s.db.WithContext(ctx).Exec("SELECT 1").Error
	}
	return s.db.WithContext(ctx).Exec("INSERT OR REPLACE INTO probes (id, at) VALUES (1, ?)", time.Now().Unix()).Error
}

// Close closes all connections.
func (s *Store) Close() error {
	pool, err := s.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// idsPerStatement is how many ids one statement names. SQLite takes at most 32,766
// parameters.
const idsPerStatement = 1000

// run runs a query within the longest time of one and maps its error.
func (s *Store) run(ctx context.Context, query func(db *gorm.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.longest)
	defer cancel()
	return mapError(query(s.db.WithContext(ctx)))
}

// inTx runs queries in one transaction.
func (s *Store) inTx(ctx context.Context, queries func(tx *gorm.DB) error) error {
	return s.run(ctx, func(db *gorm.DB) error { return db.Transaction(queries) })
}

// mapError returns one of the package's errors where one applies.
func mapError(err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return ErrNotFound
	}
	const uniqueViolation = "23505"
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == uniqueViolation {
		return ErrTaken
	}
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		switch e.Code() {
		case codes.SQLITE_CONSTRAINT_UNIQUE, codes.SQLITE_CONSTRAINT_PRIMARYKEY:
			return ErrTaken
		}
	}
	return err
}

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
