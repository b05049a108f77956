package ratelimit

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

// quotaFaults are the faults of Redis.
var quotaFaults = map[string]func(*testing.T) (address string, fail, repair func()){
	"stopped": func(t *testing.T) (string, func(), func()) {
		s := servertest.StartRedis(t)
		return s.URL, s.Stop, s.Restart
	},
	"killed": func(t *testing.T) (string, func(), func()) {
		s := servertest.StartRedis(t)
		return s.URL, s.Kill, s.Restart
	},
	"frozen": func(t *testing.T) (string, func(), func()) {
		s := servertest.StartRedis(t)
		return s.URL, s.Freeze, s.Thaw
	},
	"slow": func(t *testing.T) (string, func(), func()) {
		d := newDelay(t, servertest.StartRedis(t).URL)
		return d.url, func() { d.each.Store(int64(2 * time.Second)) }, func() { d.each.Store(0) }
	},
}

// setTicks sets how many ticks a replica's jobs wait, while jobs may be under way.
func setTicks(q *Quotas, ticks int) {
	q.batches.mu.Lock()
	defer q.batches.mu.Unlock()
	q.batches.ticks = ticks
}

// trip opens a replica's circuit, as a failure of Redis does.
func trip(t *testing.T, q *Quotas) {
	t.Helper()
	report, err := q.batches.circuit.Allow()
	if err != nil {
		t.Fatal(err)
	}
	report(errRedisLate)
}

// takeOnEach takes n calls on each of the replicas.
func takeOnEach(t *testing.T, account string, limits *models.Limits, n int, all ...*Quotas) (in []*Quota) {
	t.Helper()
	for _, q := range all {
		for range n {
			in = append(in, mustTake(t, q, account, limits, 10))
		}
	}
	return in
}

// During each fault of Redis every replica applies the whole limit to its own calls, and no
// call waits long. Within five seconds after it the quotas are shared again, with the calls
// that began meanwhile.
func TestWithoutRedisEachReplicaAppliesTheWholeLimit(t *testing.T) {
	for name, fault := range quotaFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, fail, repair := fault(t)
			var log lockedText
			var both []*Quotas
			for range 2 {
				both = append(both, NewQuotas(QuotaOptions{
					Redis: limitRedis(t, address), Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now,
				}))
			}
			for _, q := range both {
				setTicks(q, 1000)
			}
			awaitSharedQuotas(t, both...)
			limits := parallel(10)
			in := takeOnEach(t, "before", limits, 3, both...)
			for _, q := range both {
				setTicks(q, redisTicks)
			}
			fail()
			waits := slowestCall(t, both)
			for _, q := range both {
				if q.Shared() {
					t.Error("still shared")
				}
				for account, want := range map[string]int{"before": 7, "new": 10} {
					more := takeConcurrently(t, 200, account, limits, 10, q)
					if len(more) != want {
						t.Errorf("%d more of %s were admitted", len(more), account)
					}
					in = append(in, more...)
				}
				first := mustTake(t, q, "one", parallel(1), 10)
				mustRefuse(t, q, "one", parallel(1), 10)
				first.End(10)
			}
			checkTokensOfEachReplica(t, both)
			repair()
			for _, q := range both {
				setTicks(q, 1000)
				startHeartbeats(t, q)
			}
			within5s(t, "shared again", func() bool { return both[0].Shared() && both[1].Shared() })
			within5s(t, "the calls that began meanwhile are in Redis", func() bool {
				for _, q := range both {
					for _, account := range []string{"before", "new"} {
						if live, _, _ := entry(t, q, account); live != 10 {
							return false
						}
					}
				}
				return true
			})
			for _, q := range both {
				mustRefuse(t, q, "before", limits, 10)
				mustRefuse(t, q, "new", limits, 10)
			}
			endAll(in, 10)
			within5s(t, "one replica is granted the whole limit again", func() bool {
				again := takeConcurrently(t, 50, "new", limits, 10, both[0])
				endAll(again, 10)
				return len(again) == 10
			})
			if text := log.String(); strings.Count(text, "counts this limit by itself") < 2 || strings.Count(text, "share this limit") < 2 {
				t.Errorf("the log says:\n%s", text)
			}
			t.Logf("a call waited at most %s", waits)
		})
	}
}

// slowestCall calls for a while, and returns the longest time that a call took.
func slowestCall(t *testing.T, both []*Quotas) (most time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	late := longtest.Lateness(t)
	for i := range 300 {
		all.Go(func() {
			began, before := time.Now(), late()
			quota, err := both[i%2].Take(t.Context(), alone(fmt.Sprint("many:", i/10), parallel(1000)), 10)
			took := time.Since(began) - (late() - before)
			ended, before := time.Now(), late()
			quota.End(10)
			ending := time.Since(ended) - (late() - before)
			mu.Lock()
			most = max(most, took, ending)
			mu.Unlock()
			if err != nil {
				t.Error(err)
			}
		})
		time.Sleep(5 * time.Millisecond)
	}
	all.Wait()
	if most > 150*time.Millisecond {
		t.Errorf("a call waited %s beside what the machine caused", most)
	}
	return most
}

