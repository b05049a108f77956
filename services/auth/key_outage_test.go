package auth

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

func TestWithoutTheDatabaseCachedKeysWorkForTheirTTLAndNothingIs401(t *testing.T) {
	down := errors.New("connection refused")
	for _, polled := range []bool{false, true} {
		h := sqliteKeys(t)
		k := h.keyReplica()
		ask, revisions := k.keyByHash, NewRevisions(h.Store, time.Now)
		stored := revisions.stored
		var isDown atomic.Bool
		k.keyByHash = func(ctx context.Context, hash string) (*models.KeyWithOwners, error) {
			if isDown.Load() {
				return nil, down
			}
			return ask(ctx, hash)
		}
		revisions.stored = func(ctx context.Context) (int64, error) {
			if isDown.Load() {
				return 0, down
			}
			return stored(ctx)
		}
		if polled {
			k.cache.revisions = runRevisions(t, revisions)
		}
		runKeys(t, k)
		_, text := createKey(t, k, "ada")
		for began := time.Now(); time.Since(began) < 2*keyTTL; time.Sleep(time.Millisecond) {
			if !keyOpens(k, text) {
				t.Fatal("a good key is refused")
			}
		}
		began := time.Now()
		isDown.Store(true)
		if _, err := k.Authenticate(t.Context(), newKey()); api.AsError(err).Status != http.StatusServiceUnavailable ||
			!errors.Is(err, down) {
			t.Errorf("polled %v: an unknown key: %v", polled, err)
		}
		served := servedFor(t, k, text, began)
		least := time.Duration(0) // its answer may be about to end
		if polled {
			least = keyTTL - revisionInterval - 100*time.Millisecond
		}
		if served < least || served > time.Second {
			t.Errorf("polled %v: a known key was served for %v", polled, served)
		}
		isDown.Store(false)
		storetest.Until(t, "served again", func() bool { return keyOpens(k, text) })
	}
}

// servedFor is how long after began the last use of a key passed.
func servedFor(t *testing.T, k *Keys, text string, began time.Time) time.Duration {
	t.Helper()
	last := began
	storetest.Until(t, "not served any more", func() bool {
		now := time.Now()
		_, err := k.Authenticate(t.Context(), text)
		if err == nil {
			last = now
			return false
		}
		if e := api.AsError(err); e.Status != http.StatusServiceUnavailable || e.Code != api.CodeServiceUnavailable {
			t.Errorf("%v", err)
		}
		return true
	})
	return last.Sub(began)
}

func TestKeysWhenPostgresIsStoppedKilledOrFrozen(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t)
	h := postgresKeys(t, server.URL)
	k := h.keyReplica()
	k.cache.revisions = runRevisions(t, NewRevisions(h.Store, time.Now))
	runKeys(t, k)
	key, text := createKey(t, k, "ada")
	for _, fault := range []struct {
		name      string
		begin, up func()
	}{{"stopped", server.Stop, server.Restart}, {"killed", server.Kill, server.Restart}, {"frozen", server.Freeze, server.Thaw}} {
		storetest.Until(t, "open", func() bool { return keyOpens(k, text) })
		fault.begin()
		began, worst, machine := time.Now(), time.Duration(0), longtest.Lateness(t)
		for end := began.Add(2500 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			asked := time.Now()
			_, err := k.Authenticate(t.Context(), text)
			worst = max(worst, time.Since(asked))
			if err != nil && api.AsError(err).Status != http.StatusServiceUnavailable {
				t.Errorf("%s: %v", fault.name, err)
			}
			if late := asked.Sub(began); err == nil && late > time.Second+slack+machine() {
				t.Errorf("%s: served after %v", fault.name, late)
			}
		}
		if worst > time.Second+slack+machine() {
			t.Errorf("%s: a request waited %v", fault.name, worst)
		}
		for what, err := range map[string]error{
			"create": func() error { _, _, err := k.Create(t.Context(), "ada", api.NewKey{Name: "n"}); return err }(),
			"list":   func() error { _, err := k.Find(t.Context(), models.KeyFilter{UserID: "ada"}); return err }(),
			"revoke": k.Revoke(t.Context(), "ada", key.ID),
		} {
			if err == nil || api.AsError(err).Status != http.StatusServiceUnavailable {
				t.Errorf("%s: %s: %v", fault.name, what, err)
			}
		}
		fault.up()
		back := time.Now()
		storetest.Until(t, "open again", func() bool { return keyOpens(k, text) })
		t.Logf("%s: a request waited at most %v; served %v after it was back", fault.name, worst, time.Since(back))
	}
}

func TestAnAnswerForAnotherKeyIsTheDatabasesFault(t *testing.T) {
	k := sqliteKeys(t).keyReplica()
	_, asked := createKey(t, k, "ada")
	_, other := createKey(t, k, "ada")
	ask := k.keyByHash
	k.keyByHash = func(ctx context.Context, _ string) (*models.KeyWithOwners, error) {
		d := keyDigest(other)
		return ask(ctx, hex.EncodeToString(d[:]))
	}
	if _, err := k.Authenticate(t.Context(), asked); api.AsError(err).Status != http.StatusServiceUnavailable ||
		!errors.Is(err, errOtherKey) {
		t.Errorf("%v", err)
	}
	k.keyByHash = ask
	if !keyOpens(k, asked) {
		t.Error("the fault was remembered")
	}
}
