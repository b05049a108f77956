// Package models is what the gateway keeps: the rows of its database and the
// queries over them. GORM does not leave it.
package models

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite" // the driver named sqlite, without cgo
)

// Store is the database: PostgreSQL, or an embedded SQLite file.
type Store struct {
	db       *gorm.DB
	embedded bool
}

// Open reads a postgres://, postgresql:// or sqlite:PATH address. It makes the
// folder of an embedded file, but waits for no server: whether the database
// answers is for Probe to say.
func Open(address string) (*Store, error) {
	path, embedded := strings.CutPrefix(address, "sqlite:")
	dialector := postgres.Open(address)
	if embedded {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("database folder: %w", err)
		}
		dialector = sqlite.Dialector{DriverName: "sqlite", DSN: "file:" + (&url.URL{Path: path}).EscapedPath() +
			"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&_txlock=immediate"}
	}
	db, err := gorm.Open(dialector, &gorm.Config{
		DisableAutomaticPing: true,
		TranslateError:       true,
		Logger:               logger.Discard, // it prints values of rows; errors are returned and logged once, above
	})
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	pool.SetMaxOpenConns(20)
	pool.SetMaxIdleConns(20)
	pool.SetConnMaxLifetime(30 * time.Minute)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	if embedded {
		pool.SetMaxOpenConns(1) // one writer; SQLite has no more
	}
	return &Store{db: db, embedded: embedded}, nil
}

// Probe says whether the database answers; an embedded one whether it can be
// written.
func (s *Store) Probe(ctx context.Context) error {
	if !s.embedded {
		return s.db.WithContext(ctx).Exec("SELECT 1").Error
	}
	db := s.db.WithContext(ctx)
	if err := db.Exec("CREATE TABLE IF NOT EXISTS probes (id INTEGER PRIMARY KEY, at INTEGER NOT NULL)").Error; err != nil {
		return err
	}
	return db.Exec("INSERT OR REPLACE INTO probes (id, at) VALUES (1, ?)", time.Now().Unix()).Error
}

// Close ends all connections.
func (s *Store) Close() error {
	pool, err := s.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}
