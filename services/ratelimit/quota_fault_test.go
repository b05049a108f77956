package ratelimit

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/models/servertest"
)

// quotaFaults are what can befall Redis.
var quotaFaults = map[string]func(*testing.T) (address string, harm, mend func()){
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

// waitsFor sets a replica's patience, which what is still under way reads.
func waitsFor(q *Quotas, ticks int) {
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

// spread lets n calls in on each.
func spread(t *testing.T, account string, limits *models.Limits, n int, all ...*Quotas) (in []*Quota) {
	t.Helper()
	for _, q := range all {
		for range n {
			in = append(in, taken(t, q, account, limits, 10))
		}
	}
	return in
}

// Whatever befalls Redis: the share holds, nobody waits long, and it is shared
// again in five seconds, with what began meanwhile.
func TestQuotasFallBackToTheShareOfEachReplica(t *testing.T) {
	for name, fault := range quotaFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, harm, mend := fault(t)
			var log lockedText
			var both []*Quotas
			for range 2 {
				both = append(both, NewQuotas(QuotaOptions{
					Redis: limitRedis(t, address), Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now,
				}))
			}
			for _, q := range both {
				waitsFor(q, 1000)
			}
			acquaint(t, both...)
			limits := parallel(10)
			in := spread(t, "before", limits, 3, both...)
			for _, q := range both {
				waitsFor(q, redisTicks)
				q.resync = quotaResync
			}
			harm()
			waits := slowest(t, both)
			for _, q := range both {
				if q.Shared() {
					t.Error("still shared")
				}
				for account, want := range map[string]int{"before": 2, "new": 5} {
					more := admitted(t, 200, account, limits, 10, q)
					if len(more) != want {
						t.Errorf("%d more of %s got in", len(more), account)
					}
					in = append(in, more...)
				}
				first := taken(t, q, "one", parallel(1), 10) // one call for each replica, whatever the limit
				turnedAway(t, q, "one", parallel(1), 10)
				first.End(10)
			}
			checkTokensOfTheShare(t, both)
			mend()
			for _, q := range both {
				waitsFor(q, 1000)
				beats(t, q)
			}
			within5s(t, "shared again", func() bool { return both[0].Shared() && both[1].Shared() })
			for _, q := range both {
				turnedAway(t, q, "before", limits, 10)
				turnedAway(t, q, "new", limits, 10)
			}
			within5s(t, "what began meanwhile is entered", func() bool {
				for _, q := range both {
					for _, account := range []string{"before", "new"} {
						if live, _, _ := entry(t, q, account); live != 5 {
							return false
						}
					}
				}
				return true
			})
			endAll(in, 10)
			within5s(t, "one replica has all of it again", func() bool {
				again := admitted(t, 50, "new", limits, 10, both[0])
				endAll(again, 10)
				return len(again) == 10
			})
			if text := log.String(); strings.Count(text, "by each replica") < 2 || strings.Count(text, "shared again") < 2 {
				t.Errorf("the log says:\n%s", text)
			}
			t.Logf("a call waited at most %s", waits)
		})
	}
}

// slowest sends calls for a while and looks at how long the slowest took.
func slowest(t *testing.T, both []*Quotas) (most time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	late := machineLateness()
	for i := range 300 {
		all.Go(func() {
			began := time.Now()
			quota, err := both[i%2].Take(t.Context(), fmt.Sprint("many:", i/10), parallel(1000), 10)
			took := time.Since(began)
			ended := time.Now()
			quota.End(10)
			mu.Lock()
			most = max(most, took, time.Since(ended))
			mu.Unlock()
			if err != nil {
				t.Error(err)
			}
		})
		time.Sleep(5 * time.Millisecond)
	}
	all.Wait()
	if excuse := late(); most > 100*time.Millisecond+excuse {
		t.Errorf("a call waited %s, and the machine itself is late by %s", most, excuse)
	}
	return most
}

