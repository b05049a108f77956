package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

func level(account, name string, n models.Numbers) models.Level {
	return models.Level{Account: account, Name: name, Limits: models.Limits{Numbers: n}}
}

// inProcessAndInRedis runs a test of quotas without Redis and with it.
func inProcessAndInRedis(t *testing.T, test func(t *testing.T, q *Quotas)) {
	t.Helper()
	t.Run("in process", func(t *testing.T) { test(t, newTestQuotas(nil)) })
	t.Run("in Redis", func(t *testing.T) { test(t, newQuotaReplicas(t, servertest.Redis(t), 1)[0]) })
}

func TestACallTakesOfAllLevelsOrOfNone(t *testing.T) {
	longtest.AwaitMinute(t, 5*time.Second)
	inProcessAndInRedis(t, func(t *testing.T, q *Quotas) {
		levels := models.Levels{
			level("key:k", "this API key", models.Numbers{MaxParallel: 5, TPMLimit: 1000}),
			level("user:u", "your account", models.Numbers{RPMLimit: 1}), // no quota
			level("team:t", "the team Research", models.Numbers{MaxParallel: 2, TPMLimit: 1 << 40}),
		}
		var in []*Quota
		for range 2 {
			quota, err := q.Take(t.Context(), levels, 10)
			if err != nil {
				t.Fatal(err)
			}
			in = append(in, quota)
		}
		if s := in[1].Status(); s.Limit != 1000 || s.Remaining != 980 {
			t.Errorf("the status is not that of the tightest limit: %+v", s)
		}
		refused, err := q.Take(t.Context(), levels, 10)
		if err == nil || !strings.HasPrefix(err.Error(), "rate_limit_exceeded: the limit of 2 calls at the same time of the team Research is reached") {
			t.Errorf("%v", err)
		}
		refused.End(10)
		for account, want := range map[string]int64{"key:k": 2, "team:t": 2, "user:u": 0} {
			if calls, tokens := q.Used(account); calls != want || tokens != 10*want {
				t.Errorf("%s: %d calls, %d tokens", account, calls, tokens)
			}
		}
		endAll(in, 7)
		for _, account := range []string{"key:k", "team:t"} {
			if calls, tokens := q.Used(account); calls != 0 || tokens != 14 {
				t.Errorf("%s: %d calls, %d tokens in the end", account, calls, tokens)
			}
		}
		levels[0].TPMLimit = 20
		refused, err = q.Take(t.Context(), levels, 10)
		if err == nil || !strings.Contains(err.Error(), "the limit of 20 tokens a minute of this API key is reached") {
			t.Errorf("%v", err)
		}
		if s := refused.Status(); s.Limit != 20 || s.Remaining != 6 {
			t.Errorf("%+v", s)
		}
		if calls, _ := q.Used("team:t"); calls != 0 {
			t.Errorf("%d calls of the team", calls)
		}
	})
}

// A user may be in several teams, so the accounts of two calls overlap in any way.
func TestNoLevelIsExceededByCallsWithOverlappingAccounts(t *testing.T) {
	both := newQuotaReplicas(t, servertest.Redis(t), 2)
	if failure := inTime(t, both, func(account string) string { return overlap(t, both, account) }); failure != "" {
		t.Error(failure)
	}
}

