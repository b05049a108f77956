package login

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
)

// source gives numbered values of one hour, each after a while.
type source struct {
	asked atomic.Int64
	takes time.Duration
	fails atomic.Bool
}

var errRefused = errors.New("refused")

func (s *source) fetch(ctx context.Context) (string, time.Time, error) {
	n := s.asked.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return "", time.Time{}, ctx.Err()
	}
	if s.fails.Load() {
		return "", time.Time{}, errRefused
	}
	return fmt.Sprint(n), time.Now().Add(time.Hour), nil
}

// gets asks as many times at once, and returns the distinct answers.
func gets(ctx context.Context, r *renewing[string], times int) map[string]int {
	var wait sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	for range times {
		wait.Go(func() {
			value, err := r.get(ctx)
			if err != nil {
				value = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			got[value]++
		})
	}
	wait.Wait()
	return got
}

// expect has all calls get one answer after a time, and compares how often the source was asked.
func expect(t *testing.T, r *renewing[string], s *source, value string, after time.Duration, asked int64) {
	t.Helper()
	synctest.Wait()
	start := time.Now()
	if got := gets(t.Context(), r, 1000); got[value] != 1000 {
		t.Fatalf("got %v, want 1000 times %q", got, value)
	}
	if took := time.Since(start); took != after {
		t.Fatalf("the calls waited %v, want %v", took, after)
	}
	synctest.Wait()
	if n := s.asked.Load(); n != asked {
		t.Fatalf("the source was asked %d times, want %d", n, asked)
	}
}

func TestAThousandCallsWaitForOneRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{takes: 10 * time.Second}
		r := &renewing[string]{fetch: s.fetch}
		expect(t, r, s, "1", 10*time.Second, 1)

		time.Sleep(55*time.Minute - time.Second)
		expect(t, r, s, "1", 0, 1) // not due yet
		time.Sleep(time.Second)
		expect(t, r, s, "1", 0, 2) // due, and nobody waits
		time.Sleep(9 * time.Second)
		expect(t, r, s, "1", 0, 2) // in progress
		time.Sleep(time.Second)
		expect(t, r, s, "2", 0, 2)

		time.Sleep(2 * time.Hour) // unused: the value has ended
		expect(t, r, s, "3", 10*time.Second, 3)
	})
}

func TestAFailedRenewalFailsNoCallWhileTheOldValueIsValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := &renewing[string]{fetch: s.fetch}
		expect(t, r, s, "1", 0, 1)
		s.fails.Store(true)
		time.Sleep(55 * time.Minute)
		expect(t, r, s, "1", 0, 2)
		expect(t, r, s, "1", 0, 2) // not again for a second
		time.Sleep(time.Second)
		expect(t, r, s, "1", 0, 3)
		time.Sleep(5 * time.Minute) // over
		expect(t, r, s, "refused", 0, 4)
		expect(t, r, s, "refused", 0, 4) // not again for a second
		s.fails.Store(false)
		time.Sleep(time.Second)
		expect(t, r, s, "5", 0, 5)
	})
}

func TestTheCallThatStartedARenewalMayLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{takes: 10 * time.Second}
		r := &renewing[string]{fetch: s.fetch}
		first, leave := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("gone"))
		defer leave()
		if _, err := r.get(first); err == nil || !strings.Contains(err.Error(), "in time: gone") {
			t.Fatalf("got %v, want the cause of the end", err)
		}
		expect(t, r, s, "1", 8*time.Second, 1)
	})
}

func TestAFrozenSourceIsGivenUpAfterHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{takes: time.Hour}
		r := &renewing[string]{fetch: s.fetch}
		expect(t, r, s, context.DeadlineExceeded.Error(), 30*time.Second, 1)
	})
}

func TestLifetimes(t *testing.T) {
	for _, c := range []struct{ lasts, used, renewed time.Duration }{
		{time.Hour, time.Hour - 10*time.Second, 55 * time.Minute},
		{10 * time.Minute, 10*time.Minute - 10*time.Second, 5 * time.Minute},
		{5 * time.Minute, 4*time.Minute + 50*time.Second, 2*time.Minute + 25*time.Second},
		{12 * time.Second, 2 * time.Second, time.Second},
		{-time.Hour, time.Second, time.Second / 2},
	} {
		now := time.Now()
		end, due := lifetime(now, now.Add(c.lasts))
		if end.Sub(now.Round(0)) != c.used || due.Sub(now.Round(0)) != c.renewed {
			t.Errorf("of %v: used for %v, renewed after %v", c.lasts, end.Sub(now.Round(0)), due.Sub(now.Round(0)))
		}
	}
	now := time.Now()
	if end, due := lifetime(now, time.Time{}); end.Sub(now) < 1e6*time.Hour/2 || due.Sub(now) < 1e6*time.Hour/2 {
		t.Errorf("a value without an end ends at %v and is renewed at %v", end, due)
	}
}

func TestAPanicOfASourceIsAnError(t *testing.T) {
	r := &renewing[string]{fetch: func(context.Context) (string, time.Time, error) { panic("with a secret") }}
	if _, err := r.get(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Fatalf("got %v, want an error without the text of the panic", err)
	}
}
