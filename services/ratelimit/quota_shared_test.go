package ratelimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

// newQuotaReplicas makes n replicas on one Redis. Their jobs wait long enough for a loaded machine.
func newQuotaReplicas(t testing.TB, address string, n int) []*Quotas {
	t.Helper()
	all := make([]*Quotas, n)
	for i := range all {
		all[i] = newTestQuotas(limitRedis(t, address))
		all[i].batches.ticks = 1000
	}
	awaitSharedQuotas(t, all...)
	return all
}

// awaitSharedQuotas sends heartbeats until Redis counts for all of the replicas.
func awaitSharedQuotas(t testing.TB, all ...*Quotas) {
	t.Helper()
	within5s(t, "the replicas share", func() bool {
		for _, q := range all {
			if q.heartbeat(t.Context()); !q.Shared() {
				return false
			}
		}
		return true
	})
}

func within5s(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within five seconds: " + what)
		}
	}
}

// startHeartbeats sends a replica's heartbeats until the test ends or stop is called.
func startHeartbeats(t testing.TB, q *Quotas) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { q.Run(ctx) })
	stop = func() { cancel(); ended.Wait() }
	t.Cleanup(stop)
	return stop
}

// sameMinute runs a test of the tokens of one minute. It repeats the test when the
// minute ended meanwhile.
func sameMinute(client *redis.Client, test func() (failure string)) (failure string) {
	minute := func() int64 {
		if client == nil {
			return time.Now().Unix() / 60
		}
		return client.Time(context.Background()).Val().Unix() / 60
	}
	for range 3 {
		began := minute()
		if failure = test(); failure == "" || minute() == began {
			return failure
		}
	}
	return failure
}

func entry(t testing.TB, q *Quotas, account string) (live, minute, tokens int64) {
	t.Helper()
	text := q.client().HGet(t.Context(), quotaEntries+account, q.replica).Val()
	var seq int64
	if _, err := fmt.Sscan(text, &seq, &live, &minute, &tokens); err != nil {
		t.Errorf("entry %q: %v", text, err)
	}
	return live, minute, tokens
}

func TestExactlyTheLimitOfConcurrentCallsIsAdmittedByTwoReplicas(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	for trial := range 20 {
		most := int64(1 + trial*3)
		in := takeConcurrently(t, 500, "key:a", parallel(most), 100, both...)
		if len(in) != int(most) {
			t.Errorf("trial %d: %d admitted", trial, len(in))
		}
		for _, q := range both {
			mustRefuse(t, q, "key:a", parallel(most), 1)
		}
		endAll(in, 10)
		if live, _, _ := entry(t, both[0], "key:a"); live != 0 {
			t.Errorf("trial %d: %d calls are running in Redis", trial, live)
		}
	}
	if ttl := both[0].client().PTTL(t.Context(), quotaEntries+"key:a").Val(); ttl <= time.Minute || ttl > quotaKeep {
		t.Errorf("entries are kept for %s", ttl)
	}
	if ttl := both[0].client().PTTL(t.Context(), quotaReplicas).Val(); ttl <= 0 || ttl > 20*time.Second {
		t.Errorf("replicas are kept for %s", ttl)
	}
}

func TestCallsThatBeginAndEndNeverExceedTheLimit(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	var live, most, passed atomic.Int64
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			for range 40 {
				quota, err := both[i%2].Take(t.Context(), alone("key:a", parallel(5)), 10)
				if err != nil {
					runtime.Gosched()
					continue
				}
				n := live.Add(1)
				for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
				}
				passed.Add(1)
				time.Sleep(time.Duration(rand.Int64N(int64(time.Millisecond))))
				live.Add(-1)
				quota.End(10)
			}
		})
	}
	all.Wait()
	t.Logf("%d passed, at most %d at once", passed.Load(), most.Load())
	if most.Load() > 5 || passed.Load() < 10 {
		t.Error("more than 5 at once, or hardly any")
	}
	if in := takeConcurrently(t, 100, "key:a", parallel(5), 1, both...); len(in) != 5 {
		t.Errorf("%d admitted afterwards", len(in))
	}
}

func TestNoMoreThanTheTokensOfAMinuteAreReservedByTwoReplicas(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	for trial := range 20 {
		if failure := sameMinute(both[0].client(), func() string {
			account := fmt.Sprint("key:", rand.Int64())
			in := takeConcurrently(t, 300, account, tpm(1000), 30, both...)
			if len(in) != 33 {
				return fmt.Sprintf("trial %d: %d admitted", trial, len(in))
			}
			endAll(in[:20], 10) // 600 reserved become 200 used; 390 stay reserved
			again := takeConcurrently(t, 300, account, tpm(1000), 30, both...)
			if len(again) != 13 {
				return fmt.Sprintf("trial %d: %d admitted after the correction", trial, len(again))
			}
			endAll(again, 10_000)
			if quota, err := both[trial%2].Take(t.Context(), alone(account, tpm(1000)), 1); err == nil {
				return fmt.Sprintf("trial %d: %+v over the limit", trial, quota.Status())
			}
			return ""
		}); failure != "" {
			t.Error(failure)
		}
	}
}

