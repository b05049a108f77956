package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"modelgateway/models/servertest"
)

// pair is two programs on one PostgreSQL and one Redis that a test may break.
type pair struct {
	*race
	redis   *servertest.RedisServer
	token   []string
	refused atomic.Int64 // calls of bursts
}

func newPair(t *testing.T, more ...string) *pair {
	t.Helper()
	redis := servertest.StartRedis(t)
	settings := append([]string{"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + redis.URL}, more...)
	r := newRace(t, newTariff(t), 2, settings...)
	return &pair{race: r, redis: redis, token: r.programs[0].login(t)}
}

// burst is so many calls at once over these programs, of so many tokens each. It
// says how many were served. Anything but a 429 of ours is a fault.
func (p *pair) burst(calls int, key string, in, out int64, at ...*program) (served int64) {
	p.t.Helper()
	var all sync.WaitGroup
	var fine atomic.Int64
	for i := range calls {
		all.Go(func() {
			o := pay(p.t.Context(), p.client, at[i%len(at)].url, paying(in, out, out, fmt.Sprint("burst-", i), i%3 == 0), key)
			if wait, err := strconv.Atoi(o.header.Get("Retry-After")); o.status == 429 && err == nil && wait >= 1 && wait <= 60 && o.header.Get("X-Should-Retry") == "true" &&
				strings.Contains(o.body, `"rate_limit_exceeded"`) && strings.Contains(o.body, fmt.Sprint("try again in ", wait, "s")) {
				p.refused.Add(1)
			} else if o.fits(p.t) {
				fine.Add(1)
			}
		})
	}
	all.Wait()
	return fine.Load()
}

// atOnce is how many of 24 calls run at once: the upstream answers none of them
// before each has come to it or was refused.
func (p *pair) atOnce(key string, at ...*program) int64 {
	p.t.Helper()
	const calls = 24
	eventually(p.t, 20*time.Second, "the upstream is done with those before", func() bool { return p.upstream.live.Load() == 0 })
	p.refused.Store(0)
	p.upstream.hold.Lock()
	go func() { // ends with the calls, or after the time that they have
		defer p.upstream.hold.Unlock()
		for began := time.Now(); p.upstream.live.Load()+p.refused.Load() < calls && time.Since(began) < 20*time.Second; {
			time.Sleep(time.Millisecond)
		}
	}()
	return p.burst(calls, key, 1, 1, at...)
}

// sharesFour waits until each program has all four calls of a key at once, and
// both together have them. A program that had to wait for Redis too long goes on
// with its share, of which the other did not hear.
func (p *pair) sharesFour(key string) {
	p.t.Helper()
	const limit, share = 4, 2
	eventually(p.t, 30*time.Second, "each has all of it", func() bool {
		one, both, other := p.atOnce(key, p.programs[0]), p.atOnce(key, p.programs...), p.atOnce(key, p.programs[1])
		if one > limit || other > limit || both > limit+share {
			p.t.Errorf("%d and %d ran at once on each, %d on both", one, other, both)
		}
		return one == limit && both == limit && other == limit
	})
}

// early waits, if need be, until a minute has some time left.
func early(t testing.TB) {
	t.Helper()
	const enough = 20
	if s := time.Now().Second(); s >= 60-enough {
		t.Logf("waits for the next minute, %d s", 60-s)
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 100*time.Millisecond)))
	}
}

func TestWithoutRedisLimitsHoldByShareAndBudgetsDoNotCare(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name          string
		begin, finish func(s *servertest.RedisServer)
	}{
		{"stopped", (*servertest.RedisServer).Stop, (*servertest.RedisServer).Restart},
		{"frozen", (*servertest.RedisServer).Freeze, (*servertest.RedisServer).Thaw},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			_, parallel := p.programs[0].newKey(t, p.token, `"max_parallel_requests":4`)
			_, tokens := p.programs[0].newKey(t, p.token, `"tpm_limit":10000`)
			budget, money := p.programs[0].newKey(t, p.token, `"budget_usd":5`)

			p.sharesFour(parallel)
			p.burst(2, money, 1, 1, p.programs...) // whose key is known from now on
			fault.begin(p.redis)
			for range 3 {
				if served := p.atOnce(parallel, p.programs...); served < 2 || served > 4 {
					t.Errorf("without Redis %d ran at once", served)
				}
			}
			early(t)
			// Each is thought to need 1000 tokens and some, and does.
			if served := p.burst(60, tokens, 40, 1000, p.programs...); served < 2 || served > 9 {
				t.Errorf("without Redis %d calls of 1000 tokens were served of a limit of 10000", served)
			}
			before := p.upstream.charged.Load()
			served := p.spree("without", money)
			if charged := p.upstream.charged.Load() - before; charged > 5_000_000 || served == 0 {
				t.Errorf("a budget of 5 dollars: %d, by %d", charged, served)
			}
			p.rest("rest", "key:"+budget, money, 5_000_000)
			fault.finish(p.redis)
			p.sharesFour(parallel)
			p.balancesInAll()
		})
	}
}

