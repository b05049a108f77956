package app

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tariff is an upstream that charges what the prompt tells it to, as in
// PAY-12-345 for 12 tokens of input and 345 of output, and counts it.
type tariff struct {
	url     string
	charged atomic.Int64 // micro-dollars
	asked   atomic.Int64 // calls
	takes   atomic.Int64 // how long an answer takes, in nanoseconds
	live    atomic.Int64 // calls that run
	hold    sync.RWMutex // no answer begins while it is locked

	mu sync.Mutex
	by map[string]int64 // what each call was charged, by its mark
}

// Prices of gpt-4, in micro-dollars a token.
const priceIn, priceOut = 30, 60

var payMark = regexp.MustCompile(`PAY-(\d+)-(\d+)-([a-z0-9-]+)`)

func newTariff(t testing.TB) *tariff {
	t.Helper()
	u := &tariff{by: map[string]int64{}}
	u.url = serving(t, u)
	return u
}

// serving is the address of an upstream that ends with the test, whoever is still
// connected.
func serving(t testing.TB, upstream http.Handler) string {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func (u *tariff) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	found := payMark.FindSubmatch(body)
	if err != nil || found == nil {
		http.Error(w, "no mark", http.StatusBadRequest)
		return
	}
	in, _ := strconv.ParseInt(string(found[1]), 10, 64)
	out, _ := strconv.ParseInt(string(found[2]), 10, 64)
	u.asked.Add(1)
	u.live.Add(1)
	defer u.live.Add(-1)
	u.charge(string(found[3]), in*priceIn+out*priceOut)
	u.hold.RLock()
	u.hold.RUnlock() //nolint:staticcheck // it waits, and that is all
	if d := time.Duration(u.takes.Load()); d > 0 {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
	d, c := openAIDialect(), &charges{prompt: in, output: out}
	if !bytes.Contains(body, []byte(`"stream":true`)) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, d.answer("fine", c))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, piece := range []string{d.start(c), d.text("fine", c), d.end(c)} {
		_, _ = io.WriteString(w, piece)
	}
}

func (u *tariff) charge(mark string, cost int64) {
	u.charged.Add(cost)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.by[mark] += cost
}

// settings are those of a gateway that has this upstream alone.
func (u *tariff) settings(more ...string) []string {
	return append([]string{"OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL=" + u.url, "MAX_RETRIES=0", "REQUIRE_AUTH=true", goodSecret, "LOG_LEVEL=info"}, more...)
}

// paying is a request that is charged these tokens; most bounds its output.
func paying(in, out, most int64, mark string, stream bool) string {
	return fmt.Sprintf(`{"model":"gpt-4","messages":[{"role":"user","content":"PAY-%d-%d-%s"}],"max_tokens":%d,"stream":%t}`, in, out, mark, most, stream)
}

// outcome is one answer as a client has it, without a test to fail.
type outcome struct {
	status int
	header http.Header
	body   string
	err    error
}

// crowd are clients with connections enough for all of them.
func crowd(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func pay(ctx context.Context, client *http.Client, url, body, key string) outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return outcome{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return outcome{err: err}
	}
	text, err := io.ReadAll(resp.Body)
	return outcome{resp.StatusCode, resp.Header, string(text), errors.Join(err, resp.Body.Close())}
}

// fits says whether the answer is a whole one, or else tells of anything but a
// budget that is used up.
func (o outcome) fits(t testing.TB) bool {
	t.Helper()
	switch {
	case o.err == nil && o.status == 200 && strings.Contains(o.body, "fine") && (strings.HasSuffix(o.body, "data: [DONE]\n\n") || strings.Contains(o.body, `"usage"`)):
		return true
	case o.err == nil && o.status == 402 && o.header.Get("X-Should-Retry") == "false" && o.header.Get("Retry-After") == "":
		if f := (answer{status: o.status, body: o.body}).fault(t); f.Type == "budget_error" && f.Code == "budget_exceeded" && f.Message != "" {
			return false
		}
	}
	t.Errorf("%d %v %v %s", o.status, o.err, o.header, o.body)
	return false
}

// newKey makes a key with these limits, as members of JSON.
func (p *program) newKey(t testing.TB, token []string, limits string) (id, key string) {
	t.Helper()
	a := p.call(t, "POST", "/auth/keys", `{"name":"app",`+limits+`}`, token...)
	if a.status != 201 {
		t.Fatalf("%s: %d %s", limits, a.status, a.body)
	}
	return field(t, a, "id"), field(t, a, "key")
}

// sum is the one number that a query has, 0 for none.
func sum(t testing.TB, db *sql.DB, query string, arguments ...any) int64 {
	t.Helper()
	var n sql.NullInt64
	if fmt.Sprintf("%T", db.Driver()) != "*stdlib.Driver" {
		query = strings.ReplaceAll(query, "$1", "?")
	}
	if err := db.QueryRowContext(t.Context(), query, arguments...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n.Int64
}

// eventually waits longer than until, for what other processes do.
func eventually(t testing.TB, within time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > within {
			t.Fatalf("waited %s in vain: %s", within, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(began)
}

func dollarsOf(micro int64) string { return fmt.Sprintf("%d.%06d", micro/1_000_000, micro%1_000_000) }
