package models

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
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

// Migrate brings the schema up to this version. Any number of replicas may call
// it at once: the first applies the migrations, under a lock and in one
// transaction, and the others find them applied. Until it has succeeded Probe
// fails.
func (s *Store) Migrate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, migrationTimeout)
	defer cancel()
	if err := s.migrate(ctx, migrations); err != nil {
		return err
	}
	if err := s.takeProcess(ctx, time.Now()); err != nil {
		return fmt.Errorf("migrate: %w", connectError{err})
	}
	s.migrated.Store(true)
	return nil
}

func (s *Store) migrate(ctx context.Context, files fs.FS) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// SQLite's transactions are immediate: they are the lock themselves.
		if !s.embedded {
			if err := tx.Exec("SELECT pg_advisory_xact_lock(?)", migrationLock).Error; err != nil {
				return fmt.Errorf("wait for other replicas: %w", err)
			}
		}
		return s.applyMissing(tx, files)
	})
	if err != nil {
		return fmt.Errorf("migrate: %w", connectError{err})
	}
	return nil
}

// Schema counts the migrations of this version.
type Schema struct {
	Applied, Missing int
}

// Schema says how much of Migrate is done already. It changes nothing.
func (s *Store) Schema(ctx context.Context) (Schema, error) {
	var state Schema
	err := s.run(ctx, func(db *gorm.DB) error {
		// HasTable returns no error when the database does not answer.
		if err := db.Exec("SELECT 1").Error; err != nil {
			return connectError{err}
		}
		applied := map[int]bool{}
		if db.Migrator().HasTable("schema_migrations") {
			var err error
			if applied, err = appliedVersions(db); err != nil {
				return err
			}
		}
		all, err := s.migrationFiles(migrations)
		for _, m := range all {
			if applied[m.version] {
				state.Applied++
			} else {
				state.Missing++
			}
		}
		return err
	})
	return state, err
}

func appliedVersions(db *gorm.DB) (map[int]bool, error) {
	var versions []int
	if err := db.Raw("SELECT version FROM schema_migrations").Scan(&versions).Error; err != nil {
		return nil, err
	}
	applied := make(map[int]bool, len(versions))
	for _, version := range versions {
		applied[version] = true
	}
	return applied, nil
}

// applyMissing applies, in the order of their numbers, the migrations that the
// database has no record of. Numbers that only the database has are of a later
// release and are left alone.
func (s *Store) applyMissing(tx *gorm.DB, files fs.FS) error {
	const table = "CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL)"
	if err := tx.Exec(table).Error; err != nil {
		return err
	}
	applied, err := appliedVersions(tx)
	if err != nil {
		return err
	}
	all, err := s.migrationFiles(files)
	if err != nil {
		return err
	}
	for _, m := range all {
		if applied[m.version] {
			continue
		}
		if err := apply(tx, files, m); err != nil {
			return fmt.Errorf("%s: %w", m.file, err)
		}
	}
	return nil
}

type migration struct {
	version int
	file    string
}

// migrationFiles are the migrations of this kind of database, in the order of
// their numbers. A number that two files have is an error: the second would
// never be applied where the first one has been.
func (s *Store) migrationFiles(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted by name
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, name := range names {
		if !s.appliesTo(name) {
			continue
		}
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(number)
		if err != nil || len(number) != len("0001") {
			return nil, fmt.Errorf("%s: the name does not begin with a number of four digits", name)
		}
		if n := len(all); n > 0 && all[n-1].version == version {
			return nil, fmt.Errorf("%s and %s have the same number", all[n-1].file, name)
		}
		all = append(all, migration{version, name})
	}
	return all, nil
}

// appliesTo says whether a migration is for this kind of database: the names of
// those for one kind end with it.
func (s *Store) appliesTo(file string) bool {
	if s.embedded {
		return !strings.HasSuffix(file, ".postgres.sql")
	}
	return !strings.HasSuffix(file, ".sqlite.sql")
}

// apply runs a file in one piece, as both drivers take several statements at
// once when there are no arguments, and records its number.
func apply(tx *gorm.DB, files fs.FS, m migration) error {
	text, err := fs.ReadFile(files, m.file)
	if err != nil {
		return err
	}
	if err := tx.Exec(string(text)).Error; err != nil {
		return err
	}
	return tx.Exec("INSERT INTO schema_migrations (version, applied_at) VALUES (?, ?)", m.version, time.Now().Unix()).Error
}
