package account

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

// testFailures counts in this process, or with Redis.
func testFailures(client models.Redis) (*failures, *clock) {
	c := &clock{november}
	return newFailures(client, c.now), c
}

func redisClient(t *testing.T, server *servertest.RedisServer) models.Redis {
	t.Helper()
	client, err := models.OpenRedis(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func (f *failures) addAll(t *testing.T, times int, a attempt) {
	t.Helper()
	for i := range times {
		if err := f.check(t.Context(), a); err != nil {
			t.Fatalf("after %d failures: %v", i, err)
		}
		f.add(t.Context(), a)
	}
}

func (f *failures) passes(t *testing.T, what string, a attempt) {
	t.Helper()
	if err := f.check(t.Context(), a); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func TestTenFailuresAMinuteAreAllowed(t *testing.T) {
	f, c := testFailures(nil)
	mine := attempt{"a@x.com", "192.0.2.1"}
	f.addAll(t, 1, mine)
	c.at = c.at.Add(20 * time.Second)
	f.addAll(t, 9, mine)
	expectWait(t, f.check(t.Context(), mine), 40)
	f.passes(t, "another account", attempt{"b@x.com", "192.0.2.1"})
	c.at = november.Add(failureWindow - 900*time.Millisecond)
	expectWait(t, f.check(t.Context(), mine), 1)
	c.at = november.Add(failureWindow)
	f.addAll(t, 10, mine)
	expectWait(t, f.check(t.Context(), mine), 60)
	f.succeeded(t.Context(), mine)
	f.passes(t, "after a success", mine)
}

func TestGuessesFromOneAddressDoNotLockOutOthers(t *testing.T) {
	f, _ := testFailures(nil)
	f.addAll(t, mostFailures, attempt{"a@x.com", "192.0.2.1"})
	f.passes(t, "another address", attempt{"a@x.com", "192.0.2.2"})
}

func TestGuessesFromManyAddressesLockOutUnknownOnes(t *testing.T) {
	for name, client := range map[string]models.Redis{"one process": nil, "Redis": redisClient(t, servertest.StartRedis(t))} {
		f, c := testFailures(client)
		at := func(i int) attempt { return attempt{"a@x.com", fmt.Sprint("192.0.2.", i)} }
		f.succeeded(t.Context(), at(200))
		for i := range mostAccountFailures / mostFailures {
			f.addAll(t, mostFailures, at(i))
		}
		expectWait(t, f.check(t.Context(), at(100)), 60)
		f.passes(t, name+": an address that has logged in", at(200))
		f.addAll(t, mostFailures, at(200))
		expectWait(t, f.check(t.Context(), at(200)), 60)
		c.at = c.at.Add(failureWindow)
		if client == nil {
			f.passes(t, "after the window", at(100))
		}
	}
}

func TestFailuresAreCountedForAllReplicas(t *testing.T) {
	server := servertest.StartRedis(t)
	one, _ := testFailures(redisClient(t, server))
	other, _ := testFailures(redisClient(t, server))
	mine := attempt{"a@x.com", "192.0.2.1"}
	for range mostFailures / 2 {
		one.addAll(t, 1, mine)
		other.addAll(t, 1, mine)
	}
	for name, f := range map[string]*failures{"one": one, "the other": other} {
		if err := f.check(t.Context(), mine); code(err) != api.CodeRateLimitExceeded {
			t.Errorf("%s replica: %v", name, err)
		}
	}
	one.succeeded(t.Context(), mine)
	other.passes(t, "a success on the other replica", mine)
	client := redisClient(t, server).(*redis.Client)
	for _, key := range client.Keys(t.Context(), "*").Val() {
		if strings.Contains(key, "x.com") || strings.Contains(key, "192.0.2") || client.TTL(t.Context(), key).Val() <= 0 {
			t.Errorf("Redis has %s", key)
		}
	}
	server.Freeze()
	defer server.Thaw()
	began, late := time.Now(), longtest.Lateness(t)
	for range 20 {
		other.addAll(t, 1, attempt{"b@x.com", fmt.Sprint(rand.Int())})
	}
	if took := time.Since(began); took > time.Second+late() {
		t.Errorf("without Redis it takes %s", took)
	}
}

func expectWait(t *testing.T, err error, seconds int64) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != 429 || e.Type != api.TypeRateLimit || e.Code != api.CodeRateLimitExceeded ||
		e.RetryAfterSeconds() != seconds || !strings.Contains(e.Message, fmt.Sprintf("try again in %ds", seconds)) {
		t.Errorf("want a wait of %d seconds, not %v", seconds, err)
	}
}

func TestTheCountOfFailuresIsBounded(t *testing.T) {
	c := &clock{november}
	f := newCounters(failureWindow, c.now)
	for i := range 3 * mostCounted {
		f.add(fmt.Sprint(i))
		if f.recent.Len() > mostCounted {
			t.Fatalf("%d entries after %d", f.recent.Len(), i)
		}
	}
	if n := f.recent.Len(); n < mostCounted/2 {
		t.Errorf("only %d are left", n)
	}
	c.at = c.at.Add(2 * failureWindow)
	for i := range mostCounted {
		f.add(fmt.Sprint("new", i))
	}
	for i := range mostCounted {
		if _, ok := f.recent.Get(fmt.Sprint("new", i)); !ok {
			t.Fatal("a live entry went before those that had ended")
		}
	}
}

func TestTwoHashSomeWaitAndTheRestIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, workers, crowd = 8, 2, 50
		q := newHashQueue(places, workers)
		var working, most, served, refused atomic.Int64
		var all sync.WaitGroup
		for i := range crowd {
			all.Go(func() {
				start := time.Now()
				leave, err := q.join(fmt.Sprint("192.0.2.", i))
				if err != nil {
					refused.Add(1)
					expectFull(t, err)
					if waited := time.Since(start); waited > 0 {
						t.Errorf("refused after %v", waited)
					}
					return
				}
				defer leave()
				done, err := q.acquire(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer done()
				for n := working.Add(1); n > most.Load(); n = working.Load() {
					most.Store(n)
				}
				time.Sleep(time.Second)
				working.Add(-1)
				served.Add(1)
			})
		}
		all.Wait()
		if most.Load() != workers || served.Load() != places || refused.Load() != crowd-places {
			t.Errorf("%d at once, %d served, %d refused", most.Load(), served.Load(), refused.Load())
		}
		if !q.places.TryAcquire(places) || !q.workers.TryAcquire(workers) {
			t.Error("a place or a worker was not released")
		}
	})
}

