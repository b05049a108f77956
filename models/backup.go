package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	sqlitedriver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// These errors are why a backup is not made, or not restored.
var (
	ErrNotEmbedded = errors.New("the database is not an SQLite file")
	ErrExists      = errors.New("the file exists already")
	ErrInUse       = errors.New("another process, such as a gateway, has the database open")
	ErrDamaged     = errors.New("not a sound SQLite database")
	ErrNewer       = errors.New("of a later release")
)

// Backup describes a copy of an embedded database.
type Backup struct {
	Bytes  int64
	Schema Schema
}

// BackUp copies the embedded database at an address into a new file that only this
// user reads. A gateway may be using the database: the copy is what it had at one
// moment, and writers do not wait for it.
func BackUp(ctx context.Context, address, file string) (*Backup, error) {
	path, err := embeddedFile(address)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(file); err == nil {
		return nil, fmt.Errorf("%s: %w", file, ErrExists)
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.partial") // with permissions 0600
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	defer func() { _ = temporary.Close() }()
	if err := copyInto(ctx, path, temporary.Name()); err != nil {
		return nil, fmt.Errorf("copy %s: %w", path, err)
	}
	made, err := CheckBackup(ctx, temporary.Name())
	if err != nil {
		return nil, fmt.Errorf("the copy of %s: %w", path, err)
	}
	if err := errors.Join(temporary.Sync(), temporary.Close()); err != nil {
		return nil, err
	}
	return made, os.Rename(temporary.Name(), file)
}

func copyInto(ctx context.Context, path, file string) error {
	db, err := sql.Open("sqlite", sqliteSource(path)+"?mode=rw&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", file)
	return damaged(err)
}

// CheckBackup reads a backup completely, without changing it, and returns an error
// unless it is a sound database of a gateway of this release or an earlier one.
func CheckBackup(ctx context.Context, file string) (*Backup, error) {
	about, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	// A copy of the file of a running gateway lacks what is in the file beside it.
	if beside, err := os.Stat(file + "-wal"); err == nil && beside.Size() > 0 {
		return nil, fmt.Errorf("%s-wal has changes that %s lacks: this is a database in use, not a backup", file, file)
	}
	db, err := sql.Open("sqlite", sqliteSource(file)+"?mode=ro&immutable=1")
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	var result string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return nil, damaged(err)
	}
	if result != "ok" {
		return nil, fmt.Errorf("%w: %s", ErrDamaged, result)
	}
	schema, err := schemaOfFile(ctx, db)
	return &Backup{Bytes: about.Size(), Schema: schema}, err
}

// schemaOfFile counts the migrations of an embedded database. The error is ErrNewer
// when it has some that this release does not know.
func schemaOfFile(ctx context.Context, db *sql.DB) (state Schema, err error) {
	known, err := (&Store{embedded: true}).migrationFiles(migrations)
	if err != nil {
		return state, err
	}
	var newest, applied int
	err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0), COUNT(*) FROM schema_migrations").Scan(&newest, &applied)
	if err != nil {
		return state, fmt.Errorf("not a database of the gateway: %w", err)
	}
	if last := known[len(known)-1].version; newest > last {
		return state, fmt.Errorf("%w: its last migration is %d, and that of this release is %d", ErrNewer, newest, last)
	}
	return Schema{Applied: applied, Missing: len(known) - applied}, nil
}

// Restore copies a backup into the embedded database at an address, in one
// transaction. A database that exists is only replaced if told, and never while
// another process has it open.
func Restore(ctx context.Context, file, address string, replace bool) (*Backup, error) {
	path, err := embeddedFile(address)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return nil, err
	}
	backup, err := CheckBackup(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	_, missing := FileMissing(address)
	if !missing && !replace {
		return nil, fmt.Errorf("%s: %w", path, ErrExists)
	}
	if missing {
		if err := createPrivate(path); err != nil {
			return nil, fmt.Errorf("database file: %w", err)
		}
	}
	if err := copyOver(ctx, file, path); err != nil {
		if missing {
			_ = os.Remove(path)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return backup, nil
}

// copyOver replaces the content of the database at path by that of a file, in one
// transaction and under a lock that excludes all other connections.
func copyOver(ctx context.Context, file, path string) error {
	const options = "?mode=rw&_pragma=busy_timeout(0)&_pragma=locking_mode(EXCLUSIVE)&_pragma=synchronous(FULL)"
	db, err := sql.Open("sqlite", sqliteSource(path)+options)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return inUse(err)
	}
	defer func() { _ = conn.Close() }()
	for _, statement := range []string{"BEGIN EXCLUSIVE", "COMMIT"} { // the connection keeps the lock
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return inUse(damaged(err))
		}
	}
	return conn.Raw(func(connection any) error {
		to, ok := connection.(interface {
			NewRestore(from string) (*sqlitedriver.Backup, error)
		})
		if !ok {
			return fmt.Errorf("%T cannot restore", connection)
		}
		copying, err := to.NewRestore(sqliteSource(file) + "?mode=ro&immutable=1")
		if err != nil {
			return err
		}
		return errors.Join(copyPages(ctx, copying), copying.Finish())
	})
}

func copyPages(ctx context.Context, copying *sqlitedriver.Backup) error {
	const pages = 10_000
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err // nothing is changed: the transaction ends with the copying
		}
		var err error
		if more, err = copying.Step(pages); err != nil {
			return inUse(err)
		}
	}
	return nil
}

// embeddedFile is the path of the embedded database at an address.
func embeddedFile(address string) (string, error) {
	path, missing := FileMissing(address)
	switch {
	case path == "" || address == InMemory:
		return "", ErrNotEmbedded
	case missing:
		return path, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return path, nil
}

func sqliteSource(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

func inUse(err error) error {
	if TooSlow(err) {
		return ErrInUse // it needs no time, but an end of the other process
	}
	return err
}

func damaged(err error) error {
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		const primary = 0xff // of extended codes
		if code := e.Code() & primary; code == codes.SQLITE_CORRUPT || code == codes.SQLITE_NOTADB {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return err
}
