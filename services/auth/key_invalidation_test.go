package auth

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), text)
}

// keyPair is two replicas with stores and Redis clients of their own, running.
func keyPair(t *testing.T, h *keyDatabase, redisURL string) (a, b *Keys, log *lines) {
	t.Helper()
	log = &lines{}
	make := func() *Keys {
		store := h.Open(t)
		o := KeyOptions{
			Store:     store,
			Log:       slog.New(slog.NewTextHandler(log, nil)),
			Now:       time.Now,
			Revisions: runRevisions(t, NewRevisions(store, time.Now)),
		}
		if redisURL != "" {
			o.Redis = dialRedis(t, redisURL)
		}
		k := NewKeys(o)
		runKeys(t, k)
		return k
	}
	a, b = make(), make()
	if redisURL != "" {
		awaitSubscribers(t, a, 2)
	}
	return a, b, log
}

func awaitSubscribers(t *testing.T, k *Keys, want int64) {
	t.Helper()
	storetest.Until(t, "subscribed", func() bool {
		n, err := k.redis.(*redis.Client).PubSubNumSub(t.Context(), invalidationChannel).Result()
		return err == nil && n[invalidationChannel] >= want
	})
}

// revocationDelays revokes keys on a while b authenticates them in a loop, and returns
// how long after Revoke had returned the last use passed, in order.
func revocationDelays(t *testing.T, a, b *Keys, tries int) []time.Duration {
	t.Helper()
	const atOnce = 25
	var mu sync.Mutex
	var delays []time.Duration
	for range tries / atOnce {
		var all sync.WaitGroup
		keys := make([]issuedKey, atOnce)
		for i := range keys { // before the database is busy with revoking
			keys[i].Key, keys[i].text = createKey(t, a, "ada")
		}
		for i := range keys {
			all.Go(func() {
				d := revocationDelay(t, a, b, keys[i])
				mu.Lock()
				delays = append(delays, d)
				mu.Unlock()
			})
		}
		all.Wait()
	}
	slices.Sort(delays)
	n := len(delays)
	t.Logf("%d revocations: median %v, p99 %v, worst %v", n, delays[n/2], delays[(n-1)*99/100], delays[n-1])
	return delays
}

type issuedKey struct {
	*models.Key
	text string
}

func revocationDelay(t *testing.T, a, b *Keys, k issuedKey) time.Duration {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var last time.Time
	var loop sync.WaitGroup
	used := make(chan struct{})
	loop.Go(func() {
		for first := true; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			if keyOpens(b, k.text) {
				last = time.Now()
				if first {
					close(used)
				}
				first = false
			}
		}
	})
	<-used
	err := a.Revoke(t.Context(), "ada", k.ID)
	for i := 0; i < 5 && err != nil && api.AsError(err).Status == 503; i++ { // the database was busy with the others
		err = a.Revoke(t.Context(), "ada", k.ID)
	}
	if err != nil {
		t.Error(err)
		return 0
	}
	revoked, late := time.Now(), longtest.Lateness(t)
	if keyOpens(a, k.text) {
		t.Error("open where it was revoked")
	}
	select { // it must not come back either
	case <-time.After(1100 * time.Millisecond):
	case <-t.Context().Done():
	}
	stop()
	loop.Wait()
	return max(0, last.Sub(revoked)-late())
}

func TestARevocationReachesReplicasWithoutRedisWithinASecond(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		a, b, _ := keyPair(t, h, "")
		if delays := revocationDelays(t, a, b, 50); delays[len(delays)-1] > time.Second+slack {
			t.Errorf("the last use passed %v later", delays[len(delays)-1])
		}
	})
}

func TestARevocationReachesReplicasWithRedisAtOnce(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		a, b, _ := keyPair(t, h, servertest.Redis(t))
		delays := revocationDelays(t, a, b, 100)
		// Without Redis half of them take longer than a quarter of a second. On a busy machine
		// some of the messages are late, and then the next poll finds the revocation.
		if most := delays[len(delays)*9/10]; most > 200*time.Millisecond || delays[len(delays)-1] > time.Second+slack {
			t.Errorf("9 in 10 within %v, all within %v", most, delays[len(delays)-1])
		}
	})
}

func TestARevocationReachesReplicasWhenRedisIsStoppedKilledOrFrozen(t *testing.T) {
	t.Parallel()
	h := postgresKeys(t, servertest.Postgres(t))
	server := servertest.StartRedis(t)
	a, b, log := keyPair(t, h, server.URL)
	for _, fault := range []struct {
		name      string
		tries     int
		begin, up func()
	}{
		{"stopped", 50, server.Stop, server.Restart},
		{"killed", 50, server.Kill, server.Restart},
		{"frozen", 50, server.Freeze, server.Thaw},
	} {
		t.Run(fault.name, func(t *testing.T) {
			fault.begin()
			key, text := createKey(t, a, "ada")
			if !keyOpens(a, text) || !keyOpens(b, text) {
				t.Error("refused for want of Redis")
			}
			began, late := time.Now(), longtest.Lateness(t)
			if err := a.Revoke(t.Context(), "ada", key.ID); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 500*time.Millisecond+late() {
				t.Errorf("revoking took %v", took)
			}
			if delays := revocationDelays(t, a, b, fault.tries); delays[len(delays)-1] > time.Second+slack {
				t.Errorf("the last use passed %v later", delays[len(delays)-1])
			}
			fault.up()
			back := time.Now()
			awaitSubscribers(t, a, 2)
			t.Logf("%v until both listened again", time.Since(back))
			if delays := revocationDelays(t, a, b, 50); delays[len(delays)*9/10] > 200*time.Millisecond {
				t.Errorf("with Redis back, 9 in 10 within %v", delays[len(delays)*9/10])
			}
		})
	}
	if n := log.count("no subscription to Redis"); n == 0 || n > 12 {
		t.Errorf("the log says %d times that the subscription is down", n)
	}
	if n := log.count("subscribed to Redis again"); n == 0 {
		t.Error("the log does not say that the subscription is up again")
	}
	if log.count(keyPrefix) > 0 {
		t.Error("the log holds a key")
	}
}

func TestKeysWorkWhenRedisIsDownAtTheStart(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	server.Stop()
	h := sqliteKeys(t)
	k := h.connected(dialRedis(t, server.URL))
	runKeys(t, k)
	_, text := createKey(t, k, "ada")
	if !keyOpens(k, text) {
		t.Error("refused for want of Redis")
	}
	server.Restart()
	awaitSubscribers(t, k, 1)
}

func TestNoGoroutineRunsAfterRunHasEnded(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		server := servertest.StartRedis(t)
		h := sqliteKeys(t)
		client := dialRedis(t, server.URL)
		k := h.connected(client)
		_, text := createKey(t, k, "ada")
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		late := longtest.Lateness(t)
		before := runtime.NumGoroutine()
		stop := runKeys(t, k)
		awaitSubscribers(t, k, 1)
		if !keyOpens(k, text) {
			t.Error("refused")
		}
		if frozen {
			server.Freeze()
		}
		began, lateBefore := time.Now(), late()
		stop()
		if took := time.Since(began); took > time.Second+slack+late()-lateBefore {
			t.Errorf("it took %v to end", took)
		}
		storetest.Until(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
	}
}