func TestTokenStatusIsThatOfAllReplicas(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	if failure := sameMinute(both[0].client(), func() string {
		account := fmt.Sprint("key:", rand.Int64())
		var last *Quota
		for i := range int64(8) {
			last, _ = both[i%2].Take(t.Context(), alone(account, tpm(1000)), 100)
			if s := last.Status(); s.Limit != 1000 || s.Remaining != 900-100*i || s.Reset <= 0 || s.Reset > time.Minute {
				return fmt.Sprintf("call %d: %+v", i, s)
			}
		}
		last.End(150)
		refused, err := both[0].Take(t.Context(), alone(account, tpm(1000)), 151)
		if err == nil || refused.Status().Remaining != 150 || !strings.Contains(err.Error(), "may need 151, 150 are left") {
			return fmt.Sprintf("%v, %+v", err, refused.Status())
		}
		end := both[0].client().Time(t.Context()).Val().Truncate(time.Minute).Add(time.Minute)
		if off := time.Until(end) - refused.Status().Reset; off.Abs() > 200*time.Millisecond {
			return fmt.Sprintf("the minute ends %s after the reset of the status", off)
		}
		if _, err := both[1].Take(t.Context(), alone(account, tpm(1000)), 5000); err == nil {
			return "more than the limit is admitted beside other calls"
		}
		if _, err := both[1].Take(t.Context(), alone(account+"b", tpm(1000)), 5000); err != nil {
			return err.Error()
		}
		if _, err := both[0].Take(t.Context(), alone(account+"b", tpm(1000)), 1); err == nil {
			return "it did not take the whole limit"
		}
		return ""
	}); failure != "" {
		t.Error(failure)
	}
}

// The clock of Redis decides, not that of a replica.
func TestReplicasWhoseClocksDifferShareTheMinute(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	both[1].now = func() time.Time { return time.Now().Add(31 * time.Second) }
	if failure := sameMinute(both[0].client(), func() string {
		account := fmt.Sprint("key:", rand.Int64())
		for i := range 10 {
			quota, err := both[i%2].Take(t.Context(), alone(account, tpm(1000)), 100)
			if err != nil {
				return fmt.Sprintf("call %d: %v", i, err)
			}
			quota.End(90)
		}
		for i := range 2 {
			if _, err := both[i].Take(t.Context(), alone(account, tpm(1000)), 101); err == nil {
				return "more than the limit is admitted"
			}
		}
		return ""
	}); failure != "" {
		t.Error(failure)
	}
}

func TestCallsOfAKilledReplicaEndWithItsLease(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	const lease = 1500 * time.Millisecond
	for _, q := range both {
		q.lease = lease
	}
	dead, other := both[0], both[1]
	other.client().Del(t.Context(), quotaReplicas)
	awaitSharedQuotas(t, both...)
	startHeartbeats(t, other)
	in := takeConcurrently(t, 50, "key:a", parallel(4), 100, dead)
	lastHeartbeat := time.Now()
	for time.Since(lastHeartbeat) < lease-100*time.Millisecond {
		if quota, err := other.Take(t.Context(), alone("key:a", parallel(4)), 1); err == nil && time.Since(lastHeartbeat) < lease {
			t.Fatalf("admitted after %s: %+v", time.Since(lastHeartbeat), quota)
		}
		time.Sleep(20 * time.Millisecond)
	}
	within5s(t, "all slots are free", func() bool {
		again := takeConcurrently(t, 20, "key:a", parallel(4), 1, other)
		endAll(again, 1)
		return len(in) == 4 && len(again) == 4
	})
	if quotaLease > 20*time.Second || quotaHeartbeat > quotaLease/4 {
		t.Error("slots are free again too late")
	}
}

func TestHeartbeatsKeepTheCallsOfAReplica(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	for _, q := range both {
		q.lease = 1500 * time.Millisecond
		startHeartbeats(t, q)
	}
	long := mustTake(t, both[0], "key:a", parallel(1), 1)
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		mustRefuse(t, both[1], "key:a", parallel(1), 1)
	}
	long.End(1)
	mustTake(t, both[1], "key:a", parallel(1), 1)
}