func checkTokensOfEachReplica(t *testing.T, both []*Quotas) {
	t.Helper()
	if failure := sameMinute(nil, func() string {
		account := fmt.Sprint("tokens:", time.Now().UnixNano())
		for _, q := range both {
			in := takeConcurrently(t, 50, account, tpm(1000), 90, q)
			if len(in) != 11 {
				return fmt.Sprintf("%d admitted within the limit of tokens", len(in))
			}
			in[0].End(40)
			if _, err := q.Take(t.Context(), alone(account, tpm(1000)), 61); err == nil {
				return "more than the limit is admitted"
			}
			if _, err := q.Take(t.Context(), alone(account, tpm(1000)), 60); err != nil {
				return err.Error()
			}
			if _, err := q.Take(t.Context(), alone(account+"big", tpm(1000)), 5000); err != nil {
				return err.Error()
			}
			if _, err := q.Take(t.Context(), alone(account+"big", tpm(1000)), 1); err == nil {
				return "a second call is admitted beside one that takes the whole limit"
			}
		}
		return ""
	}); failure != "" {
		t.Error(failure)
	}
}

func TestAfterRedisIsEmptiedTheEntriesAreWrittenAgain(t *testing.T) {
	both := newQuotaReplicas(t, servertest.StartRedis(t).URL, 2)
	limits := parallel(10)
	takeOnEach(t, "key:a", limits, 2, both[0])
	takeOnEach(t, "key:a", limits, 3, both[1])
	if err := both[0].client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for i, q := range both {
		q.heartbeat(t.Context())
		if live, _, _ := entry(t, q, "key:a"); live != int64(2+i) {
			t.Errorf("%d calls of replica %d are in Redis", live, i)
		}
	}
	if more := takeConcurrently(t, 50, "key:a", limits, 10, both...); len(more) != 5 {
		t.Errorf("%d more admitted", len(more))
	}
}

func TestAReplicaThatNeverReachedRedisAppliesTheWholeLimit(t *testing.T) {
	server := servertest.StartRedis(t)
	server.Stop()
	q := newTestQuotas(limitRedis(t, server.URL))
	if in := takeConcurrently(t, 100, "key:a", parallel(10), 10, q); len(in) != 10 || q.Shared() {
		t.Errorf("%d admitted", len(in))
	}
	server.Restart()
	startHeartbeats(t, q)
	within5s(t, "shared", q.Shared)
	within5s(t, "the entry is written", func() bool { return q.client().HExists(t.Context(), quotaEntries+"key:a", q.replica).Val() })
	if live, _, tokens := entry(t, q, "key:a"); live != 10 || tokens != 100 && tokens != 0 {
		t.Errorf("%d calls with %d tokens are in Redis", live, tokens)
	}
}

// Redis lets a script that has already written go on when its memory is full.
func TestAFullRedisStillCounts(t *testing.T) {
	both := newQuotaReplicas(t, servertest.StartRedis(t).URL, 2)
	if err := both[0].client().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if failure := inTime(t, both, func(account string) string {
		in := takeConcurrently(t, 200, account, parallel(10), 10, both...)
		shared := both[0].Shared()
		endAll(in, 10)
		again := takeConcurrently(t, 200, account, parallel(10), 10, both[1])
		endAll(again, 10)
		if len(in) != 10 || len(again) != 10 || !shared {
			return fmt.Sprintf("%d admitted, %d afterwards, shared %t", len(in), len(again), shared)
		}
		return ""
	}); failure != "" {
		t.Error(failure)
	}
}

// inTime runs a test of an account that Redis counts. It repeats one that fails with another
// account when this machine kept it waiting for so long that Redis looked dead.
func inTime(t *testing.T, all []*Quotas, test func(account string) (failure string)) (failure string) {
	t.Helper()
	late := longtest.Lateness(t)
	for i := range 5 {
		before := late()
		if failure = test(fmt.Sprintf("key:%d", i)); failure == "" || late()-before < redisTimeout/2 {
			return failure
		}
		t.Logf("again, after a pause of %s: %s", late()-before, failure)
		within5s(t, "Redis counts again", func() bool { awaitSharedQuotas(t, all...); return all[0].Shared() })
	}
	return failure
}

func TestACallThatEndsDuringAnOutageOfRedisIsReleasedAfterIt(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	call := mustTake(t, both[0], "key:a", parallel(1), 10)
	trip(t, both[0])
	call.End(0)
	mustRefuse(t, both[1], "key:a", parallel(1), 10)
	within5s(t, "its slot is free", func() bool {
		both[0].heartbeat(t.Context())
		quota, err := both[1].Take(t.Context(), alone("key:a", parallel(1)), 10)
		quota.End(0)
		return err == nil
	})
}

func TestAnEndThatDoesNotReachRedisIsSentAgain(t *testing.T) {
	server := servertest.StartRedis(t)
	q := newQuotaReplicas(t, server.URL, 1)[0]
	call := mustTake(t, q, "key:a", parallel(1), 10)
	server.Stop()
	call.End(0)
	server.Restart()
	within5s(t, "its slot is free", func() bool {
		q.heartbeat(t.Context())
		if !q.Shared() {
			return false
		}
		live, _, _ := entry(t, q, "key:a")
		return live == 0
	})
}

// A heartbeat that fails opens the circuit for all accounts. Redis may still
// admit the calls of a batch that is under way.
func TestUndecidedCallsCountDuringAnOutageOfRedis(t *testing.T) {
	q := newQuotaReplicas(t, servertest.Redis(t), 1)[0]
	mustTake(t, q, "key:a", parallel(4), 10)
	calls := make([]*Quota, 3)
	for i := range calls {
		calls[i] = waiting(q, "key:a", 4, 1)
	}
	send, finish := q.prepare("", calls)
	trip(t, q)
	mustRefuse(t, q, "key:a", parallel(4), 10)
	err := send(t.Context())
	finish(err)
	if live, _ := q.Used("key:a"); err != nil || live != 4 {
		t.Errorf("%d calls are running: %v", live, err)
	}
}
