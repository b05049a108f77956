//go:build unix

package servertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// sharedPostgres is the URL of a server for all tests of this process.
var sharedPostgres = sync.OnceValues(func() (string, error) {
	from, err := postgresSource()
	if err != nil {
		return "", err
	}
	server, err := startPostgres(from)
	if err != nil {
		return "", err
	}
	return server.URL, nil
})

// maxConnections allows for the pools of all gateways that the tests of a package run at once.
const maxConnections = "max_connections=500"

func startPostgres(from source, settings ...Setting) (*Server, error) {
	build := postgresProcess
	if from.bin == "" {
		build = postgresContainer
	}
	var args []string
	for _, setting := range append([]Setting{maxConnections, "fsync=off", "shared_buffers=16MB"}, settings...) {
		args = append(args, "-c", string(setting))
	}
	s := &Server{ping: func(ctx context.Context, address string) error { return execPostgres(ctx, address, "SELECT 1") }}
	if err := s.launch(func(port int) (*process, string, error) { return build(port, args) }); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	var err error
	if s.URL, err = createRole(s.URL); err != nil {
		return nil, errors.Join(err, s.run.remove())
	}
	return s, nil
}

// cluster is an initialised data directory. It is copied for each server, as initdb
// takes seconds.
type cluster struct {
	bin, data string
	password  string
	user      *syscall.Credential
}

var template = sync.OnceValues(func() (*cluster, error) {
	user, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := newServerDir(user)
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: findPostgres(), data: filepath.Join(dir, "data"), password: rand.Text(), user: user}
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(c.password), 0o644); err != nil {
		return nil, err
	}
	initdb := command(user, dir, filepath.Join(c.bin, "initdb"), "-D", c.data, "-U", "postgres", "--pwfile", password,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return c, nil
})

func postgresProcess(port int, args []string) (*process, string, error) {
	c, err := template()
	if err != nil {
		return nil, "", err
	}
	dir, err := newServerDir(c.user)
	if err != nil {
		return nil, "", err
	}
	if out, err := command(c.user, dir, "cp", "-Rp", c.data, dir).CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("copy the data directory: %w\n%s", err, out)
	}
	args = append([]string{"-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1",
		// No files outside the directory: neither a socket nor in /dev/shm.
		"-c", "unix_socket_directories=", "-c", "dynamic_shared_memory_type=mmap"}, args...)
	p := &process{dir: dir, path: filepath.Join(c.bin, "postgres"), args: args, user: c.user}
	return p, postgresURL(port, c.password), nil
}

func postgresContainer(port int, args []string) (*process, string, error) {
	password := rand.Text()
	options := []string{"-p", loopback(port) + ":5432", "-e", "POSTGRES_PASSWORD=" + password, postgresImage, "postgres"}
	p, err := newContainer(append(options, args...))
	return p, postgresURL(port, password), err
}

// unprivileged is nil unless the test runs as root: PostgreSQL does not start as
// root.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func postgresURL(port int, password string) string {
	return "postgres://postgres:" + password + "@" + loopback(port) + "/postgres?sslmode=disable"
}

// createRole creates a role that is not a superuser, and a database that it owns, and
// returns the URL.
func createRole(superuser string) (string, error) {
	password := rand.Text()
	ctx := context.Background()
	if err := execPostgres(ctx, superuser, "CREATE ROLE gateway LOGIN CREATEDB PASSWORD '"+password+"'"); err != nil {
		return "", err
	}
	u, err := url.Parse(superuser)
	if err != nil {
		return "", err
	}
	u.User = url.UserPassword("gateway", password)
	address, _, err := createDatabase(ctx, u.String())
	return address, err
}

// createDatabase returns the URL of a new database on base's server, and its name.
func createDatabase(ctx context.Context, base string) (address, name string, err error) {
	u, err := url.Parse(base)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		// Without the parser's error, which contains the password.
		return "", "", errors.New("TEST_DATABASE_URL: want postgres://user:password@host:port/database")
	}
	name = "test_" + strings.ToLower(rand.Text())
	u.Path = "/" + name
	if err := execPostgres(ctx, base, "CREATE DATABASE "+name); err != nil {
		return "", "", fmt.Errorf("create a database for the test: %w", err)
	}
	return u.String(), name, nil
}

// dropDatabase ends the connections to a database and drops it. Only a superuser may end an
// autovacuum worker, which soon ends by itself.
func dropDatabase(ctx context.Context, base, name string) error {
	const insufficientPrivilege = "42501"
	for end := time.Now().Add(startTimeout); ; time.Sleep(100 * time.Millisecond) {
		err := execPostgres(ctx, base, "DROP DATABASE "+name+" WITH (FORCE)")
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != insufficientPrivilege || time.Now().After(end) {
			return err
		}
	}
}

func execPostgres(ctx context.Context, address, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}
