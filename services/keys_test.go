package services

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/redis/go-redis/v9"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/servertest"
)

// keyHouse is a database with two users, ada and bob, on which any number of
// replicas hold keys.
type keyHouse struct {
	store   *models.Store
	address string
	sqlName string // of the driver
	sqlDSN  string
}

// eachKeyHouse runs a test on both kinds of storage.
func eachKeyHouse(t *testing.T, test func(t *testing.T, h *keyHouse)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, sqliteKeyHouse(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, postgresKeyHouse(t, servertest.Postgres(t))) })
}

func sqliteKeyHouse(t testing.TB) *keyHouse {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gateway.db")
	h := &keyHouse{address: "sqlite:" + path, sqlName: "sqlite", sqlDSN: "file:" + path + "?_pragma=busy_timeout(5000)"}
	h.settle(t)
	return h
}

func postgresKeyHouse(t testing.TB, address string) *keyHouse {
	t.Helper()
	h := &keyHouse{address: address, sqlName: "pgx", sqlDSN: address}
	h.settle(t)
	return h
}

func (h *keyHouse) settle(t testing.TB) {
	t.Helper()
	h.store = h.open(t)
	if err := h.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ada", "bob"} {
		u := &models.User{ID: name, Email: name + "@example.com", Name: name, PasswordHash: "x", CreatedAt: 1}
		if err := h.store.CreateUser(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *keyHouse) open(t testing.TB) *models.Store {
	t.Helper()
	store, err := models.Open(h.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// query runs a statement behind the gateway's back and returns all it yields,
// as text.
func (h *keyHouse) query(t *testing.T, statement string) []string {
	t.Helper()
	db, err := sql.Open(h.sqlName, h.sqlDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			all = append(all, v.String)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// keyReplica is a replica of the gateway without Redis, whose Run is not
// running.
func (h *keyHouse) keyReplica() *Keys { return h.connected(nil) }

func (h *keyHouse) connected(client *redis.Client) *Keys {
	return NewKeys(KeyOptions{Store: h.store, Redis: client, Log: slog.New(slog.DiscardHandler), Now: time.Now})
}

// runKeys runs k until the test ends or the returned function is called, which
// waits for it.
func runKeys(t testing.TB, k *Keys) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { k.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

func dialRedis(t testing.TB, address string) *redis.Client {
	t.Helper()
	client, err := models.OpenRedis(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func createKey(t testing.TB, k *Keys, userID string) (*models.Key, string) {
	t.Helper()
	key, text, err := k.Create(t.Context(), userID, api.NewKey{Name: "a key"})
	if err != nil {
		t.Fatal(err)
	}
	return key, text
}

// until waits for a condition.
func keyUntil(t testing.TB, within time.Duration, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

func body(t testing.TB, err error) string {
	t.Helper()
	text, failure := json.Marshal(err)
	if failure != nil {
		t.Fatal(failure)
	}
	return string(text)
}

func refusedKey(err error) bool { return code(err) == "invalid_api_key" }

func keyOpens(k *Keys, text string) bool {
	_, err := k.Authenticate(context.Background(), text)
	return err == nil
}

func mentionsKey(values []string, text string) bool {
	random := text[len(keyMark):keyBody]
	for _, v := range values {
		if strings.Contains(v, random) {
			return true
		}
	}
	return false
}
