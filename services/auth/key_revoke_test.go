package auth

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

func isNoKey(err error) bool {
	e := api.AsError(err)
	return err != nil && e.Status == http.StatusNotFound && e.Type == api.TypeInvalidRequest && e.Code == api.CodeKeyNotFound
}

func TestAnotherUsersKeyIsNotFoundAndStillWorks(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		key, text := createKey(t, k, "ada")
		if err := k.Revoke(t.Context(), "bob", key.ID); !isNoKey(err) {
			t.Error(err)
		}
		if !keyOpens(k, text) || !keyOpens(h.keyReplica(), text) {
			t.Error("another user revoked the key")
		}
		theirs := body(t, k.Revoke(t.Context(), "bob", key.ID))
		for _, id := range []string{
			"", "key_", "key_NOSUCHKEY", key.ID + "x", strings.ToLower(key.ID), "key_\x00", "key_" + strings.Repeat("A", 10_000), "key_' OR '1'='1", "key_é", key.Hash, text,
		} {
			if err := k.Revoke(t.Context(), "bob", id); !isNoKey(err) || body(t, err) != theirs {
				t.Errorf("%.40q: %v", id, err)
			}
		}
	})
}

func TestRevokingTwiceIsNotFound(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		key, text := createKey(t, k, "ada")
		if !keyOpens(k, text) {
			t.Fatal("a new key opens nothing")
		}
		var done, none atomic.Int64
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				switch err := k.Revoke(t.Context(), "ada", key.ID); {
				case err == nil:
					done.Add(1)
					if keyOpens(k, text) {
						t.Error("open after it was revoked")
					}
				case isNoKey(err):
					none.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if done.Load() != 1 || none.Load() != 19 {
			t.Errorf("%d revoked it, %d did not find it", done.Load(), none.Load())
		}
		if keys, err := k.Find(t.Context(), models.KeyFilter{UserID: "ada"}); err != nil || len(keys) != 0 {
			t.Errorf("%v %v", keys, err)
		}
		if keyOpens(h.keyReplica(), text) {
			t.Error("open after a restart")
		}
	})
}

// Callers authenticate with each key in a loop while it is revoked. A call that
// begins after the revocation is rejected.
func TestARevokedKeyIsRejectedAtOnceInTheSameProcess(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		runKeys(t, k)
		for range 40 {
			key, text := createKey(t, k, "ada")
			var revoked atomic.Bool
			var stop atomic.Bool
			var after atomic.Int64 // tries
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for !stop.Load() {
						late := revoked.Load()
						if keyOpens(k, text) && late {
							t.Error("open after it was revoked")
							return
						}
						if late {
							after.Add(1)
						}
						if rand.IntN(20) == 0 { // as if its TTL were over
							k.cache.invalidate(keyDigest(text))
						}
					}
				})
			}
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			if err := k.Revoke(t.Context(), "ada", key.ID); err != nil {
				t.Error(err)
			}
			revoked.Store(true)
			storetest.Until(t, "tried after it was revoked", func() bool { return t.Failed() || after.Load() > 100 })
			stop.Store(true)
			all.Wait()
		}
	})
}

// The answer of a look-up was read before the revocation, and arrives after it.
func TestARunningLookUpDoesNotCacheARevokedKey(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		for name, revoke := range map[string]func(k *Keys, key *models.Key) error{
			"here":      func(k *Keys, key *models.Key) error { return k.Revoke(t.Context(), "ada", key.ID) },
			"elsewhere": func(k *Keys, key *models.Key) error { return revokeElsewhere(t, h, k, key) },
		} {
			t.Run(name, func(t *testing.T) {
				k := h.keyReplica()
				key, text := createKey(t, k, "ada")
				read, release := make(chan struct{}), make(chan struct{})
				ask := k.keyByHash
				var asked atomic.Int64
				k.keyByHash = func(ctx context.Context, hash string) (*models.KeyWithOwners, error) {
					holder, err := ask(ctx, hash)
					if asked.Add(1) == 1 {
						close(read)
						<-release
					}
					return holder, err
				}
				var early sync.WaitGroup
				early.Go(func() { _, _ = k.Authenticate(t.Context(), text) })
				<-read
				if err := revoke(k, key); err != nil {
					t.Fatal(err)
				}
				if keyOpens(k, text) {
					t.Error("open while an old look-up is on its way")
				}
				close(release)
				early.Wait()
				if keyOpens(k, text) {
					t.Error("an old look-up put the key back")
				}
			})
		}
	})
}

// revokeElsewhere revokes on another replica and sends k the invalidation.
func revokeElsewhere(t *testing.T, h *keyDatabase, k *Keys, key *models.Key) error {
	err := h.keyReplica().Revoke(t.Context(), "ada", key.ID)
	k.onInvalidation(key.Hash)
	return err
}

func TestAMalformedInvalidationIsIgnored(t *testing.T) {
	k := sqliteKeys(t).keyReplica()
	_, text := createKey(t, k, "ada")
	for _, nonsense := range []string{"", "x", strings.Repeat("z", 64), strings.Repeat("a", 63), strings.Repeat("é", 32), strings.Repeat("a", 1<<16)} {
		k.onInvalidation(nonsense)
	}
	if !keyOpens(k, text) {
		t.Error("refused")
	}
}
