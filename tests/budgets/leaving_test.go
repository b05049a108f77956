package budgets

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// thinkingUpstream writes a thousand tokens a second and charges for those that it
// has written when its client leaves. Its prompts say how many it thinks before its
// forty words and after them, as in THINK-600-300-mark.
type thinkingUpstream struct {
	url     string
	live    atomic.Int64
	mu      sync.Mutex
	charged map[string]int64 // micro-dollars, by mark
}

const (
	thinkerModels = "models: [{id: thinker, provider: openai, upstream: o3-thinker, max_output: 100000, price: {input: 10, output: 20}}," +
		" {id: talker, provider: openai, upstream: gpt-4-talker, max_output: 100000, price: {input: 10, output: 20}}]"
	thinkerInput, thinkerOutput, thinkerWords = 10, 20, 40 // micro-dollars a token, tokens
)

var thinkMark = regexp.MustCompile(`THINK-(\d+)-(\d+)-([a-z0-9]+)`)

func newThinkingUpstream(t testing.TB) *thinkingUpstream {
	t.Helper()
	u := &thinkingUpstream{charged: map[string]int64{}}
	u.url = gatewaytest.ServeUpstream(t, u)
	return u
}

func (u *thinkingUpstream) bill(mark string) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.charged[mark]
}

func (u *thinkingUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const prompt = 12
	body, _ := io.ReadAll(r.Body)
	found := thinkMark.FindSubmatch(body)
	if found == nil {
		http.Error(w, "no mark", http.StatusBadRequest)
		return
	}
	before, _ := strconv.Atoi(string(found[1]))
	after, _ := strconv.Atoi(string(found[2]))
	u.live.Add(1)
	defer u.live.Add(-1)
	written := 0
	defer func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.charged[string(found[3])] += prompt*thinkerInput + int64(written)*thinkerOutput
	}()
	write := func(tokens int) bool {
		for began, until := time.Now(), written+tokens; written < until; {
			from := until - tokens
			select {
			case <-r.Context().Done():
				return false
			case <-time.After(5 * time.Millisecond):
				written = min(until, from+int(time.Since(began).Milliseconds()))
			}
		}
		return true
	}
	d, c := gatewaytest.OpenAIDialect(), &gatewaytest.Charges{Prompt: prompt}
	c.Output = int64(before + after + thinkerWords)
	words := strings.Repeat("word ", thinkerWords)
	if !strings.Contains(string(body), `"stream":true`) {
		if write(before + after + thinkerWords) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, d.Answer(words, c))
		}
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	if !write(before) {
		return
	}
	_, _ = io.WriteString(w, d.Start(c)+d.Text(words, c))
	_ = http.NewResponseController(w).Flush()
	if write(thinkerWords + after) {
		_, _ = io.WriteString(w, d.End(c))
	}
}

// leaveEarly makes one call and leaves it at its last word, or after some time. It
// reports whether the call was let in.
func leaveEarly(ctx context.Context, client *http.Client, url, key, body string, after time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, after)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", key)
	resp, err := client.Do(req)
	if err != nil {
		return true // left
	}
	defer func() { _ = resp.Body.Close() }()
	seen := ""
	for buf := make([]byte, 4096); strings.Count(seen, "word ") < thinkerWords; {
		n, err := resp.Body.Read(buf)
		seen += string(buf[:n])
		if err != nil {
			break
		}
	}
	return resp.StatusCode == http.StatusOK
}

func TestLeavingCallsEarlyDoesNotOverdrawABudget(t *testing.T) {
	t.Parallel()
	const budget, leavers, calls = 300_000, 4, 12
	u := newThinkingUpstream(t)
	models := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(models, []byte(thinkerModels), 0o600); err != nil {
		t.Fatal(err)
	}
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "MODELS_FILE="+models, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.url,
			"REQUIRE_AUTH=true", gatewaytest.JWTSecret, "LOG_LEVEL=info")...)
		token, db := p.Login(t), gatewaytest.OpenDatabase(t, settings)
		storage := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
		for name, attack := range map[string]struct {
			model   string
			stream  bool
			before  int
			after   int
			limit   int
			leave   time.Duration
			exactly bool // the usage comes in time
		}{
			"lastword": {"thinker", true, 600, 300, 1000, 20 * time.Second, true},
			"silent":   {"thinker", true, 300, 4000, 4500, 20 * time.Second, false},
			"whole":    {"thinker", false, 600, 300, 1000, 600 * time.Millisecond, true},
			"talker":   {"talker", false, 2000, 0, 4000, 600 * time.Millisecond, false},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				id, key := p.CreateLimitedKey(t, token, `"budget_usd":0.3,"budget_window":"total"`)
				mark, client := name+storage, gatewaytest.ParallelClient(t)
				body := fmt.Sprintf(`{"model":%q,"stream":%t,"max_tokens":%d,"messages":[{"role":"user","content":"THINK-%d-%d-%s"}]}`,
					attack.model, attack.stream, attack.limit, attack.before, attack.after, mark)
				var all sync.WaitGroup
				var admitted atomic.Int64
				for range leavers {
					all.Go(func() {
						for range calls {
							if leaveEarly(t.Context(), client, p.URL, key, body, attack.leave) {
								admitted.Add(1)
							}
						}
					})
				}
				all.Wait()
				left := time.Now()
				var rows, spent int64
				gatewaytest.Until(t, "a row for each call", func() bool {
					before := rows
					rows = gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger_calls WHERE key_id = $1", id)
					// Of a client that has left on a busy machine before its call was let in there is no row.
					return rows >= admitted.Load() || rows == before && u.live.Load() == 0 && time.Since(left) > 10*time.Second
				})
				spent = gatewaytest.Sum(t, db, "SELECT sum(cost) FROM spend WHERE account = $1", "key:"+id)
				if charged := u.bill(mark); charged > budget || spent > budget || spent < charged || rows == 0 {
					t.Errorf("%d calls: charged %d, booked %d of a budget of %d", rows, charged, spent, budget)
				}
				estimated := gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger_calls WHERE key_id = $1 AND estimated", id)
				if attack.exactly && (spent != u.bill(mark) || estimated != 0) || !attack.exactly && estimated != rows {
					t.Errorf("booked %d of %d that were charged; %d of %d calls are estimated", spent, u.bill(mark), estimated, rows)
				}
				t.Logf("%d calls: charged %d, booked %d; all have ended %s after the last was left", rows, u.bill(mark), spent, time.Since(left))
			})
		}
	})
	t.Cleanup(func() {
		if n := u.live.Load(); n != 0 {
			t.Errorf("%d calls still run", n)
		}
	})
}
