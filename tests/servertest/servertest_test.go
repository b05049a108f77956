//go:build unix

package servertest

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
)

func TestDurableFlushesCommits(t *testing.T) {
	for _, c := range []struct {
		settings []Setting
		want     string
	}{{nil, "off"}, {[]Setting{Durable}, "on"}} {
		db := openPostgres(t, StartPostgres(t, c.settings...).URL)
		var fsync, connections string
		must(t, db.QueryRow("SELECT current_setting('fsync'), current_setting('max_connections')").Scan(&fsync, &connections))
		if fsync != c.want || "max_connections="+connections != maxConnections {
			t.Errorf("fsync %s, max_connections %s", fsync, connections)
		}
	}
}

func TestDatabasesOfTwoTestsAreSeparate(t *testing.T) {
	a, b := openPostgres(t, Postgres(t)), openPostgres(t, Postgres(t))
	for _, db := range []*sql.DB{a, b} {
		_, err := db.Exec("CREATE TABLE users (id int)")
		must(t, err)
	}
	_, err := a.Exec("INSERT INTO users VALUES (1)")
	must(t, err)
	var users int
	must(t, b.QueryRow("SELECT count(*) FROM users").Scan(&users))
	if users != 0 {
		t.Errorf("the other test's database holds %d users of this one", users)
	}
	var superuser bool
	must(t, a.QueryRow("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").Scan(&superuser))
	if superuser && os.Getenv("TEST_DATABASE_URL") == "" {
		t.Error("the role of the tests is a superuser")
	}

	c, d := openRedis(t, Redis(t)), openRedis(t, Redis(t))
	must(t, c.Set(t.Context(), "key", 1, 0).Err())
	if err := d.Get(t.Context(), "key").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the other test's Redis: %v", err)
	}
}

func TestTheDatabaseIsDroppedWhenItsTestEnds(t *testing.T) {
	var address string
	t.Run("with a connection left open", func(t *testing.T) {
		address = Postgres(t)
		db, err := sql.Open("pgx", address)
		must(t, err)
		must(t, db.Ping())
	})
	err := openPostgres(t, address).Ping()
	if refusal, ok := errors.AsType[*pgconn.PgError](err); !ok || refusal.Code != "3D000" { // invalid_catalog_name
		t.Errorf("the database is still there: %v", err)
	}
}

func TestServersOfTheEnvironmentAreUsed(t *testing.T) {
	t.Setenv("TEST_DATABASE_URL", StartPostgres(t).URL)
	if got, want := hostOf(t, Postgres(t)), hostOf(t, os.Getenv("TEST_DATABASE_URL")); got != want {
		t.Errorf("the database is on %s, want %s", got, want)
	}
	t.Setenv("TEST_REDIS_URL", StartRedis(t).URL)
	t.Setenv("TMPDIR", t.TempDir()) // of the locks
	if got, want := hostOf(t, Redis(t)), hostOf(t, os.Getenv("TEST_REDIS_URL")); got != want {
		t.Errorf("the database is on %s, want %s", got, want)
	}
}

func TestRedisDatabasesAreExclusiveAndDatabasesWithDataUnchanged(t *testing.T) {
	base := StartRedis(t).URL
	t.Setenv("TMPDIR", t.TempDir()) // of the locks
	owners := openRedis(t, base)
	must(t, owners.Set(t.Context(), "precious", 1, 0).Err())
	acquired := make(chan string, 1)
	t.Run("fifteen databases in use and one test that waits", func(holder *testing.T) {
		seen := map[string]bool{}
		for range 15 {
			address := acquireDatabase(holder, base)
			seen[address] = true
			must(holder, openRedis(holder, address).Set(holder.Context(), "mine", 1, 0).Err())
		}
		if len(seen) != 15 || seen[base] {
			holder.Errorf("acquired: %v", seen)
		}
		go func() { acquired <- acquireDatabase(t, base) }()
		select {
		case address := <-acquired:
			holder.Errorf("%s was acquired twice", address)
		case <-time.After(100 * time.Millisecond):
		}
	})
	if keys, err := openRedis(t, <-acquired).DBSize(t.Context()).Result(); err != nil || keys != 0 {
		t.Errorf("acquired with %d keys, %v", keys, err)
	}
	space, err := owners.Info(t.Context(), "keyspace").Result()
	must(t, err)
	if !strings.Contains(space, "db0:keys=1,") || strings.Count(space, "keys=") != 1 {
		t.Errorf("left behind: %s", space)
	}
}

func TestTheErrorSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := find(func() string { return "" }, redisImage, "redis-server", "TEST_REDIS_URL")
	if err == nil {
		t.Fatal("found a server on an empty PATH")
	}
	for _, word := range []string{"apt-get install postgresql redis-server", "Docker", "TEST_REDIS_URL"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not name %s: %v", word, err)
		}
	}
}

func openPostgres(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openRedis(t *testing.T, address string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	options.ReadTimeout, options.MaxRetries = -1, -1
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func eventually(t *testing.T, holds func() error) {
	t.Helper()
	err := holds()
	for end := time.Now().Add(startTimeout); err != nil && time.Now().Before(end); err = holds() {
		time.Sleep(20 * time.Millisecond)
	}
	must(t, err)
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	return u.Host
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
