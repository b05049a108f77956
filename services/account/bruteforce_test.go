package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/models/api"
)

func TestTenFailuresAMinuteAreAllowed(t *testing.T) {
	c := &clock{november}
	f := newFailures(c.now)
	for i := range 10 {
		if err := f.check("a@x.com"); err != nil {
			t.Fatalf("after %d failures: %v", i, err)
		}
		f.add("a@x.com")
		c.at = c.at.Add(2 * time.Second)
	}
	expectWait(t, f.check("a@x.com"), 40)
	if err := f.check("b@x.com"); err != nil {
		t.Errorf("another account: %v", err)
	}
	c.at = november.Add(failureWindow - 900*time.Millisecond)
	expectWait(t, f.check("a@x.com"), 1)
	c.at = november.Add(failureWindow)
	if err := f.check("a@x.com"); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	f.add("a@x.com") // the window slides: nine others are younger than a minute
	expectWait(t, f.check("a@x.com"), 2)
	f.clear("a@x.com")
	if err := f.check("a@x.com"); err != nil {
		t.Errorf("after a success: %v", err)
	}
	for range 10 {
		f.add("a@x.com")
	}
	expectWait(t, f.check("a@x.com"), 60)
}

func expectWait(t *testing.T, err error, seconds int64) {
	t.Helper()
	unit := "seconds"
	if seconds == 1 {
		unit = "second"
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != 429 || e.Type != api.TypeRateLimit || e.Code != api.CodeRateLimitExceeded ||
		e.RetryAfterSeconds() != seconds || !strings.Contains(e.Message, fmt.Sprintf("in %d %s", seconds, unit)) {
		t.Errorf("want a wait of %d seconds, not %v", seconds, err)
	}
}

func TestTheCountOfFailuresIsBounded(t *testing.T) {
	c := &clock{november}
	f := newFailures(c.now)
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
		for range crowd {
			all.Go(func() {
				start := time.Now()
				leave, err := q.join()
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

func expectFull(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != 503 || e.Type != api.TypeAPI || e.Code != api.CodeServiceUnavailable || !e.ShouldRetry() ||
		e.RetryAfterSeconds() != 2 || !strings.Contains(e.Message, "in 2 seconds") {
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