// overlap makes calls of accounts whose names begin with prefix, and says which limit was exceeded.
func overlap(t *testing.T, both []*Quotas, prefix string) string {
	t.Helper()
	type counter struct {
		level models.Level
		live  atomic.Int64
	}
	var accounts []*counter
	for i, kind := range []string{"key", "key", "key", "user", "user", "team", "team"} {
		n := models.Numbers{MaxParallel: 1 + rand.Int64N(6), TPMLimit: 1 << 40}
		accounts = append(accounts, &counter{level: level(fmt.Sprint(kind, ":", prefix, i), kind, n)})
	}
	keys, users, teams := accounts[:3], accounts[3:5], accounts[5:]
	var passed atomic.Int64
	var failure atomic.Value
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			for range 40 {
				mine := []*counter{keys[rand.IntN(3)], users[rand.IntN(2)], teams[rand.IntN(2)]}
				mine = slices.Delete(mine, rand.IntN(2), 1+rand.IntN(2))
				var levels models.Levels
				for _, c := range mine {
					levels = append(levels, c.level)
				}
				quota, err := both[i%2].Take(t.Context(), levels, 10)
				if err != nil {
					checkRefusal(t, err)
					continue
				}
				passed.Add(1)
				for _, c := range mine {
					if n := c.live.Add(1); n > c.level.MaxParallel {
						failure.Store(fmt.Sprintf("%d calls of %s at the same time", n, c.level.Account))
					}
				}
				time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
				for _, c := range mine {
					c.live.Add(-1)
				}
				quota.End(10)
			}
		})
	}
	all.Wait()
	for _, c := range accounts {
		if live, _, _ := entry(t, both[0], c.level.Account); live != 0 {
			failure.Store(fmt.Sprintf("%s: %d calls are running in Redis", c.level.Account, live))
		}
	}
	if passed.Load() == 0 || !both[0].Shared() || !both[1].Shared() {
		return fmt.Sprintf("%d passed; shared: %v, %v", passed.Load(), both[0].Shared(), both[1].Shared())
	}
	text, _ := failure.Load().(string)
	return text
}

// However many levels have limits, a call costs one round trip to begin and one to end.
func TestAllLevelsOfACallAreOneRunOfTheScript(t *testing.T) {
	address := servertest.StartRedis(t).URL
	q := newQuotaReplicas(t, address, 1)[0]
	levels := models.Levels{
		level("key:k", "k", models.Numbers{MaxParallel: 5}), level("user:u", "u", models.Numbers{TPMLimit: 500}),
		level("team:t", "t", models.Numbers{MaxParallel: 2}),
	}
	before := scriptCalls(t, q.client())
	quota, err := q.Take(t.Context(), levels, 10)
	if err != nil {
		t.Fatal(err)
	}
	quota.End(10)
	if n := scriptCalls(t, q.client()) - before; n != 2 {
		t.Errorf("%d runs", n)
	}
}

func TestARequestCountsOnEveryLevelWithALimit(t *testing.T) {
	client := limitRedis(t, servertest.Redis(t))
	for name, l := range map[string]*Requests{"in process": newTestLimit(t, "levels", 2, nil), "in Redis": waitLong(newTestLimit(t, "levels", 2, client))} {
		levels := func(key, user, team int64) models.Levels {
			return models.Levels{
				level("key:k", "this API key", models.Numbers{RPMLimit: key}), level("user:u", "your account", models.Numbers{RPMLimit: user}),
				level("team:t", "the team Research", models.Numbers{RPMLimit: team}),
			}
		}
		for i, step := range []struct {
			key, user, team  int64
			limit, remaining int64
			refusal          string
		}{
			{0, 10, 3, 3, 2, ""}, // user 1, team 1
			{4, 10, 3, 3, 1, ""}, // key 1, user 2, team 2
			{4, 0, 0, 4, 2, ""},  // key 2
			{4, 10, 3, 3, 0, ""}, // key 3, user 3, team 3
			{4, 10, 3, 3, 0, "of the team Research"},
			{4, 10, 9, 4, 0, "of this API key"}, // the refused request was counted on the key as well
			{0, 10, 9, 9, 3, ""},
			{0, 10, 0, 10, 3, ""},
			{0, 0, 0, 2, 1, ""}, // the gateway's own limit, of the account
			{0, 0, 0, 2, 0, ""},
			{0, 0, 0, 2, 0, "minute is"},
		} {
			s, err := l.Take(t.Context(), "other:a", levels(step.key, step.user, step.team))
			if s.Limit != step.limit || s.Remaining != step.remaining || (err == nil) != (step.refusal == "") ||
				err != nil && !strings.Contains(err.Error(), step.refusal+" ") {
				t.Errorf("%s, request %d: %+v, %v", name, i, s, err)
			}
		}
	}
}
