//go:build unix

// Package servertest gives tests real PostgreSQL and Redis servers that are gone
// when the test is, or when the test process dies in whatever way.
//
// The servers come from the first of: TEST_DATABASE_URL and TEST_REDIS_URL (not
// for the Start functions, which need a server they may break), the programs on
// this machine, Docker, and, as root on Debian or Ubuntu, the distribution's
// packages, which are then installed. Without any of them the test fails and
// says what to install; it is never skipped.
package servertest

import (
	"context"
	"os"
	"testing"
)

// Postgres returns the postgres:// URL of an empty database that only this test
// uses. Its role owns it and is no superuser, except that of TEST_DATABASE_URL,
// which must be allowed to create databases. The server is shared with the other
// tests of the process: at most 97 connections at once among them all.
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
		if err := execPostgres(context.Background(), base, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return address
}

// Redis returns the redis:// URL of an empty Redis that only this test uses: a
// server of its own, without persistence. With TEST_REDIS_URL it is a database
// of that server that was empty, emptied again afterwards; published messages
// cross databases there, as always in Redis.
func Redis(t testing.TB) string {
	t.Helper()
	if base := os.Getenv("TEST_REDIS_URL"); base != "" {
		return borrowDatabase(t, base)
	}
	return StartRedis(t, "appendonly=no").URL
}

// PostgresServer is a PostgreSQL server that a test may break. Its URL is that of
// an empty database, whose owner may create more.
type PostgresServer struct{ *Server }

// RedisServer is a Redis server that a test may break.
type RedisServer struct{ *Server }

// Setting is one of the server's own settings, as name=value.
type Setting string

// Durable makes PostgreSQL flush each commit to the disk, which it otherwise
// does not do here.
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
	server.belongTo(t)
	return &PostgresServer{server}
}

// StartRedis starts a Redis server for this test alone. It keeps what was
// written over Stop, Kill and Restart.
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
	server.belongTo(t)
	return &RedisServer{server}
}
