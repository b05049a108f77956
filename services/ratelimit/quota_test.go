package ratelimit

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/models"
	"modelgateway/models/api"
)

func newTestQuotas(client *redis.Client) *Quotas {
	return NewQuotas(QuotaOptions{Redis: client, Log: slog.New(slog.DiscardHandler), Now: time.Now})
}

func tpm(n int64) *models.Limits      { return &models.Limits{Numbers: models.Numbers{TPMLimit: n}} }
func parallel(n int64) *models.Limits { return &models.Limits{Numbers: models.Numbers{MaxParallel: n}} }

// taken lets a call in, or fails the test.
func taken(t testing.TB, q *Quotas, account string, limits *models.Limits, tokens int64) *Quota {
	t.Helper()
	quota, err := q.Take(t.Context(), account, limits, tokens)
	if err != nil {
		t.Fatal(err)
	}
	return quota
}

// turnedAway expects a refusal and returns it.
func turnedAway(t testing.TB, q *Quotas, account string, limits *models.Limits, tokens int64) *api.Error {
	t.Helper()
	quota, err := q.Take(t.Context(), account, limits, tokens)
	if err == nil {
		t.Fatalf("let in: %+v", quota)
	}
	checkRefusal(t, err)
	quota.End(1 << 40)
	return api.AsError(err)
}

// admitted are the calls of n at once that get in, over all quotas in turn.
func admitted(t testing.TB, n int, account string, limits *models.Limits, tokens int64, all ...*Quotas) []*Quota {
	t.Helper()
	var mu sync.Mutex
	var in []*Quota
	var calls sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		calls.Go(func() {
			<-begin
			quota, err := all[i%len(all)].Take(t.Context(), account, limits, tokens)
			if err != nil {
				checkRefusal(t, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			in = append(in, quota)
		})
	}
	close(begin)
	calls.Wait()
	return in
}

func endAll(calls []*Quota, used int64) {
	var all sync.WaitGroup
	for _, c := range calls {
		all.Go(func() { c.End(used) })
	}
	all.Wait()
}

func TestWithoutLimitsNothingIsCountedNorPaid(t *testing.T) {
	q := newTestQuotas(redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}))
	ctx, none := t.Context(), &models.Limits{Budget: 1, BudgetWindow: models.Day, Numbers: models.Numbers{RPMLimit: 1}}
	for _, limits := range []*models.Limits{nil, none} {
		if n := testing.AllocsPerRun(100, func() {
			quota, err := q.Take(ctx, "key:a", limits, 1<<40)
			if quota != nil || err != nil || quota.Status() != (TokenStatus{}) {
				t.Error(quota, err)
			}
			quota.End(5)
		}); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
	if len(q.accounts) > 0 || q.Shared() != true {
		t.Error("something was counted")
	}
	if newTestQuotas(nil).Shared() {
		t.Error("shared without Redis")
	}
}

func TestOfACrowdExactlyTheCallsAtOnceGetInInProcess(t *testing.T) {
	q := newTestQuotas(nil)
	for range 20 {
		in := admitted(t, 500, "key:a", parallel(7), 100, q)
		if len(in) != 7 {
			t.Errorf("%d got in", len(in))
		}
		endAll(in, 3)
	}
	if a := q.accounts["key:a"]; a.live != 0 {
		t.Errorf("%d run", a.live)
	}
}

// A model that is written another way agrees on every call.
func TestQuotasAreOfTheMinuteOfTheClock(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			type call struct {
				quota          *Quota
				minute, tokens int64
			}
			random := rand.New(rand.NewPCG(seed, 6))
			q := newTestQuotas(nil)
			limits := &models.Limits{Numbers: models.Numbers{TPMLimit: 100, MaxParallel: 4}}
			counted, running := map[int64]int64{}, []call{}
			for step := range 400 {
				time.Sleep(time.Duration(random.Int64N(int64(8 * time.Second))))
				minute := time.Now().Unix() / 60
				if len(running) > 0 && random.IntN(2) == 0 {
					i := random.IntN(len(running))
					c, used := running[i], random.Int64N(80)
					running = append(running[:i], running[i+1:]...)
					c.quota.End(used)
					c.quota.End(9999)
					if c.minute == minute {
						counted[minute] += used - c.tokens
					}
					continue
				}
				tokens := random.Int64N(130)
				need := min(max(tokens, 1), 100)
				quota, err := q.Take(t.Context(), "a", limits, tokens)
				if fits := counted[minute]+need <= 100 && len(running) < 4; fits != (err == nil) {
					t.Fatalf(
						"seed %d step %d: %v with %d counted, %d needed, %d running", seed, step, err, counted[minute],
						need, len(running),
					)
				}
				if err == nil {
					counted[minute] += need
					running = append(running, call{quota, minute, need})
				}
				reset := time.Until(time.Unix((minute+1)*60, 0))
				if want := (TokenStatus{100, max(100-counted[minute], 0), reset}); quota.Status() != want {
					t.Fatalf("seed %d step %d: %+v, want %+v", seed, step, quota.Status(), want)
				}
				if err != nil {
					checkRefusal(t, err)
				}
			}
		})
	}
}

func TestWhatWasUsedIsCountedEvenOverTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQuotas(nil)
		taken(t, q, "a", tpm(100), 10).End(500)
		if s := q.accounts["a"].tokens; s != 500 {
			t.Errorf("%d are counted", s)
		}
		e := turnedAway(t, q, "a", tpm(100), 1)
		if !strings.Contains(e.Message, "may need 1, 0 are left") {
			t.Error(e.Message)
		}
		taken(t, q, "b", tpm(100), 50).End(-7)
		if s := q.accounts["b"].tokens; s != 0 {
			t.Errorf("%d are counted", s)
		}
	})
}

