package auth

import (
	"context"
	crand "crypto/rand"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/internal/panics"
	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/storetest"
)

// countKeyQueries counts the queries of look-ups, and the most at once.
type countKeyQueries struct {
	total, now, most atomic.Int64
	delay            time.Duration
}

func (c *countKeyQueries) watch(k *Keys) {
	ask := k.keyByHash
	k.keyByHash = func(ctx context.Context, hash string) (*models.KeyWithOwners, error) {
		c.total.Add(1)
		for n := c.now.Add(1); ; {
			most := c.most.Load()
			if n <= most || c.most.CompareAndSwap(most, n) {
				break
			}
		}
		defer c.now.Add(-1)
		if c.delay > 0 {
			time.Sleep(c.delay)
		}
		return ask(ctx, hash)
	}
}

func TestEveryInvalidKeyGetsTheSameAnswer(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		key, revoked := createKey(t, k, "ada")
		_, disabled := createKey(t, k, "bob")
		if err := k.Revoke(t.Context(), "ada", key.ID); err != nil {
			t.Fatal(err)
		}
		h.Query(t, "UPDATE users SET disabled_at = 1 WHERE id = 'bob'")
		for _, text := range []string{"sk-proj-x", "sk-ant-api03-x", "AIzaSy-x"} {
			if _, err := k.Authenticate(t.Context(), text); err == nil || api.AsError(err).Status != http.StatusUnauthorized ||
				!strings.Contains(err.Error(), "this is not a key of this gateway, whose keys begin with mgw_") {
				t.Errorf("%s: %v", text, err)
			}
		}
		want := body(t, invalidKey())
		for name, text := range map[string]string{
			"unknown": newKey(), "revoked": revoked, "disabled": disabled, "malformed": "mgw_x", "mistyped": revoked[:keyLength-1] + "_", "empty": "",
		} {
			for range 2 { // from the database, and from memory
				_, err := k.Authenticate(t.Context(), text)
				if e := api.AsError(err); err == nil || e.Status != http.StatusUnauthorized || e.Type != api.TypeAuthentication ||
					e.Code != api.CodeInvalidAPIKey ||
					body(t, err) != want {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func TestAKeyOfADisabledUserIsRejectedWithinASecond(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		_, text := createKey(t, k, "ada")
		storetest.Until(t, "open", func() bool { return keyOpens(k, text) })
		h.Query(t, "UPDATE users SET disabled_at = 1 WHERE id = 'ada'")
		disabled, machine := time.Now(), longtest.Lateness(t)
		storetest.Until(t, "refused", func() bool { return !keyOpens(k, text) })
		if late := time.Since(disabled); late > time.Second+slack+machine() {
			t.Errorf("open for %v", late)
		}
		h.Query(t, "UPDATE users SET disabled_at = 0 WHERE id = 'ada'")
		storetest.Until(t, "open again", func() bool { return keyOpens(k, text) })
		h.Query(t, "DELETE FROM users WHERE id = 'ada'")
		deleted := time.Now()
		machine = longtest.Lateness(t)
		storetest.Until(t, "refused", func() bool { return !keyOpens(k, text) })
		if late := time.Since(deleted); late > time.Second+slack+machine() {
			t.Errorf("open for %v after its user was deleted", late)
		}
	})
}

func TestAFloodOfUnknownKeysRunsFewQueries(t *testing.T) {
	flood := map[string]func() string{"ours": newKey, "of LiteLLM": func() string { return "sk-" + crand.Text() }}
	for kind, unknown := range flood {
		t.Run(kind, func(t *testing.T) { testFlood(t, unknown) })
	}
}

func testFlood(t *testing.T, unknown func() string) {
	t.Helper()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		h.takeOver(t, "sk-some-other-key-of-LiteLLM", "ada")
		k := h.keyReplica()
		runKeys(t, k)
		_, text := createKey(t, k, "ada")
		if !keyOpens(k, text) {
			t.Fatal("a new key opens nothing")
		}
		var load countKeyQueries
		load.watch(k)
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		var flood sync.WaitGroup
		var thrown atomic.Int64
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		flood.Go(func() {
			for ctx.Err() == nil {
				<-tick.C
				for range 2 { // 2,000 different ones a second
					flood.Go(func() { thrown.Add(1); _, _ = k.Authenticate(ctx, unknown()) })
				}
			}
		})
		var waits []time.Duration
		for ctx.Err() == nil {
			began := time.Now()
			if _, err := k.Authenticate(t.Context(), text); err != nil {
				t.Errorf("a good key under the flood: %v", err)
			}
			waits = append(waits, time.Since(began))
			time.Sleep(time.Millisecond)
		}
		flood.Wait()
		slices.Sort(waits)
		t.Logf("%d unknown keys, %d queries, at most %d at once; good key: median %v, p99 %v, worst %v",
			thrown.Load(), load.total.Load(), load.most.Load(), median(waits), waits[len(waits)*99/100], waits[len(waits)-1])
		if most := load.most.Load(); most > unknownLookups+1 { // the good key asks too
			t.Errorf("%d queries at once", most)
		}
		if good, refused := cachedCount(k); refused > cachedRejected || good != 1 {
			t.Errorf("%d good and %d rejected keys in the cache", good, refused)
		}
	})
}

