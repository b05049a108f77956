package auth

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

func overlap(seconds int64) api.KeyRotation { return api.KeyRotation{OverlapSeconds: &seconds} }

func rotateKey(t testing.TB, k *Keys, id string, seconds int64) (*models.Key, string) {
	t.Helper()
	key, text, err := k.Rotate(t.Context(), "ada", id, overlap(seconds))
	if err != nil {
		t.Fatal(err)
	}
	return key, text
}

func TestBothSecretsOfARotatedKeyWorkUntilTheOverlapEnds(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		c := &clock{november.Add(time.Millisecond)}
		at := func() *Keys {
			return NewKeys(KeyOptions{Store: h.Store, Log: slog.New(slog.DiscardHandler), Now: c.now})
		}
		here, there := at(), at()
		before, old := createKey(t, here, "ada")
		key, text := rotateKey(t, here, before.ID, 60)
		want := *before
		want.Hash, want.Prefix, want.PreviousHash, want.PreviousExpiresAt = key.Hash, text[:keyShown], before.Hash, november.Add(61*time.Second).UnixMicro()
		if *key != want || text == old {
			t.Errorf("%+v, not %+v", key, want)
		}
		for _, k := range []*Keys{here, there} {
			for _, secret := range []string{old, text} {
				if got, err := k.Authenticate(t.Context(), secret); err != nil || got.KeyID != before.ID {
					t.Errorf("during the overlap: %+v, %v", got, err)
				}
			}
		}
		c.at = november.Add(61*time.Second - time.Microsecond)
		if !keyOpens(here, old) || !keyOpens(there, old) {
			t.Error("the former secret ended early")
		}
		c.at = c.at.Add(time.Microsecond) // the entries are a microsecond old
		for _, k := range []*Keys{here, there, at()} {
			if _, err := k.Authenticate(t.Context(), old); !refusedKey(err) {
				t.Errorf("after the overlap: %v", err)
			}
			if !keyOpens(k, text) {
				t.Error("the new secret ended as well")
			}
		}
		if _, next := rotateKey(t, here, key.ID, 0); keyOpens(here, old) || keyOpens(here, text) || !keyOpens(here, next) {
			t.Error("another rotation, without an overlap, left the wrong secrets")
		}
	})
}

func TestARotationIsRefusedWhileTheFormerSecretIsValid(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		key, old := createKey(t, k, "ada")
		var done atomic.Int64
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				switch _, _, err := k.Rotate(t.Context(), "ada", key.ID, api.KeyRotation{}); {
				case err == nil:
					done.Add(1)
				case code(err) != api.CodeRotationRunning:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if done.Load() != 1 || !keyOpens(k, old) {
			t.Errorf("%d rotations at once, the first secret opens: %t", done.Load(), keyOpens(k, old))
		}
		states, err := k.Find(t.Context(), models.KeyFilter{UserID: "ada"})
		day := time.Now().Add(usualOverlap * time.Second)
		if err != nil || len(states) != 1 || day.Sub(time.UnixMicro(states[0].previousEnd())).Abs() > 30*time.Second {
			t.Errorf("%+v, %v", states, err)
		}
	})
}

func TestRevokingARotatedKeyEndsBothSecrets(t *testing.T) {
	t.Parallel()
	h, address := sqliteKeys(t), servertest.Redis(t)
	here, there := h.connected(dialRedis(t, address)), h.connected(dialRedis(t, address))
	// A clock that stands still keeps every entry fresh: only an invalidation removes one.
	still := time.Now().Add(30 * time.Second)
	there.now = func() time.Time { return still }
	runKeys(t, there)
	awaitSubscribers(t, there, 1)
	key, old := createKey(t, here, "ada")
	_, text := rotateKey(t, here, key.ID, 60)
	if !keyOpens(there, old) || !keyOpens(there, text) || !keyOpens(here, old) || !keyOpens(here, text) {
		t.Fatal("a secret does not work")
	}
	if err := here.Revoke(t.Context(), "ada", key.ID); err != nil {
		t.Fatal(err)
	}
	if keyOpens(here, old) || keyOpens(here, text) {
		t.Error("open where it was revoked")
	}
	storetest.Until(t, "both are refused elsewhere", func() bool { return !keyOpens(there, old) && !keyOpens(there, text) })
	other, formerly := createKey(t, here, "ada")
	if !keyOpens(there, formerly) {
		t.Fatal("a new key opens nothing")
	}
	rotateKey(t, here, other.ID, 0)
	storetest.Until(t, "a secret without overlap is refused elsewhere", func() bool { return !keyOpens(there, formerly) })
}

func TestRotationsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		key, text := createKey(t, k, "ada")
		for _, seconds := range []int64{-1, longestOverlap + 1} {
			if _, _, err := k.Rotate(t.Context(), "ada", key.ID, overlap(seconds)); code(err) != api.CodeInvalidValue {
				t.Errorf("%d s: %v", seconds, err)
			}
		}
		if _, _, err := k.Rotate(t.Context(), "bob", key.ID, overlap(0)); !isNoKey(err) {
			t.Errorf("another user's: %v", err)
		}
		for _, id := range []string{"", "key_", "key_NOSUCHKEY", "key_\x00"} {
			if _, _, err := k.Rotate(t.Context(), "ada", id, overlap(0)); !isNoKey(err) {
				t.Errorf("%q: %v", id, err)
			}
		}
		if !keyOpens(k, text) {
			t.Error("a refused rotation ended the key")
		}
	})
}
