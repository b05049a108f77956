package gatewaytest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// PricedUpstream is an upstream that charges what the prompt says, as in
// PAY-12-345-mark for 12 tokens of input and 345 of output, and sums it up.
type PricedUpstream struct {
	url     string
	Charged atomic.Int64 // micro-dollars
	Calls   atomic.Int64 // calls
	Delay   atomic.Int64 // how long an answer takes, in nanoseconds
	Live    atomic.Int64 // calls that run
	Hold    sync.RWMutex // no answer begins while it is locked

	mu sync.Mutex
	by map[string]int64 // what each call was charged, by its mark
}

// InputPrice and OutputPrice are those of gpt-4, in micro-dollars a token.
const (
	InputPrice  = 30
	OutputPrice = 60
)

var payMark = regexp.MustCompile(`PAY-(\d+)-(\d+)-([a-z0-9-]+)`)

// NewPricedUpstream starts a PricedUpstream for the time of the test.
func NewPricedUpstream(t testing.TB) *PricedUpstream {
	t.Helper()
	u := &PricedUpstream{by: map[string]int64{}}
	u.url = ServeUpstream(t, u)
	return u
}

// ServeHTTP answers as OpenAI does.
func (u *PricedUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	found := payMark.FindSubmatch(body)
	if err != nil || found == nil {
		http.Error(w, "no mark", http.StatusBadRequest)
		return
	}
	in, _ := strconv.ParseInt(string(found[1]), 10, 64)
	out, _ := strconv.ParseInt(string(found[2]), 10, 64)
	u.Calls.Add(1)
	u.Live.Add(1)
	defer u.Live.Add(-1)
	u.charge(string(found[3]), in*InputPrice+out*OutputPrice)
	u.Hold.RLock()
	u.Hold.RUnlock() //nolint:staticcheck // only to wait
	if d := time.Duration(u.Delay.Load()); d > 0 {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
	d, c := OpenAIDialect(), &Charges{Prompt: in, Output: out}
	if !bytes.Contains(body, []byte(`"stream":true`)) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, d.Answer("fine", c))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, piece := range []string{d.Start(c), d.Text("fine", c), d.End(c)} {
		_, _ = io.WriteString(w, piece)
	}
}

func (u *PricedUpstream) charge(mark string, cost int64) {
	u.Charged.Add(cost)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.by[mark] += cost
}

// Settings are those of a gateway that has no other upstream, and that exceeds no budget.
func (u *PricedUpstream) Settings(more ...string) []string {
	return append(
		[]string{"OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL=" + u.url, "MAX_RETRIES=0", "REQUIRE_AUTH=true", JWTSecret, "LOG_LEVEL=info",
			"BUDGET_RESERVE=worst"},
		more...)
}

// PricedRequest is a request that is charged in and out tokens; most bounds its
// output.
func PricedRequest(in, out, most int64, mark string, stream bool) string {
	return fmt.Sprintf(
		`{"model":"gpt-4","messages":[{"role":"user","content":"PAY-%d-%d-%s"}],"max_tokens":%d,"stream":%t}`,
		in,
		out,
		mark,
		most,
		stream,
	)
}
