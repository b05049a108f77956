package models

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is an arbitrary number that all replicas agree on.
const migrationLock = 7_310_114_201

// migrationTimeout bounds the whole of Migrate, waiting for other replicas
// included.
const migrationTimeout = time.Minute

// Migrate brings the schema up to this version. Any number of replicas may do
// it at once: one does the work, under a lock and in one transaction, and the
// others find it done. Until it has succeeded Probe fails.
func (s *Store) Migrate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, migrationTimeout)
	defer cancel()
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// SQLite's transactions are immediate: they are the lock themselves.
		if !s.embedded {
			if err := tx.Exec("SELECT pg_advisory_xact_lock(?)", migrationLock).Error; err != nil {
				return fmt.Errorf("wait for other replicas: %w", err)
			}
		}
		return s.migrate(tx)
	})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	s.migrated.Store(true)
	return nil
}

func (s *Store) migrate(tx *gorm.DB) error {
	if err := tx.Exec("CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL)").Error; err != nil {
		return err
	}
	var done int
	if err := tx.Raw("SELECT COALESCE(MAX(version), 0) FROM schema_migrations").Scan(&done).Error; err != nil {
		return err
	}
	files, err := fs.Glob(migrations, "migrations/*.sql") // in the order of their names
	if err != nil {
		return err
	}
	for _, file := range files {
		version, err := strconv.Atoi(strings.TrimPrefix(file, "migrations/")[:4])
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if version <= done || !s.understands(file) {
			continue
		}
		if err := apply(tx, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := tx.Exec("INSERT INTO schema_migrations (version, applied_at) VALUES (?, ?)", version, time.Now().Unix()).Error; err != nil {
			return err
		}
	}
	return nil
}

// understands says whether a file is for this database: some are for one kind
// alone, which their names say.
func (s *Store) understands(file string) bool {
	if s.embedded {
		return !strings.HasSuffix(file, ".postgres.sql")
	}
	return !strings.HasSuffix(file, ".sqlite.sql")
}

// apply runs a file whole: both drivers take several statements at once when
// there are no arguments.
func apply(tx *gorm.DB, file string) error {
	text, err := migrations.ReadFile(file)
	if err != nil {
		return err
	}
	return tx.Exec(string(text)).Error
}