func checkTokensOfTheShare(t *testing.T, both []*Quotas) {
	t.Helper()
	if failure := sameMinute(nil, func() string {
		account := fmt.Sprint("tokens:", time.Now().UnixNano())
		for _, q := range both {
			in := admitted(t, 50, account, tpm(1000), 90, q)
			if len(in) != 5 {
				return fmt.Sprintf("%d got in within the share of tokens", len(in))
			}
			in[0].End(40)
			if _, err := q.Take(t.Context(), account, tpm(1000), 101); err == nil {
				return "more than the share got in"
			}
			if _, err := q.Take(t.Context(), account, tpm(1000), 100); err != nil {
				return err.Error()
			}
			if _, err := q.Take(t.Context(), account+"big", tpm(1000), 5000); err != nil {
				return err.Error()
			}
			if _, err := q.Take(t.Context(), account+"big", tpm(1000), 1); err == nil {
				return "a second one got in beside one that takes the whole"
			}
		}
		return ""
	}); failure != "" {
		t.Error(failure)
	}
}

// What the others had when Redis was last heard is left to them.
func TestTheShareLeavesOutWhatTheOthersHad(t *testing.T) {
	server := servertest.StartRedis(t)
	both := quotaReplicasOf(t, server.URL, 2)
	limits := &models.Limits{Numbers: models.Numbers{MaxParallel: 10, TPMLimit: 1 << 40}}
	in := admitted(t, 8, "key:a", limits, 10, both[0])
	in = append(in, spread(t, "key:a", limits, 1, both[1])...)
	if failure := sameMinute(both[0].redis, func() string {
		account := fmt.Sprint("tokens:", time.Now().UnixNano())
		taken(t, both[0], account, tpm(1000), 800)
		taken(t, both[1], account, tpm(1000), 50)
		trip(t, both[1])
		_, errMore := both[1].Take(t.Context(), account, tpm(1000), 151)
		_, errRest := both[1].Take(t.Context(), account, tpm(1000), 150)
		time.Sleep(quotaPause)
		both[1].heartbeat(t.Context())
		if errMore == nil || errRest != nil {
			return fmt.Sprint(errMore, errRest)
		}
		return ""
	}); failure != "" {
		t.Error(failure)
	}
	acquaint(t, both...)
	server.Stop()
	more := admitted(t, 20, "key:a", limits, 10, both[1])
	if len(in) != 9 || len(more) != 1 {
		t.Errorf("%d and then %d got in", len(in), len(more))
	}
	both[1].now = func() time.Time { return time.Now().Add(quotaLease) } // they have ended since, most likely
	if more := admitted(t, 20, "key:a", limits, 10, both[1]); len(more) != 3 {
		t.Errorf("%d got in later", len(more))
	}
	if more := admitted(t, 20, "key:a", limits, 10, both[0]); len(more) != 0 {
		t.Errorf("%d got in over the share", len(more))
	}
}

func TestWhenRedisIsEmptiedTheShareHoldsUntilAllIsEnteredAgain(t *testing.T) {
	both := quotaReplicasOf(t, servertest.StartRedis(t).URL, 2)
	limits := parallel(10)
	in := spread(t, "key:a", limits, 2, both[0])
	in = append(in, spread(t, "key:a", limits, 3, both[1])...)
	for _, q := range both {
		q.resync = quotaResync
	}
	if err := both[0].redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	more := admitted(t, 50, "key:a", limits, 10, both[0])
	if len(more) != 3 {
		t.Errorf("%d more got in on a replica that had 2", len(more))
	}
	both[1].heartbeat(t.Context())
	if live, _, _ := entry(t, both[1], "key:a"); live != 3 {
		t.Errorf("%d are entered", live)
	}
	if more := admitted(t, 50, "key:a", limits, 10, both[1]); len(more) != 2 {
		t.Errorf("%d more got in on a replica that had 3", len(more))
	}
	if failure := sameMinute(both[0].redis, func() string {
		account := fmt.Sprint("tokens:", time.Now().UnixNano())
		refused, err := both[0].Take(t.Context(), account, tpm(1000), 500)
		if err != nil || refused.Status().Remaining != 0 {
			return fmt.Sprint(err, refused.Status())
		}
		if _, err := both[0].Take(t.Context(), account, tpm(1000), 1); err == nil {
			return "more than the share of tokens got in"
		}
		return ""
	}); failure != "" {
		t.Error(failure)
	}
	endAll(in, 1)
	endAll(more, 1)
	within5s(t, "one replica has all of it again", func() bool {
		again := admitted(t, 50, "key:b", limits, 10, both[0])
		endAll(again, 10)
		return len(again) == 10
	})
	if since := time.Since(began); since < quotaResync-quotaHeartbeat {
		t.Errorf("settled after %s", since)
	}
}