func TestOneNetworkHasAPartOfThePlaces(t *testing.T) {
	q := newHashQueue(8, 2)
	var leaves []func()
	for i := range 2 {
		leave, err := q.join(fmt.Sprintf("2001:db8:0:%d::/64", i))
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	_, err := q.join("2001:db8:0:9::/64")
	expectWait(t, err, 2)
	for _, other := range []string{"2001:db8:1::/64", "192.0.2.1", "192.0.2.2"} {
		leave, err := q.join(other)
		if err != nil {
			t.Errorf("%s: %v", other, err)
			continue
		}
		leave()
	}
	for _, leave := range leaves {
		leave()
	}
	if len(q.byNetwork) != 0 {
		t.Errorf("%v are still counted", q.byNetwork)
	}
	if _, err := q.join("2001:db8:0:9::/64"); err != nil {
		t.Error(err)
	}
}

func expectFull(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != 503 || e.Type != api.TypeAPI || e.Code != api.CodeServiceUnavailable || !e.ShouldRetry() ||
		e.RetryAfterSeconds() != 2 || !strings.Contains(e.Message, "try again in 2s") {
		t.Errorf("%v", err)
	}
}

func TestWaitingEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newHashQueue(2, 1)
		done, err := q.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err = q.acquire(ctx)
		if code(err) != api.CodeServiceUnavailable || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		done()
		if !q.workers.TryAcquire(1) {
			t.Error("a worker was not released")
		}
	})
}
