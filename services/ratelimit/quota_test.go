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

	"modelgateway/api"
	"modelgateway/models"
)

func newTestQuotas(client models.Redis) *Quotas {
	return NewQuotas(QuotaOptions{Redis: client, Log: slog.New(slog.DiscardHandler), Now: time.Now})
}

func tpm(n int64) *models.Limits      { return &models.Limits{Numbers: models.Numbers{TPMLimit: n}} }
func parallel(n int64) *models.Limits { return &models.Limits{Numbers: models.Numbers{MaxParallel: n}} }

// Used is how many of an account's calls run in this process, and how many of
// its tokens this process has counted in the minute.
func (q *Quotas) Used(account string) (calls, tokens int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a := q.accounts[account]; a != nil {
		return a.live, a.tokens
	}
	return 0, 0
}

// alone is an account as the only level of a caller.
func alone(account string, limits *models.Limits) models.Levels {
	if limits == nil {
		return nil
	}
	return models.Levels{{Account: account, Name: "this API key", Limits: *limits}}
}

// waiting is a call that waits for the decision of Redis.
func waiting(q *Quotas, account string, calls, need int64) *Quota {
	q.mu.Lock()
	defer q.mu.Unlock()
	return &Quota{quotas: q, take: true, shares: []quotaShare{{account: q.account(account, q.now()), calls: calls, need: need}}}
}

// mustTake takes a call, or fails the test.
func mustTake(t testing.TB, q *Quotas, account string, limits *models.Limits, tokens int64) *Quota {
	t.Helper()
	quota, err := q.Take(t.Context(), alone(account, limits), tokens)
	if err != nil {
		t.Fatal(err)
	}
	return quota
}

// mustRefuse expects a refusal and returns it.
func mustRefuse(t testing.TB, q *Quotas, account string, limits *models.Limits, tokens int64) *api.Error {
	t.Helper()
	quota, err := q.Take(t.Context(), alone(account, limits), tokens)
	if err == nil {
		t.Fatalf("admitted: %+v", quota)
	}
	checkRefusal(t, err)
	quota.End(1 << 40)
	return api.AsError(err)
}

// takeConcurrently makes n concurrent calls, on the replicas in turn, and returns the
// admitted ones.
func takeConcurrently(t testing.TB, n int, account string, limits *models.Limits, tokens int64, all ...*Quotas) []*Quota {
	t.Helper()
	var mu sync.Mutex
	var in []*Quota
	var calls sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		calls.Go(func() {
			<-begin
			quota, err := all[i%len(all)].Take(t.Context(), alone(account, limits), tokens)
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

func TestWithoutLimitsNothingIsCounted(t *testing.T) {
	q := newTestQuotas(redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}))
	ctx, none := t.Context(), &models.Limits{Budget: 1, BudgetWindow: models.Day, Numbers: models.Numbers{RPMLimit: 1}}
	for _, limits := range []*models.Limits{nil, none} {
		quota, err := q.Take(ctx, alone("key:a", limits), 1<<40)
		if quota != nil || err != nil || quota.Status() != (TokenStatus{}) {
			t.Error(quota, err)
		}
		quota.End(5)
	}
	if len(q.accounts) > 0 || q.Shared() != true {
		t.Error("something was counted")
	}
	if newTestQuotas(nil).Shared() {
		t.Error("shared without Redis")
	}
}

func TestExactlyTheLimitOfConcurrentCallsIsAdmittedInProcess(t *testing.T) {
	q := newTestQuotas(nil)
	for range 20 {
		in := takeConcurrently(t, 500, "key:a", parallel(7), 100, q)
		if len(in) != 7 {
			t.Errorf("%d admitted", len(in))
		}
		endAll(in, 3)
	}
	if a := q.accounts["key:a"]; a.live != 0 {
		t.Errorf("%d calls are running", a.live)
	}
}

// A simple model of the limits decides the same on every call.
func TestQuotasAreCountedInMinutesOfTheClock(t *testing.T) {
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
				quota, err := q.Take(t.Context(), alone("a", limits), tokens)
				if fits := counted[minute]+need <= 100 && len(running) < 4; fits != (err == nil) {
					t.Fatalf("seed %d step %d: %v with %d counted, %d needed, %d running", seed, step, err, counted[minute],
						need, len(running))
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

func TestUsedTokensAreCountedEvenOverTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQuotas(nil)
		mustTake(t, q, "a", tpm(100), 10).End(500)
		if s := q.accounts["a"].tokens; s != 500 {
			t.Errorf("%d are counted", s)
		}
		e := mustRefuse(t, q, "a", tpm(100), 1)
		if !strings.Contains(e.Message, "may need 1, 0 are left") {
			t.Error(e.Message)
		}
		mustTake(t, q, "b", tpm(100), 50).End(-7)
		if s := q.accounts["b"].tokens; s != 0 {
			t.Errorf("%d are counted", s)
		}
	})
}

