package ratelimit

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"modelgateway/api"
	"modelgateway/models"
)

// newTestLimit counts in Redis, or in process without a client.
func newTestLimit(t testing.TB, name string, perMinute int, client models.Redis) *Requests {
	t.Helper()
	l, err := NewRequests(RequestOptions{
		Name: name, PerMinute: perMinute, Redis: client, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sequential returns how many of n requests pass that are made one after the other.
// The others must be refused with a Retry-After.
func sequential(t testing.TB, l *Requests, account string, n int) (passed int) {
	t.Helper()
	for range n {
		if _, err := l.Take(t.Context(), account, nil); err == nil {
			passed++
		} else {
			checkRefusal(t, err)
		}
	}
	return passed
}

// concurrent returns how many of n concurrent requests pass, on the limits in turn.
func concurrent(t testing.TB, account string, n int, limits ...*Requests) int {
	t.Helper()
	var passed atomic.Int64
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			if _, err := limits[i%len(limits)].Take(t.Context(), account, nil); err == nil {
				passed.Add(1)
			} else {
				checkRefusal(t, err)
			}
		})
	}
	close(begin)
	all.Wait()
	return int(passed.Load())
}

func checkRefusal(t testing.TB, err error) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		t.Errorf("not an api.Error: %v", err)
		return
	}
	_, wait, _ := strings.Cut(e.Message, "try again in ")
	seconds, parseErr := strconv.ParseInt(strings.TrimSuffix(wait, "s"), 10, 64)
	if e.Status != http.StatusTooManyRequests || e.Type != api.TypeRateLimit || e.Code != api.CodeRateLimitExceeded || !e.ShouldRetry() {
		t.Errorf("%+v", e)
	}
	if parseErr != nil || seconds != e.RetryAfterSeconds() || seconds < 1 || seconds > 60 || e.RetryAfter%time.Second != 0 {
		t.Errorf("the message says %q and Retry-After %d", e.Message, e.RetryAfterSeconds())
	}
}

func TestExactlyTheLimitOfConcurrentRequestsPassesInProcess(t *testing.T) {
	const perMinute = 100
	l := newTestLimit(t, "crowd", perMinute, nil)
	for trial := range 20 {
		if passed := concurrent(t, fmt.Sprint("key:", trial), perMinute+500, l); passed != perMinute {
			t.Errorf("trial %d: %d passed", trial, passed)
		}
	}
}

// A simple model of the windows decides the same on every request.
func TestAWindowLastsAMinuteFromTheFirstRequest(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			l := newTestLimit(t, "window", 5, nil)
			l.local.most = 2 + random.IntN(20)
			windows := map[string][]time.Time{} // of each account: the times of its requests
			for range 500 {
				time.Sleep(time.Duration(random.Int64N(int64(12 * time.Second))))
				account, now := fmt.Sprint(random.IntN(2)), time.Now()
				if w := windows[account]; len(w) > 0 && now.Sub(w[0]) > time.Minute {
					windows[account] = nil
				}
				windows[account] = append(windows[account], now)
				w := windows[account]
				q, err := l.Take(t.Context(), account, nil)
				if want := (RequestStatus{Limit: 5, Remaining: int64(max(5-len(w), 0)), Reset: w[0].Add(time.Minute).Sub(now)}); q != want {
					t.Fatalf("seed %d: %+v, want %+v", seed, q, want)
				}
				if (err != nil) != (len(w) > 5) {
					t.Fatalf("seed %d: request %d of its window: %v", seed, len(w), err)
				}
				if err != nil {
					checkRefusal(t, err)
				}
			}
		})
	}
}

func TestARequestPassesAfterItsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLimit(t, "wait", 1, nil)
		sequential(t, l, "a", 1)
		for range 100 {
			time.Sleep(time.Duration(rand.Int64N(int64(time.Minute))))
			_, err := l.Take(t.Context(), "a", nil)
			if err == nil {
				continue
			}
			checkRefusal(t, err)
			time.Sleep(api.AsError(err).RetryAfter + time.Nanosecond) // a real request takes longer
			if passed := sequential(t, l, "a", 1); passed != 1 {
				t.Fatalf("refused after its Retry-After: %v", err)
			}
		}
	})
}

// Fixed windows allow this, as the doc of Requests says.
func TestAroundTheEndOfAWindowUpToTwiceTheLimitPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLimit(t, "end", 10, nil)
		passed := sequential(t, l, "a", 1)
		time.Sleep(time.Minute - time.Millisecond)
		passed += sequential(t, l, "a", 50)
		time.Sleep(2 * time.Millisecond)
		if passed += sequential(t, l, "a", 50); passed != 20 {
			t.Errorf("%d passed", passed)
		}
	})
}

func TestAccountsAndLimitsAreCountedSeparatelyInProcess(t *testing.T) {
	one, other := newTestLimit(t, "one", 3, nil), newTestLimit(t, "other", 3, nil)
	for _, l := range []*Requests{one, other} {
		for _, account := range []string{"", "a", "a:b", "A", "a\x00", "address:::1"} {
			if passed := sequential(t, l, account, 9); passed != 3 {
				t.Errorf("%q: %d passed", account, passed)
			}
		}
	}
}