func TestOneUnknownKeyIsQueriedOnceASecond(t *testing.T) {
	h := sqliteKeys(t)
	h.takeOver(t, "sk-some-other-key-of-LiteLLM", "ada")
	for _, text := range []string{newKey(), "sk-unknown-key-of-LiteLLM"} {
		k := h.keyReplica()
		var load countKeyQueries
		load.watch(k)
		began, tries := time.Now(), 0
		for ; time.Since(began) < 2*time.Second; tries++ {
			if _, err := k.Authenticate(t.Context(), text); !refusedKey(err) {
				t.Fatal(err)
			}
		}
		if n := load.total.Load(); n == 0 || n > 3 {
			t.Errorf("%s: %d queries for %d tries", text, n, tries)
		}
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	k := sqliteKeys(t).keyReplica()
	drawn := rand.NewChaCha8([32]byte{})
	add := func(e *cacheEntry) {
		var d digest
		_, _ = drawn.Read(d[:])
		k.cache.finish(d, k.cache.begin(d), e)
	}
	now := time.Now()
	for range 2 * cachedRejected {
		add(&cacheEntry{queriedAt: now})
	}
	for range cachedKeys * 5 / 4 {
		add(&cacheEntry{queriedAt: now, caller: &Caller{}})
	}
	good, refused := cachedCount(k)
	if good > cachedKeys || refused > cachedRejected || good < cachedKeys/2 || refused < cachedRejected/2 {
		t.Errorf("%d good and %d rejected keys in the cache", good, refused)
	}
	k.cache.sweep(now.Add(keyIdleTTL + time.Second))
	if good, refused := cachedCount(k); good+refused != 0 {
		t.Errorf("%d good and %d rejected keys in the cache a minute later", good, refused)
	}
}

func cachedCount(k *Keys) (valid, rejected int) {
	return k.cache.valid.Len(), k.cache.rejected.Len()
}

func TestAnUnknownKeyThatIsAddedWorksWithinASecond(t *testing.T) {
	h := sqliteKeys(t)
	k, other := h.keyReplica(), h.keyReplica()
	_, text := createKey(t, k, "ada")
	h.Query(t, "UPDATE api_keys SET hash = '%' || hash")
	if keyOpens(other, text) {
		t.Fatal("open without its row")
	}
	h.Query(t, "UPDATE api_keys SET hash = substr(hash, 2)")
	appeared, machine := time.Now(), longtest.Lateness(t)
	storetest.Until(t, "open", func() bool { return keyOpens(other, text) })
	if late := time.Since(appeared); late > time.Second+slack+machine() {
		t.Errorf("hidden for %v", late)
	}
}

func TestRequestsAtTheSameTimeShareOneLookUp(t *testing.T) {
	k := sqliteKeys(t).keyReplica()
	_, text := createKey(t, k, "ada")
	load := countKeyQueries{delay: 50 * time.Millisecond}
	load.watch(k)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if !keyOpens(k, text) {
				t.Error("refused")
			}
		})
	}
	all.Wait()
	if n := load.total.Load(); n != 1 {
		t.Errorf("%d queries", n)
	}
}

func TestACallerThatHangsUpDoesNotEndTheLookUpOfOthers(t *testing.T) {
	k := sqliteKeys(t).keyReplica()
	_, text := createKey(t, k, "ada")
	asked, release := make(chan struct{}), make(chan struct{})
	ask := k.keyByHash
	k.keyByHash = func(ctx context.Context, hash string) (*models.KeyWithOwners, error) {
		close(asked)
		<-release
		return ask(ctx, hash)
	}
	gone, hangUp := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _, _ = k.Authenticate(gone, text) })
	<-asked
	all.Go(func() {
		if !keyOpens(k, text) {
			t.Error("rejected because another caller hung up")
		}
	})
	impatient, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began, late := time.Now(), longtest.Lateness(t)
	if _, err := k.Authenticate(impatient, text); api.AsError(err).Status != http.StatusServiceUnavailable {
		t.Errorf("a caller that timed out got %v", err)
	}
	if waited := time.Since(began); waited > 500*time.Millisecond+late() {
		t.Errorf("waited %v", waited)
	}
	hangUp()
	close(release)
	all.Wait()
}

func TestAPanicInALookUpEndsTheWaitOfAllCallers(t *testing.T) {
	k := sqliteKeys(t).keyReplica()
	_, text := createKey(t, k, "ada")
	ask := k.keyByHash
	began, joined := make(chan struct{}), make(chan struct{})
	k.keyByHash = func(context.Context, string) (*models.KeyWithOwners, error) {
		close(began)
		<-joined
		panic("driver")
	}
	var all sync.WaitGroup
	all.Go(func() {
		defer func() {
			if v := recover(); v == nil || !strings.Contains(panics.Stack(v), "(*Keys).query") || strings.Contains(panics.Text(v), "driver") {
				t.Errorf("the caller that queried got the panic %v", v)
			}
		}()
		_, _ = k.Authenticate(t.Context(), text)
	})
	<-began
	d := keyDigest(text)
	result := k.cache.group.DoChan(string(d[:]), func() (any, error) { return k.load(t.Context(), d, ownKey) })
	close(joined)
	all.Wait()
	if r := <-result; r.Err == nil || !r.Shared {
		t.Errorf("the caller that joined got %v; shared %v", r.Err, r.Shared)
	}
	if !k.unknown.TryAcquire(unknownLookups) {
		t.Error("a look-up still holds the semaphore")
	}
	k.unknown.Release(unknownLookups)
	k.keyByHash = ask
	if !keyOpens(k, text) || len(k.cache.running) != 0 {
		t.Errorf("the key is rejected afterwards, or %d look-ups still run", len(k.cache.running))
	}
}
