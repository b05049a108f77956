package limits

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

func TestWithoutRedisEachReplicaAdmitsTheWholeLimitAndBudgetsHold(t *testing.T) {
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
			p := gatewaytest.StartReplicaPair(t)
			_, parallel := p.Programs[0].CreateLimitedKey(t, p.Token, `"max_parallel_requests":4`)
			_, tokens := p.Programs[0].CreateLimitedKey(t, p.Token, `"tpm_limit":10000`)
			budget, money := p.Programs[0].CreateLimitedKey(t, p.Token, `"budget_usd":5`)

			p.AwaitSharedLimit(parallel)
			p.CallTogether(2, money, 1, 1, p.Programs...) // so that the key is cached
			fault.begin(p.Redis)
			gatewaytest.Until(t, "each replica admits the whole limit", func() bool {
				served := p.CountConcurrent(parallel, p.Programs...)
				if served > 8 {
					t.Errorf("without Redis %d ran at once", served)
				}
				return served == 8
			})
			longtest.AwaitMinute(t, 20*time.Second)
			// Each call reserves a little more than the 1000 tokens that it uses.
			if served := p.CallTogether(60, tokens, 40, 1000, p.Programs...); served != 18 {
				t.Errorf("without Redis %d calls of 1000 tokens were served of two limits of 10000", served)
			}
			before := p.Upstream.Charged.Load()
			served := p.SpendAtOnce("without", money)
			if charged := p.Upstream.Charged.Load() - before; charged > 5_000_000 || served == 0 {
				t.Errorf("a budget of 5 dollars: %d, by %d", charged, served)
			}
			p.SpendRest("rest", "key:"+budget, money, 5_000_000)
			fault.finish(p.Redis)
			p.AwaitSharedLimit(parallel)
			p.AwaitTotals()
		})
	}
}

func TestChangedLimitsReachTheOtherReplicaWithinASecond(t *testing.T) {
	p := gatewaytest.StartReplicaPair(t)
	here, there := p.Programs[0], p.Programs[1]
	body := gatewaytest.PricedRequest(10, 10, 100, "patch", false) // costs 900 µ$, at most some 17,000
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
				id, key := here.CreateLimitedKey(t, p.Token, tt.limits)
				chat := func(at *gatewaytest.Program) gatewaytest.Outcome {
					return gatewaytest.Send(t.Context(), p.Client, at.URL, body, key)
				}
				for _, at := range []*gatewaytest.Program{here, there} {
					if o := chat(at); o.Status != tt.before {
						t.Fatalf("before: %d %s", o.Status, o.Body)
					}
				}
				ctx, stop := context.WithCancel(t.Context())
				var using sync.WaitGroup
				if busy {
					using.Go(func() {
						for ctx.Err() == nil {
							gatewaytest.Send(ctx, p.Client, there.URL, body, key)
							time.Sleep(10 * time.Millisecond)
						}
					})
				}
				defer using.Wait()
				defer stop()
				change, ends := tt.change, time.Unix(time.Now().Unix()+3, 0)
				if tt.name == "the end" {
					change = fmt.Sprintf(`{"expires_at":%d}`, ends.Unix())
				}
				if a := here.Call(t, "PATCH", "/auth/keys/"+id, change, p.Token...); a.Status != 200 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				changed, late := time.Now(), longtest.Lateness(t)
				if tt.name == "the end" {
					time.Sleep(time.Until(ends))
					changed = time.Now()
				} else if !busy && tt.after != 429 {
					if o := chat(here); o.Status != tt.after {
						t.Errorf("not at once where it was changed: %d %s", o.Status, o.Body)
					}
				}
				for {
					o := chat(there)
					if o.Status == tt.after && (tt.code == "" || strings.Contains(o.Body, `"`+tt.code+`"`)) {
						break
					}
					if time.Since(changed) > time.Second+500*time.Millisecond+late() {
						t.Fatalf("still %d %s", o.Status, o.Body)
					}
				}
				t.Logf("after %s", time.Since(changed))
			})
		}
	}
}

func TestOfficialSDKRetriesOnlyRateLimits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte("models:\n  - {id: for-nothing, provider: openai, upstream: unheard-of, context: 8192, max_output: 4096}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := gatewaytest.StartReplicaPair(t, "MODELS_FILE="+file, "REDIS_URL=") // where Redis is slow, a replica does not know of the other's calls
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
			_, key := p.Programs[0].CreateLimitedKey(t, p.Token, tt.limits)
			if tt.status == 429 {
				p.Upstream.Delay.Store(int64(30 * time.Second)) // longer than all tries
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				go gatewaytest.Send(
					ctx, p.Client, p.Programs[0].URL, gatewaytest.PricedRequest(1, 1, 1, "first", false), key,
				) // ends with ctx
				gatewaytest.Until(t, "it runs", func() bool { return p.Upstream.Live.Load() == 1 })
			}
			tries := 0
			client := openai.NewClient(option.WithBaseURL(p.Programs[0].URL+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(2),
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

// A call that began under a longer window counts against the day as well.
func TestBudgetWithAShortenedWindowIsNotOverdrawnByRunningCalls(t *testing.T) {
	t.Parallel()
	p := gatewaytest.StartReplicaPair(t)
	id, key := p.Programs[0].CreateLimitedKey(t, p.Token, `"budget_usd":1,"budget_window":"total"`)
	const calls = 14
	p.Upstream.Hold.Lock()
	release := sync.OnceFunc(p.Upstream.Hold.Unlock)
	defer release()
	var all sync.WaitGroup
	var fine, refused atomic.Int64
	send := func(name string) {
		for i := range calls / 2 {
			all.Go(func() {
				body := gatewaytest.PricedRequest(100, 2000, 2000, fmt.Sprint(name, "-", i), false)
				if gatewaytest.Send(t.Context(), p.Client, p.Programs[i%2].URL, body, key).Served(t) {
					fine.Add(1)
				} else {
					refused.Add(1)
				}
			})
		}
	}
	send("total")
	gatewaytest.Until(t, "they run", func() bool { return p.Upstream.Live.Load() == calls/2 })
	if a := p.Programs[0].Call(t, "PATCH", "/auth/keys/"+id, `{"budget_window":"day"}`, p.Token...); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	gatewaytest.Until(t, "the other replica knows", func() bool {
		return strings.Contains(
			gatewaytest.Send(t.Context(), p.Client, p.Programs[1].URL, gatewaytest.PricedRequest(1, 1, 8000, "big", false), key).Body,
			" a day,",
		)
	})
	send("day")
	gatewaytest.Until(t, "they run or are refused",
		func() bool { return p.Upstream.Live.Load()+refused.Load() == calls })
	release()
	all.Wait()
	if charged := p.Upstream.Charged.Load(); charged > 1_000_000 || fine.Load() < calls/2 {
		t.Errorf("%d micro-dollars of a budget of 1 dollar, by %d calls", charged, fine.Load())
	}
}