func TestALimitOfZeroIsOff(t *testing.T) {
	l := newTestLimit(t, "off", 0, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}))
	for range 1000 {
		if q, err := l.Take(t.Context(), "a", nil); err != nil || q != (RequestStatus{}) {
			t.Fatalf("%+v, %v", q, err)
		}
	}
	if kept(l.local.young)+kept(l.local.old) != 0 {
		t.Error("something was counted")
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	good := RequestOptions{Name: "v1", PerMinute: 1, Log: slog.New(slog.DiscardHandler)}
	for _, change := range []func(*RequestOptions){
		func(o *RequestOptions) { o.Name = "" },
		func(o *RequestOptions) { o.Name = "a:b" },
		func(o *RequestOptions) { o.PerMinute = -1 },
		func(o *RequestOptions) { o.Log = nil },
	} {
		bad := good
		change(&bad)
		if l, err := NewRequests(bad); err == nil || l != nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if _, err := NewRequests(good); err != nil {
		t.Error(err)
	}
}

func kept(c *memory.CacheWrapper) (n int) {
	c.Range(func(string, *memory.Counter) { n++ })
	return n
}

func TestManyNewAccountsNeitherFillTheMemoryNorEvictActiveOnes(t *testing.T) {
	l := newLocalRequests(time.Hour, 1000)
	for i := range 50_000 {
		l.count(fmt.Sprint("address:", i))
		if i%500 != 0 {
			continue
		}
		if s := l.count("key:regular"); s.count != int64(i/500)+1 {
			t.Fatalf("after %d new accounts: %+v", i, s)
		}
		if young, old := kept(l.young), kept(l.old); young > 1000 || old > 1000 || young != l.size {
			t.Fatalf("%d (size %d) and %d accounts are kept", young, l.size, old)
		}
	}
}

func TestCountersOfEndedWindowsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLocalRequests(time.Minute, 100_000)
		for i := range 10_000 {
			l.count(fmt.Sprint(i))
		}
		for range 2 {
			time.Sleep(time.Minute + time.Second)
			l.count("last")
		}
		if n := kept(l.young) + kept(l.old); n > 2 {
			t.Errorf("%d are kept", n)
		}
	})
}

// The comment of requestAccounts states this figure.
func TestAnAccountCostsAFewHundredBytes(t *testing.T) {
	before := heap()
	l := newLocalRequests(time.Hour, requestAccounts)
	for i := range requestAccounts {
		l.count(fmt.Sprintf("address:2001:db8:1234:5678::%x", i))
	}
	each := (heap() - before) / requestAccounts
	t.Log(each, "bytes each")
	if each > 400 {
		t.Errorf("an account costs %d bytes", each)
	}
	runtime.KeepAlive(l)
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held on to
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The clock was an hour ahead when the window began.
func TestAClockThatIsSetBackRefusesNoAccount(t *testing.T) {
	l := newTestLimit(t, "clock", 3, nil)
	l.local.counter("a").Increment(99, time.Now().Add(time.Hour).UnixNano())
	q, err := l.Take(t.Context(), "a", nil)
	if err != nil || q.Remaining != 2 || q.Reset > time.Minute || q.Reset < 59*time.Second {
		t.Errorf("%+v, %v", q, err)
	}
	if passed := sequential(t, l, "a", 9); passed != 2 {
		t.Errorf("then %d passed", passed)
	}
}

func BenchmarkTakeInProcess(b *testing.B) {
	const callers = 1000
	accounts := make([]string, callers)
	for i := range accounts {
		accounts[i] = fmt.Sprint("key:", i)
	}
	b.Run("one", func(b *testing.B) {
		l := newTestLimit(b, "bench", 1<<40, nil)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := l.Take(b.Context(), accounts[i%callers], nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		l := newTestLimit(b, "bench", 1<<40, nil)
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for i := 0; p.Next(); i++ {
				if _, err := l.Take(b.Context(), accounts[i%callers], nil); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("refused", func(b *testing.B) {
		l := newTestLimit(b, "bench", 1, nil)
		b.ReportAllocs()
		sequential(b, l, "a", 1)
		for b.Loop() {
			_, _ = l.Take(b.Context(), "a", nil)
		}
	})
}

func TestAChangedLimitAppliesToTheRunningWindow(t *testing.T) {
	for _, gateways := range []int{0, 4} {
		l := newTestLimit(t, "own", gateways, nil)
		for i, step := range []struct {
			own, remaining int64
			passes         bool
		}{{3, 2, true}, {3, 1, true}, {10, 7, true}, {3, 0, false}, {10, 5, true}, {6, 0, true}, {6, 0, false}, {1000, 992, true}} {
			s, err := l.Take(t.Context(), "a", ofRPM("a", step.own))
			if s.Limit != step.own || s.Remaining != step.remaining || (err == nil) != step.passes {
				t.Errorf("request %d: %+v, %v", i, s, err)
			}
			if err != nil {
				checkRefusal(t, err)
			}
		}
		if s, err := l.Take(t.Context(), "a", nil); (err == nil) != (gateways == 0) || s.Limit != int64(gateways) {
			t.Errorf("under the gateway's limit: %+v, %v", s, err)
		}
		if l.Shared() {
			t.Error("shared without Redis")
		}
	}
}

// ofRPM is an account with a limit of its own, as the only level of a caller.
func ofRPM(account string, limit int64) models.Levels {
	return alone(account, &models.Limits{Numbers: models.Numbers{RPMLimit: limit}})
}