func TestAnEndAfterTheMinuteGivesOnlyThePlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, both := newTestQuotas(nil), &models.Limits{Numbers: models.Numbers{TPMLimit: 100, MaxParallel: 2}}
		old := taken(t, q, "a", both, 60)
		time.Sleep(time.Minute)
		taken(t, q, "a", both, 70)
		old.End(5000)
		old.End(0)
		turnedAway(t, q, "a", both, 31)
		taken(t, q, "a", both, 30)
		if e := turnedAway(t, q, "a", both, 0); !strings.Contains(e.Message, "tokens") {
			t.Error(e.Message)
		}
	})
}

func TestACallThatMayNeedMoreThanTheLimitWaitsForAnEmptyMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQuotas(nil)
		small := taken(t, q, "a", tpm(100), 1)
		e := turnedAway(t, q, "a", tpm(100), 5000)
		if e.Final || e.RetryAfter != time.Minute || !strings.Contains(e.Message, "100 tokens") || !strings.Contains(e.Message, "5000") {
			t.Errorf("%+v", e)
		}
		small.End(0)
		big := taken(t, q, "a", tpm(100), 5000)
		if s := big.Status(); s != (TokenStatus{100, 0, time.Minute}) {
			t.Errorf("%+v", s)
		}
		turnedAway(t, q, "a", tpm(100), 1)
		big.End(40)
		taken(t, q, "a", tpm(100), 60)
		time.Sleep(e.RetryAfter)
		taken(t, q, "a", tpm(100), 1<<62)
	})
}

func TestBothLimitsAreTakenOfOrNeither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, both := newTestQuotas(nil), &models.Limits{Numbers: models.Numbers{TPMLimit: 100, MaxParallel: 1}}
		first := taken(t, q, "a", both, 40)
		e := turnedAway(t, q, "a", both, 40)
		if e.RetryAfter != time.Second || !strings.Contains(e.Message, "at most 1 calls at once") {
			t.Errorf("%+v", e)
		}
		time.Sleep(48 * time.Second)
		e = turnedAway(t, q, "a", both, 61)
		if e.Message != "the limit of 100 tokens a minute is reached: this call may need 61, 60 are left; try again in 12s" ||
			e.RetryAfter != 12*time.Second {
			t.Errorf("%+v", e)
		}
		first.End(40)
		turnedAway(t, q, "a", both, 61)
		taken(t, q, "a", both, 60).End(60)
	})
}

func TestLimitsThatChangeHoldAtOnce(t *testing.T) {
	q := newTestQuotas(nil)
	calls := []*Quota{taken(t, q, "a", parallel(3), 10), taken(t, q, "a", parallel(3), 10), taken(t, q, "a", parallel(3), 10)}
	turnedAway(t, q, "a", parallel(2), 10)
	calls[0].End(10)
	turnedAway(t, q, "a", parallel(2), 10)
	calls[1].End(10)
	calls[0] = taken(t, q, "a", parallel(2), 10)
	calls[1] = taken(t, q, "a", tpm(1_000_000), 10)
	turnedAway(t, q, "a", parallel(3), 10)
	endAll(calls, 10)
	if live := q.accounts["a"].live; live != 0 {
		t.Errorf("%d run", live)
	}
	if s := calls[0].Status(); s != (TokenStatus{}) {
		t.Errorf("%+v of a key without a limit of tokens", s)
	}
}

func TestAccountsThatAreIdleAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQuotas(nil)
		long := taken(t, q, "long", parallel(1), 1)
		for i := range 50_000 {
			taken(t, q, fmt.Sprint(i), parallel(1), 1).End(1)
			time.Sleep(time.Second)
			if len(q.accounts) > 2*quotaAccounts {
				t.Fatalf("%d accounts are kept", len(q.accounts))
			}
		}
		turnedAway(t, q, "long", parallel(1), 1)
		long.End(1)
		time.Sleep(quotaIdle + time.Second)
		q.heartbeat(t.Context())
		if len(q.accounts) != 0 {
			t.Errorf("%d accounts are kept", len(q.accounts))
		}
		taken(t, q, "long", parallel(1), 1)
	})
}

func TestAClockThatIsSetBackDoesNotKeepAMinuteFull(t *testing.T) {
	now := time.Now()
	q := NewQuotas(QuotaOptions{Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	taken(t, q, "a", tpm(10), 10)
	turnedAway(t, q, "a", tpm(10), 10)
	now = now.Add(-time.Hour)
	taken(t, q, "a", tpm(10), 10)
}

func TestANilQuotaDoesNothing(t *testing.T) {
	var quota *Quota
	quota.End(5)
	if s := quota.Status(); s != (TokenStatus{}) {
		t.Error(s)
	}
}

func BenchmarkQuotaWithoutLimits(b *testing.B) {
	q, ctx := newTestQuotas(nil), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		quota, _ := q.Take(ctx, "key:a", nil, 100)
		quota.End(50)
	}
}

func BenchmarkQuotaInProcess(b *testing.B) {
	q, ctx, limits := newTestQuotas(nil), b.Context(), &models.Limits{Numbers: models.Numbers{TPMLimit: 1 << 50, MaxParallel: 1000}}
	b.ReportAllocs()
	for b.Loop() {
		quota, _ := q.Take(ctx, "key:a", limits, 100)
		quota.End(50)
	}
}
