package auth

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// keyDatabase is a database on which any number of replicas hold keys.
type keyDatabase struct{ *storetest.Database }

// eachKeyDatabase runs a test on both kinds of storage.
func eachKeyDatabase(t *testing.T, test func(t *testing.T, h *keyDatabase)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		t.Parallel()
		test(t, &keyDatabase{d})
	})
}

func sqliteKeys(t testing.TB) *keyDatabase {
	t.Helper()
	return &keyDatabase{storetest.SQLite(t)}
}

func postgresKeys(t testing.TB, address string) *keyDatabase {
	t.Helper()
	return &keyDatabase{storetest.Postgres(t, address)}
}

// keyReplica is a replica of the gateway without Redis, whose Run is not
// running.
func (h *keyDatabase) keyReplica() *Keys { return h.connected(nil) }

func (h *keyDatabase) connected(client models.Redis) *Keys {
	return NewKeys(KeyOptions{Store: h.Store, Redis: client, Log: slog.New(slog.DiscardHandler), Now: time.Now})
}

// stopped is a replica that runs with a clock that stands still, which keeps every entry fresh: only an
// invalidation removes one.
func (h *keyDatabase) stopped(t *testing.T, redis string) *Keys {
	t.Helper()
	still := time.Now()
	there := NewKeys(KeyOptions{
		Store: h.Store, Redis: dialRedis(t, redis), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return still },
	})
	runKeys(t, there)
	awaitSubscribers(t, there, 1)
	return there
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

func dialRedis(t testing.TB, address string) models.Redis {
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
	random := text[len(keyPrefix):keyBody]
	for _, v := range values {
		if strings.Contains(v, random) {
			return true
		}
	}
	return false
}
