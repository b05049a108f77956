//go:build unix

// Package servertest starts real PostgreSQL and Redis servers for tests. They are
// removed when the test ends, also when the test process is killed.
//
// The first available source is used: the servers of TEST_DATABASE_URL and
// TEST_REDIS_URL (not by the Start functions, whose servers a test may break),
// programs on this machine, Docker, and, as root on Debian or Ubuntu, the
// distribution's packages, which are then installed. Without any of them the test
// fails with a message that says what to install; it is never skipped.
package servertest

import (
	"context"
	"net/url"
	"os"
	"testing"
)

// Postgres returns the postgres:// URL of an empty database that only this test
// uses. Its role owns the database and is not a superuser; the role of
// TEST_DATABASE_URL must be allowed to create databases. The server is shared by
// the tests of the process, which may have at most 97 connections together.
func Postgres(t testing.TB) string {
	t.Helper()
	base := os.Getenv("TEST_DATABASE_URL")
	if base == "" {
		var err error
		if base, err = sharedPostgres(); err != nil {
			t.Fatal(err)
		}
	}
	address, name, err := createDatabase(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dropDatabase(context.Background(), base, name); err != nil {
			t.Error(err)
		}
	})
	return patient(t, address)
}

// patient lets queries of a gateway take longer than a gateway lets them otherwise:
// no test can stop or freeze the server that all share, but a busy machine can.
func patient(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("connect_timeout", "30")
	q.Set("statement_timeout", "30000")
	u.RawQuery = q.Encode()
	return u.String()
}

// Redis returns the redis:// URL of an empty Redis that only this test uses: its own
// server, without persistence. With TEST_REDIS_URL it is an empty database of that
// server, which is emptied again afterwards; published messages reach the
// subscribers of all databases of a server.
func Redis(t testing.TB) string {
	t.Helper()
	if base := os.Getenv("TEST_REDIS_URL"); base != "" {
		return acquireDatabase(t, base)
	}
	return StartRedis(t, "appendonly=no").URL
}

// PostgresServer is a PostgreSQL server that a test may break. Its URL is that of an
// empty database; its role may create more.
type PostgresServer struct{ *Server }

// RedisServer is a Redis server that a test may break.
type RedisServer struct{ *Server }

// Setting is one of the server's own settings, as name=value.
type Setting string

// Durable makes PostgreSQL flush each commit to the disk. By default servers of this
// package do not.
const Durable Setting = "fsync=on"

// StartPostgres starts a PostgreSQL server for this test alone.
func StartPostgres(t testing.TB, settings ...Setting) *PostgresServer {
	t.Helper()
	from, err := postgresSource()
	if err != nil {
		t.Fatal(err)
	}
	server, err := startPostgres(from, settings...)
	if err != nil {
		t.Fatal(err)
	}
	server.removeAfter(t)
	return &PostgresServer{server}
}

// StartRedis starts a Redis server for this test alone. Its data survives Stop, Kill
// and Restart.
func StartRedis(t testing.TB, settings ...Setting) *RedisServer {
	t.Helper()
	from, err := redisSource()
	if err != nil {
		t.Fatal(err)
	}
	server, err := startRedis(from, settings...)
	if err != nil {
		t.Fatal(err)
	}
	server.removeAfter(t)
	return &RedisServer{server}
}