// Calls may take longer than entries are kept.
func TestEntriesOfLongCallsAreWrittenAgain(t *testing.T) {
	q := newQuotaReplicas(t, servertest.Redis(t), 1)[0]
	long := mustTake(t, q, "key:a", parallel(1), 1)
	idle := mustTake(t, q, "key:b", parallel(1), 1)
	idle.End(1)
	for _, account := range []string{"key:a", "key:b"} {
		if !q.client().PExpire(t.Context(), quotaEntries+account, time.Hour).Val() {
			t.Error("no entry")
		}
	}
	kept := func(account string) time.Duration { return q.client().PTTL(t.Context(), quotaEntries+account).Val() }
	q.heartbeat(t.Context())
	if kept("key:a") < quotaKeep {
		t.Error("written again at once")
	}
	q.now = func() time.Time { return time.Now().Add(quotaKeep / 2) }
	q.heartbeat(t.Context())
	if kept("key:a") > quotaKeep || kept("key:b") < quotaKeep {
		t.Errorf("kept for %s, the idle one for %s", kept("key:a"), kept("key:b"))
	}
	long.End(1)
}

func TestAResumedReplicaWritesItsEntriesAgain(t *testing.T) {
	longtest.AwaitMinute(t, 5*time.Second)
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	frozen, other := both[0], both[1]
	in := takeConcurrently(t, 10, "key:a", parallel(4), 100, frozen)
	if err := other.client().ZRem(t.Context(), quotaReplicas, frozen.replica).Err(); err != nil { // its lease has expired
		t.Fatal(err)
	}
	meanwhile := takeConcurrently(t, 10, "key:a", parallel(4), 100, other)
	if len(in) != 4 || len(meanwhile) != 4 {
		t.Fatalf("%d and %d admitted", len(in), len(meanwhile))
	}
	if err := other.client().Del(t.Context(), quotaEntries+"key:a").Err(); err != nil { // as after two minutes
		t.Fatal(err)
	}
	frozen.heartbeat(t.Context())
	if live, _, tokens := entry(t, frozen, "key:a"); live != 4 || tokens != 400 {
		t.Errorf("%d calls with %d tokens are in Redis", live, tokens)
	}
	endAll(meanwhile, 100)
	mustRefuse(t, other, "key:a", parallel(4), 1)
	in[0].End(100)
	mustTake(t, other, "key:a", parallel(4), 1)
	mustRefuse(t, other, "key:a", parallel(4), 1)
}

// The clock of a replica may be minutes off until the next answer of Redis.
func TestAReplicaWhoseClockJumpsKeepsItsCount(t *testing.T) {
	q := newQuotaReplicas(t, servertest.Redis(t), 1)[0]
	for _, jump := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
		q.now = time.Now
		q.heartbeat(t.Context())
		if failure := sameMinute(q.client(), func() string {
			account := fmt.Sprint("key:", rand.Int64())
			q.now = time.Now
			q.heartbeat(t.Context())
			mustTake(t, q, account, tpm(1000), 500)
			q.now = func() time.Time { return time.Now().Add(jump) }
			for i := range int64(3) {
				quota, err := q.Take(t.Context(), alone(account, tpm(1000)), 100)
				if s := quota.Status(); err != nil || s.Remaining != 400-100*i {
					return fmt.Sprintf("%s, call %d: %v, %+v", jump, i, err, s)
				}
			}
			if _, _, tokens := entry(t, q, account); tokens != 800 {
				return fmt.Sprintf("%s: %d tokens are in Redis", jump, tokens)
			}
			return ""
		}); failure != "" {
			t.Error(failure)
		}
	}
}

// The clock of Redis was an hour ahead at the replica's last heartbeat.
func TestAReplicaWithALeaseInTheFutureIsNotCounted(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	takeConcurrently(t, 5, "key:a", parallel(5), 1, both[0])
	future := float64(time.Now().Add(time.Hour).UnixMilli())
	if err := both[0].client().ZAdd(t.Context(), quotaReplicas, redis.Z{Score: future, Member: both[0].replica}).Err(); err != nil {
		t.Fatal(err)
	}
	if in := takeConcurrently(t, 50, "key:a", parallel(5), 1, both[1]); len(in) != 5 {
		t.Errorf("%d admitted", len(in))
	}
}

