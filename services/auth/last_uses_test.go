package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/storetest"
)

func storedUse(t *testing.T, h *keyDatabase, id string) int64 {
	t.Helper()
	keys, err := h.Store.AllKeys(t.Context(), models.KeyFilter{UserID: "ada"}, models.Page{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if key.ID == id {
			return key.LastUsedAt
		}
	}
	t.Fatal("no such key")
	return 0
}

func TestLastUseIsListedAtOnceAndWrittenLater(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		key, text := createKey(t, k, "ada")
		idle, _ := createKey(t, k, "ada")
		before := time.Now().UnixMicro()
		if !keyOpens(k, text) {
			t.Fatal("a new key opens nothing")
		}
		keys, err := k.Find(t.Context(), models.KeyFilter{UserID: "ada"})
		if err != nil || keys[0].ID != idle.ID || keys[0].LastUsedAt != 0 || keys[1].LastUsedAt < before {
			t.Fatalf("%+v %v", keys, err)
		}
		if at := storedUse(t, h, key.ID); at != 0 {
			t.Errorf("a request wrote to the database: %d", at)
		}
		if err := k.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if at := storedUse(t, h, key.ID); at != keys[1].LastUsedAt || storedUse(t, h, idle.ID) != 0 {
			t.Errorf("%d was written, not %d", at, keys[1].LastUsedAt)
		}
	})
}

func TestUsesAreFlushedWhileRunningAndAtTheEnd(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		k.flushEvery = 10 * time.Millisecond
		stop := runKeys(t, k)
		key, text := createKey(t, k, "ada")
		if !keyOpens(k, text) {
			t.Fatal("a new key opens nothing")
		}
		storetest.Until(t, "written", func() bool { return storedUse(t, h, key.ID) != 0 })
		stop()

		k = h.keyReplica() // which flushes every ten seconds
		stop = runKeys(t, k)
		before := time.Now().UnixMicro()
		if !keyOpens(k, text) {
			t.Fatal("refused after a restart")
		}
		stop()
		if at := storedUse(t, h, key.ID); at < before {
			t.Errorf("the last use was lost: %d", at)
		}
	})
}

func TestUsesOfManyKeysOnReplicasThatFlushTogether(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		const keys = 60
		replicas := []*Keys{h.keyReplica(), h.keyReplica(), h.keyReplica()}
		var ids []string
		for range keys {
			key, text := createKey(t, replicas[0], "ada")
			ids = append(ids, key.ID)
			for _, k := range replicas {
				if !keyOpens(k, text) {
					t.Fatal("a new key opens nothing")
				}
			}
		}
		for range 10 {
			var all sync.WaitGroup
			for _, k := range replicas {
				k.uses.mu.Lock()
				for _, use := range k.uses.byID {
					use.at.Store(time.Now().UnixMicro())
				}
				k.uses.mu.Unlock()
				all.Go(func() {
					err := k.flush(t.Context())
					for tries := 0; errors.Is(err, context.DeadlineExceeded) && tries < 5; tries++ {
						err = k.flush(t.Context()) // a statement may take longer on a slow machine; a deadlock is another error
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		for _, id := range ids {
			if storedUse(t, h, id) == 0 {
				t.Error("a use was lost")
			}
		}
	})
}

func TestUsesThatCouldNotBeWrittenAreKept(t *testing.T) {
	h := sqliteKeys(t)
	k := h.keyReplica()
	key, text := createKey(t, k, "ada")
	if !keyOpens(k, text) {
		t.Fatal("a new key opens nothing")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.flush(gone); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := k.flush(t.Context()); err != nil || storedUse(t, h, key.ID) == 0 {
		t.Errorf("lost: %v", err)
	}
}

func TestUsesOfKeysLongIdleAreForgotten(t *testing.T) {
	h := sqliteKeys(t)
	at := time.Now()
	var mu sync.Mutex
	k := NewKeys(KeyOptions{Store: h.Store, Log: slog.New(slog.DiscardHandler), Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return at
	}})
	later := func(d time.Duration) { mu.Lock(); at = at.Add(d); mu.Unlock() }
	_, text := createKey(t, k, "ada")
	if !keyOpens(k, text) {
		t.Fatal("a new key opens nothing")
	}
	later(2 * keyIdleTTL)
	if ids := k.uses.unwritten(k.now()); len(ids) != 1 {
		t.Errorf("a use that is not written yet was forgotten: %v", ids)
	}
	for range 2 {
		if err := k.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(k.uses.byID); n != 0 {
		t.Errorf("%d uses are remembered", n)
	}
	if !keyOpens(k, text) || len(k.uses.unwritten(k.now())) != 1 {
		t.Error("a use after a pause is not noted")
	}
}

func TestUsesOfARevokedKeyAreIgnored(t *testing.T) {
	h := sqliteKeys(t)
	k := h.keyReplica()
	key, text := createKey(t, k, "ada")
	if !keyOpens(k, text) {
		t.Fatal("a new key opens nothing")
	}
	if err := k.Revoke(t.Context(), "ada", key.ID); err != nil {
		t.Fatal(err)
	}
	if err := k.flush(t.Context()); err != nil {
		t.Error(err)
	}
	holder, err := h.Store.KeyByHash(t.Context(), key.Hash)
	if err != nil || holder.RevokedAt == 0 {
		t.Errorf("%+v %v", holder, err)
	}
}