// A replica that comes back cannot know yet what the others began meanwhile.
func TestAfterAnOutageTheShareHoldsForAWhile(t *testing.T) {
	server := servertest.StartRedis(t)
	both := quotaReplicasOf(t, server.URL, 2)
	for _, q := range both {
		q.resync = quotaResync
	}
	server.Freeze()
	for _, q := range both {
		waitsFor(q, redisTicks)
		if in := admitted(t, 20, "key:a", parallel(10), 10, q); len(in) != 5 {
			t.Errorf("%d got in", len(in))
		}
		waitsFor(q, 1000)
	}
	server.Thaw()
	within5s(t, "one replica is shared again", func() bool {
		if in := admitted(t, 20, "key:a", parallel(10), 10, both[0]); len(in) != 0 {
			t.Fatalf("%d got in", len(in))
		}
		return both[0].Shared()
	})
	if in := admitted(t, 20, "key:b", parallel(10), 10, both[0]); len(in) != 5 {
		t.Errorf("%d of another got in", len(in))
	}
}

func TestAReplicaThatHasNeverHeardRedisHoldsTheLimitByItself(t *testing.T) {
	server := servertest.StartRedis(t)
	server.Stop()
	q := newTestQuotas(limitRedis(t, server.URL))
	if in := admitted(t, 100, "key:a", parallel(10), 10, q); len(in) != 10 || q.Shared() {
		t.Errorf("%d got in", len(in))
	}
	server.Restart()
	beats(t, q)
	within5s(t, "shared", q.Shared)
	within5s(t, "entered", func() bool { return q.redis.HExists(t.Context(), quotaEntries+"key:a", q.replica).Val() })
	if live, _, tokens := entry(t, q, "key:a"); live != 10 || tokens != 100 && tokens != 0 {
		t.Errorf("%d calls with %d tokens are entered", live, tokens)
	}
}

// A script that has once written may write on: so a full Redis still counts.
func TestARedisThatIsFullStillCounts(t *testing.T) {
	both := quotaReplicasOf(t, servertest.StartRedis(t).URL, 2)
	if err := both[0].redis.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	in := admitted(t, 200, "key:a", parallel(10), 10, both...)
	if len(in) != 10 || !both[0].Shared() {
		t.Errorf("%d got in", len(in))
	}
	endAll(in, 10)
	if in := admitted(t, 200, "key:a", parallel(10), 10, both[1]); len(in) != 10 {
		t.Errorf("%d got in afterwards", len(in))
	}
}

func TestACallThatEndsDuringAnOutageIsGivenBackAfterIt(t *testing.T) {
	both := quotaReplicasOf(t, servertest.Redis(t), 2)
	call := taken(t, both[0], "key:a", parallel(1), 10)
	trip(t, both[0])
	call.End(0)
	turnedAway(t, both[1], "key:a", parallel(1), 10)
	within5s(t, "its place is free", func() bool {
		both[0].heartbeat(t.Context())
		quota, err := both[1].Take(t.Context(), "key:a", parallel(1), 10)
		quota.End(0)
		return err == nil
	})
}

func TestAnEndThatDoesNotReachRedisIsSaidAgain(t *testing.T) {
	server := servertest.StartRedis(t)
	q := quotaReplicasOf(t, server.URL, 1)[0]
	call := taken(t, q, "key:a", parallel(1), 10)
	server.Stop()
	call.End(0)
	server.Restart()
	within5s(t, "its place is free", func() bool {
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
func TestCallsThatRedisDecidesOnCountDuringAnOutage(t *testing.T) {
	q := quotaReplicasOf(t, servertest.Redis(t), 1)[0]
	taken(t, q, "key:a", parallel(4), 10)
	calls := make([]*admission, 3)
	for i := range calls {
		calls[i] = &admission{take: true, calls: 4, need: 1}
	}
	ask, finish := q.prepare("key:a", calls)
	trip(t, q)
	turnedAway(t, q, "key:a", parallel(4), 10)
	err := ask(t.Context())
	finish(err)
	if live, _ := q.Used("key:a"); err != nil || live != 4 {
		t.Errorf("%d calls run: %v", live, err)
	}
}
