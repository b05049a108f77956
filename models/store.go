// Package models is what the gateway keeps: the rows of its database and the
// queries over them. GORM does not leave it.
package models

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	driver "modernc.org/sqlite" // registers the driver named sqlite, without cgo
	codes "modernc.org/sqlite/lib"
)

// What a query found wrong; any other error means that the database could not
// answer.
var (
	ErrNotFound = errors.New("not found")
	ErrTaken    = errors.New("taken")    // a unique value is another row's
	ErrTooMany  = errors.New("too many") // a limit on rows is reached
)

// patience bounds every query, so that a frozen database costs no caller more.
const patience = 2 * time.Second

const poolSize = 20

// Store is the database: PostgreSQL, or an embedded SQLite file.
type Store struct {
	db       *gorm.DB
	embedded bool
	migrated atomic.Bool
}

// Open reads a postgres://, postgresql:// or sqlite:PATH address. It makes the
// folder of an embedded file, but waits for no server: whether the database
// answers is for Migrate and Probe to say.
func Open(address string) (*Store, error) {
	dialector, embedded, err := dial(address)
	if err != nil {
		return nil, err
	}
	db, err := gorm.Open(dialector, &gorm.Config{
		DisableAutomaticPing:   true,
		SkipDefaultTransaction: true,
		Logger:                 logger.Discard, // it prints values of rows; errors are returned and logged once, above
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
		pool.SetMaxOpenConns(1) // one writer; SQLite has no more
		pool.SetConnMaxLifetime(0)
		pool.SetConnMaxIdleTime(0)
	}
	return &Store{db: db, embedded: embedded}, nil
}

func dial(address string) (dialector gorm.Dialector, embedded bool, err error) {
	path, embedded := strings.CutPrefix(address, "sqlite:")
	if !embedded {
		limited, err := withTimeouts(address)
		if err != nil {
			return nil, false, err
		}
		return postgres.Open(limited), false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, true, fmt.Errorf("database folder: %w", err)
	}
	return sqlite.Dialector{DriverName: "sqlite", DSN: "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&_txlock=immediate"}, true, nil
}

// withTimeouts adds the bounds that the server and the driver keep by
// themselves, unless the operator has set others.
func withTimeouts(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("not an address of PostgreSQL") // the cause may hold the password
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

// Probe says whether the database answers and has its schema; an embedded one
// whether it can be written.
func (s *Store) Probe(ctx context.Context) error {
	if !s.migrated.Load() {
		return errors.New("the schema is not there yet")
	}
	if !s.embedded {
		return s.db.WithContext(ctx).Exec("SELECT 1").Error
	}
	return s.db.WithContext(ctx).Exec("INSERT OR REPLACE INTO probes (id, at) VALUES (1, ?)", time.Now().Unix()).Error
}

// Close ends all connections.
func (s *Store) Close() error {
	pool, err := s.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// do runs a query within patience and gives its error a name of ours.
func (s *Store) do(ctx context.Context, query func(db *gorm.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return named(query(s.db.WithContext(ctx)))
}

// unit runs several queries as one.
func (s *Store) unit(ctx context.Context, queries func(tx *gorm.DB) error) error {
	return s.do(ctx, func(db *gorm.DB) error { return db.Transaction(queries) })
}

func named(err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return ErrNotFound
	}
	const uniqueViolation = "23505"
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == uniqueViolation {
		return ErrTaken
	}
	if e, ok := errors.AsType[*driver.Error](err); ok {
		switch e.Code() {
		case codes.SQLITE_CONSTRAINT_UNIQUE, codes.SQLITE_CONSTRAINT_PRIMARYKEY:
			return ErrTaken
		}
	}
	return err
}