func TestAnEndAfterItsMinuteChangesNoTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, both := newTestQuotas(nil), &models.Limits{Numbers: models.Numbers{TPMLimit: 100, MaxParallel: 2}}
		old := mustTake(t, q, "a", both, 60)
		time.Sleep(time.Minute)
		mustTake(t, q, "a", both, 70)
		old.End(5000)
		old.End(0)
		mustRefuse(t, q, "a", both, 31)
		mustTake(t, q, "a", both, 30)
		if e := mustRefuse(t, q, "a", both, 0); !strings.Contains(e.Message, "tokens") {
			t.Error(e.Message)
		}
	})
}

func TestACallThatMayNeedMoreThanTheLimitWaitsForAnEmptyMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQuotas(nil)
		small := mustTake(t, q, "a", tpm(100), 1)
		e := mustRefuse(t, q, "a", tpm(100), 5000)
		if e.Final || e.RetryAfter != time.Minute || !strings.Contains(e.Message, "100 tokens") || !strings.Contains(e.Message, "5000") {
			t.Errorf("%+v", e)
		}
		small.End(0)
		big := mustTake(t, q, "a", tpm(100), 5000)
		if s := big.Status(); s != (TokenStatus{100, 0, time.Minute}) {
			t.Errorf("%+v", s)
		}
		mustRefuse(t, q, "a", tpm(100), 1)
		big.End(40)
		mustTake(t, q, "a", tpm(100), 60)
		time.Sleep(e.RetryAfter)
		mustTake(t, q, "a", tpm(100), 1<<62)
	})
}

func TestACallTakesFromBothLimitsOrNeither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, both := newTestQuotas(nil), &models.Limits{Numbers: models.Numbers{TPMLimit: 100, MaxParallel: 1}}
		first := mustTake(t, q, "a", both, 40)
		e := mustRefuse(t, q, "a", both, 40)
		if e.RetryAfter != time.Second || !strings.Contains(e.Message, "the limit of 1 calls at the same time") {
			t.Errorf("%+v", e)
		}
		time.Sleep(48 * time.Second)
		e = mustRefuse(t, q, "a", both, 61)
		if e.Message != "the limit of 100 tokens a minute of this API key is reached: this call may need 61, 60 are left; try again in 12s" ||
			e.RetryAfter != 12*time.Second {
			t.Errorf("%+v", e)
		}
		first.End(40)
		mustRefuse(t, q, "a", both, 61)
		mustTake(t, q, "a", both, 60).End(60)
	})
}

func TestChangedLimitsApplyAtOnce(t *testing.T) {
	q := newTestQuotas(nil)
	calls := []*Quota{mustTake(t, q, "a", parallel(3), 10), mustTake(t, q, "a", parallel(3), 10), mustTake(t, q, "a", parallel(3), 10)}
	mustRefuse(t, q, "a", parallel(2), 10)
	calls[0].End(10)
	mustRefuse(t, q, "a", parallel(2), 10)
	calls[1].End(10)
	calls[0] = mustTake(t, q, "a", parallel(2), 10)
	calls[1] = mustTake(t, q, "a", tpm(1_000_000), 10)
	mustRefuse(t, q, "a", parallel(3), 10)
	endAll(calls, 10)
	if live := q.accounts["a"].live; live != 0 {
		t.Errorf("%d calls are running", live)
	}
	if s := calls[0].Status(); s != (TokenStatus{}) {
		t.Errorf("%+v of a key without a limit of tokens", s)
	}
}

func TestIdleAccountsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQuotas(nil)
		long := mustTake(t, q, "long", parallel(1), 1)
		for i := range 50_000 {
			mustTake(t, q, fmt.Sprint(i), parallel(1), 1).End(1)
			time.Sleep(time.Second)
			if len(q.accounts) > 2*quotaAccounts {
				t.Fatalf("%d accounts are kept", len(q.accounts))
			}
		}
		mustRefuse(t, q, "long", parallel(1), 1)
		long.End(1)
		time.Sleep(quotaIdle + time.Second)
		q.heartbeat(t.Context())
		if len(q.accounts) != 0 {
			t.Errorf("%d accounts are kept", len(q.accounts))
		}
		mustTake(t, q, "long", parallel(1), 1)
	})
}

func TestAClockThatIsSetBackDoesNotKeepAMinuteFull(t *testing.T) {
	now := time.Now()
	q := NewQuotas(QuotaOptions{Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	mustTake(t, q, "a", tpm(10), 10)
	mustRefuse(t, q, "a", tpm(10), 10)
	now = now.Add(-time.Hour)
	mustTake(t, q, "a", tpm(10), 10)
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
		quota, _ := q.Take(ctx, alone("key:a", nil), 100)
		quota.End(50)
	}
}

func BenchmarkQuotaInProcess(b *testing.B) {
	q, ctx, limits := newTestQuotas(nil), b.Context(), &models.Limits{Numbers: models.Numbers{TPMLimit: 1 << 50, MaxParallel: 1000}}
	b.ReportAllocs()
	for b.Loop() {
		quota, _ := q.Take(ctx, alone("key:a", limits), 100)
		quota.End(50)
	}
}