func TestLargeNumbersOfTokensAreExact(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	const limit, first, second = 1 << 50, 1<<49 + 1<<48 + 1, 12345
	if failure := sameMinute(both[0].client(), func() string {
		account := fmt.Sprint("key:", rand.Int64())
		mustTake(t, both[0], account, tpm(limit), first)
		if s := mustTake(t, both[1], account, tpm(1<<62), second).Status(); s.Remaining != limit-first-second {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	}); failure != "" {
		t.Error(failure)
	}
}

// The tokens of a replica that has ended have been used.
func TestTokensOfAnEndedReplicaCountToTheEndOfTheMinute(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	if failure := sameMinute(both[0].client(), func() string {
		account := fmt.Sprint("key:", rand.Int64())
		limits := &models.Limits{Numbers: models.Numbers{TPMLimit: 100, MaxParallel: 1}}
		mustTake(t, both[0], account, limits, 70)
		both[1].client().ZRem(t.Context(), quotaReplicas, both[0].replica)
		if quota, err := both[1].Take(t.Context(), alone(account, limits), 31); err == nil {
			return fmt.Sprintf("%+v", quota.Status())
		}
		if _, err := both[1].Take(t.Context(), alone(account, limits), 30); err != nil {
			return err.Error()
		}
		return ""
	}); failure != "" {
		t.Error(failure)
	}
}

func TestAnOvertakenMessageChangesNothing(t *testing.T) {
	q := newQuotaReplicas(t, servertest.Redis(t), 1)[0]
	quota := mustTake(t, q, "key:a", parallel(5), 1)
	send, _ := q.prepare("", []*Quota{waiting(q, "key:a", 5, 7)})
	quota.End(1)
	if err := send(t.Context()); err == nil {
		t.Error("Redis has accepted it")
	}
	if live, _, _ := entry(t, q, "key:a"); live != 0 {
		t.Errorf("%d calls are running", live)
	}
}

// A command whose answer comes too late has changed Redis.
func TestACallWhoseAnswerFromRedisIsLateIsReleased(t *testing.T) {
	longtest.AwaitMinute(t, 5*time.Second)
	slow := newDelay(t, servertest.StartRedis(t).URL)
	q := newQuotaReplicas(t, slow.url, 1)[0]
	q.batches.ticks = redisTicks
	slow.each.Store(int64(90 * time.Millisecond))
	first := mustTake(t, q, "key:a", parallel(2), 100)
	slow.each.Store(0)
	within5s(t, "Redis is back", func() bool { q.heartbeat(t.Context()); return q.Shared() })
	if live, _, tokens := entry(t, q, "key:a"); live != 1 || tokens != 100 {
		t.Errorf("%d calls with %d tokens", live, tokens)
	}
	first.End(30)
	if live, _, tokens := entry(t, q, "key:a"); live != 0 || tokens != 30 && tokens != 0 {
		t.Errorf("%d calls with %d tokens", live, tokens)
	}
}

func TestConcurrentCallsShareMessages(t *testing.T) {
	server := servertest.StartRedis(t)
	admin := limitRedis(t, server.URL)
	slow := newDelay(t, server.URL)
	q := newQuotaReplicas(t, slow.url, 1)[0]
	endAll(takeConcurrently(t, 1, "key:a", parallel(10), 1, q), 1)
	slow.each.Store(int64(80 * time.Millisecond))
	if failure := inTime(t, []*Quotas{q}, func(account string) string {
		if err := admin.ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		in := takeConcurrently(t, 1000, account, parallel(10), 1, q)
		endAll(in, 1)
		if !q.Shared() {
			return "Redis does not count"
		}
		if n := scriptCalls(t, admin); len(in) != 10 || n > 8 {
			return fmt.Sprintf("%d admitted, with %d messages", len(in), n)
		}
		return ""
	}); failure != "" {
		t.Error(failure)
	}
}

func TestQuotasEndTheirGoroutines(t *testing.T) {
	server := servertest.StartRedis(t)
	q := newTestQuotas(limitRedis(t, server.URL))
	stop := startHeartbeats(t, q)
	endAll(takeConcurrently(t, 500, "key:a", parallel(10), 1, q), 1)
	server.Freeze()
	endAll(takeConcurrently(t, 500, "key:a", parallel(10), 1, q), 1)
	if !strings.Contains(stacks(), "ratelimit.(*Quotas)") {
		t.Error("Run is not running")
	}
	stop()
	within5s(t, "all goroutines have ended", func() bool {
		all := stacks()
		for _, function := range []string{"ratelimit.(*Quotas)", "ratelimit.(*batcher", "ratelimit.within("} {
			if strings.Contains(all, function) {
				return false
			}
		}
		return true
	})
	server.Thaw()
}

// stacks are those of all goroutines.
func stacks() string {
	text := make([]byte, 4<<20)
	return string(text[:runtime.Stack(text, true)])
}

func BenchmarkQuotaInRedis(b *testing.B) {
	q := newQuotaReplicas(b, servertest.Redis(b), 1)[0]
	limits := &models.Limits{Numbers: models.Numbers{TPMLimit: 1 << 40, MaxParallel: 1000}}
	b.ReportAllocs()
	for b.Loop() {
		quota, err := q.Take(b.Context(), alone("key:a", limits), 100)
		if err != nil {
			b.Fatal(err)
		}
		quota.End(50)
	}
}