// balancesInAll is balances where calls of one name were made more than once.
func (p *pair) balancesInAll() {
	p.t.Helper()
	eventually(p.t, 20*time.Second, "the ledger balances", func() bool {
		return sum(p.t, p.db, "SELECT count(*) FROM calls") == p.upstream.asked.Load() &&
			sum(p.t, p.db, "SELECT sum(cost) FROM spend WHERE account = 'gateway'") == p.upstream.charged.Load()
	})
}

func TestAChangeHoldsOnTheOtherReplicaWithinASecond(t *testing.T) {
	p := newPair(t)
	here, there := p.programs[0], p.programs[1]
	body := paying(10, 10, 100, "patch", false) // costs 900 µ$, at most some 17,000
	for _, tt := range []struct {
		name, limits, change string
		before, after        int
		code                 string
	}{
		{"models taken away", `"models":["gpt-4"]`, `{"models":["gemini-2.5-flash"]}`, 200, 403, "model_not_allowed"},
		{"models given", `"models":["gemini-2.5-flash"]`, `{"models":null}`, 403, 200, ""},
		{"a budget taken away", `"budget_usd":5`, `{"budget_usd":0}`, 200, 402, "budget_exceeded"},
		{"a budget given", `"budget_usd":5`, `{"budget_usd":0.01}`, 200, 402, "budget_exceeded"},
		{"a budget raised", `"budget_usd":0.01`, `{"budget_usd":5}`, 402, 200, ""},
		{"no more budget", `"budget_usd":0`, `{"budget_usd":null}`, 402, 200, ""},
		{"another window", `"budget_usd":0,"budget_window":"day"`, `{"budget_usd":1,"budget_window":"total"}`, 402, 200, ""},
		{"fewer tokens", `"tpm_limit":1000000`, `{"tpm_limit":1}`, 200, 429, "rate_limit_exceeded"},
		{"fewer requests", `"rpm_limit":1000000`, `{"rpm_limit":1}`, 200, 429, "rate_limit_exceeded"},
		{"the end", `"expires_at":4102444800`, fmt.Sprintf(`{"expires_at":%d}`, time.Now().Unix()+20), 200, 401, "api_key_expired"},
		{"renamed", `"rpm_limit":1000000`, `{"name":"other"}`, 200, 200, ""},
	} {
		for _, busy := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, busy %t", tt.name, busy), func(t *testing.T) {
				t.Parallel()
				id, key := here.newKey(t, p.token, tt.limits)
				chat := func(at *program) outcome { return pay(t.Context(), p.client, at.url, body, key) }
				for _, at := range []*program{here, there} {
					if o := chat(at); o.status != tt.before {
						t.Fatalf("before: %d %s", o.status, o.body)
					}
				}
				ctx, stop := context.WithCancel(t.Context())
				var using sync.WaitGroup
				if busy {
					using.Go(func() {
						for ctx.Err() == nil {
							pay(ctx, p.client, there.url, body, key)
							time.Sleep(10 * time.Millisecond)
						}
					})
				}
				defer using.Wait()
				defer stop()
				change := tt.change
				if tt.name == "the end" {
					change = fmt.Sprintf(`{"expires_at":%d}`, time.Now().Unix()+1)
				}
				if a := here.call(t, "PATCH", "/auth/keys/"+id, change, p.token...); a.status != 200 {
					t.Fatalf("%d %s", a.status, a.body)
				}
				changed := time.Now()
				if tt.name == "the end" {
					time.Sleep(time.Until(changed.Truncate(time.Second).Add(time.Second)))
				} else if !busy && tt.after != 429 {
					if o := chat(here); o.status != tt.after {
						t.Errorf("not at once where it was changed: %d %s", o.status, o.body)
					}
				}
				for {
					o := chat(there)
					if o.status == tt.after && (tt.code == "" || strings.Contains(o.body, `"`+tt.code+`"`)) {
						break
					}
					if time.Since(changed) > time.Second+500*time.Millisecond {
						t.Fatalf("still %d %s", o.status, o.body)
					}
				}
				t.Logf("after %s", time.Since(changed))
			})
		}
	}
}

func TestTheSDKSeesLimitsAsWhatTheyAreAndTriesAgainWhereThatHelps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte("models:\n  - {id: for-nothing, provider: openai, upstream: gpt-4, context: 8192, max_output: 4096}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPair(t, "MODELS_FILE="+file)
	for _, tt := range []struct {
		limits, model, kind, code string
		status, tries             int
	}{
		{`"budget_usd":0`, "gpt-4", "budget_error", "budget_exceeded", 402, 1},
		{`"models":["gemini-2.5-flash"]`, "gpt-4", "permission_error", "model_not_allowed", 403, 1},
		{`"budget_usd":5`, "for-nothing", "permission_error", "model_not_allowed", 403, 1}, // it has no price
		{`"max_parallel_requests":1`, "gpt-4", "rate_limit_error", "rate_limit_exceeded", 429, 3},
	} {
		t.Run(tt.code+" "+tt.limits, func(t *testing.T) {
			_, key := p.programs[0].newKey(t, p.token, tt.limits)
			if tt.status == 429 {
				p.upstream.takes.Store(int64(20 * time.Second))
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				go pay(ctx, p.client, p.programs[0].url, paying(1, 1, 1, "first", false), key) // ends with ctx
				eventually(t, 10*time.Second, "it runs", func() bool { return p.upstream.live.Load() == 1 })
			}
			tries := 0
			client := openai.NewClient(option.WithBaseURL(p.programs[1].url+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(2),
				option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
					tries++
					return next(r)
				}))
			_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
				Model: tt.model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("PAY-1-1-sdk")},
			})
			e, ok := errors.AsType[*openai.Error](err)
			if !ok || e.StatusCode != tt.status || e.Code != tt.code || e.Type != tt.kind || e.Message == "" || tries != tt.tries {
				t.Errorf("%d tries: %v", tries, err)
			}
		})
	}
}

// A call that began under a longer window is of the day as well.
func TestABudgetWhoseWindowIsMadeShorterIsNotOverdrawnByWhatRuns(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	id, key := p.programs[0].newKey(t, p.token, `"budget_usd":1,"budget_window":"total"`)
	const calls = 14
	p.upstream.hold.Lock()
	release := sync.OnceFunc(p.upstream.hold.Unlock)
	defer release()
	var all sync.WaitGroup
	var fine, refused atomic.Int64
	send := func(name string) {
		for i := range calls / 2 {
			all.Go(func() {
				if pay(t.Context(), p.client, p.programs[i%2].url, paying(100, 2000, 2000, fmt.Sprint(name, "-", i), false), key).fits(t) {
					fine.Add(1)
				} else {
					refused.Add(1)
				}
			})
		}
	}
	send("total")
	eventually(t, 20*time.Second, "they run", func() bool { return p.upstream.live.Load() == calls/2 })
	if a := p.programs[0].call(t, "PATCH", "/auth/keys/"+id, `{"budget_window":"day"}`, p.token...); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	eventually(t, 3*time.Second, "the other replica knows", func() bool {
		return strings.Contains(pay(t.Context(), p.client, p.programs[1].url, paying(1, 1, 8000, "big", false), key).body, " a day,")
	})
	send("day")
	eventually(t, 20*time.Second, "they run or are refused", func() bool { return p.upstream.live.Load()+refused.Load() == calls })
	release()
	all.Wait()
	if charged := p.upstream.charged.Load(); charged > 1_000_000 || fine.Load() < calls/2 {
		t.Errorf("%d micro-dollars of a budget of 1 dollar, by %d calls", charged, fine.Load())
	}
}
