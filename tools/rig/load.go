package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Job is one kind of call.
type Job struct {
	Model  string
	Prompt string
	Turns  int // of the history in front of the prompt, each with a text as long as the prompt
	Stream bool
	API    ClientAPI
}

// ClientAPI is the API that a client speaks, as its name in messages.
type ClientAPI string

// The client APIs.
const (
	ChatCompletions ClientAPI = ""
	MessagesAPI     ClientAPI = " in the Messages API"
	ResponsesAPI    ClientAPI = " in the Responses API"
	EmbeddingsAPI   ClientAPI = " for embeddings"
)

const instructions = "You are a helpful assistant."

// Prompt is a text of about n bytes, with quotes, line ends and letters beyond ASCII. It
// begins with the words that set the pace.
func Prompt(n int, words ...string) string {
	const sentence = "Please summarise what the café's \"night shift\" wrote down, and keep the names and times as they are.\n" +
		"The list is long: it begins at six and ends when the last guest has gone home, which is rarely before two. "
	text := strings.Join(append(words, ""), " ")
	text += strings.Repeat(sentence, n/len(sentence)+1)
	return strings.ToValidUTF8(text[:max(n, len(words))], "")
}

// body is what a client sends.
func (j Job) body() []byte {
	if j.API == EmbeddingsAPI {
		texts := strings.Repeat(quoted(j.Prompt)+",", vectors)
		return []byte(`{"model":"` + j.Model + `","input":[` + strings.TrimSuffix(texts, ",") + `]}`)
	}
	var said strings.Builder
	for i := range j.Turns {
		role := [...]string{"user", "assistant"}[i%2]
		said.WriteString(`{"role":"` + role + `","content":` + quoted(j.Prompt) + `},`)
	}
	limit := "max_tokens"
	if j.API == ResponsesAPI {
		limit = "max_output_tokens"
	}
	said.WriteString(`{"role":"user","content":` + quoted(j.Prompt) + `}],"temperature":0.7,"` + limit + `":1024`)
	if j.Stream {
		said.WriteString(`,"stream":true`)
	}
	switch j.API {
	case MessagesAPI:
		return []byte(`{"model":"` + j.Model + `","system":"` + instructions + `","messages":[` + said.String() + `}`)
	case ResponsesAPI:
		return []byte(`{"model":"` + j.Model + `","store":false,"instructions":"` + instructions + `","input":[` + said.String() + `}`)
	case ChatCompletions, EmbeddingsAPI:
	}
	if j.Stream {
		said.WriteString(`,"stream_options":{"include_usage":true}`)
	}
	return []byte(`{"model":"` + j.Model + `","messages":[{"role":"system","content":"` + instructions + `"},` + said.String() + `}`)
}

func (j Job) path() string {
	switch j.API {
	case MessagesAPI:
		return "/v1/messages"
	case ResponsesAPI:
		return "/v1/responses"
	case EmbeddingsAPI:
		return "/v1/embeddings"
	case ChatCompletions:
	}
	return "/v1/chat/completions"
}

// Caller makes the calls of one job.
type Caller struct {
	client http.RoundTripper
	path   string
	body   []byte
	stream bool
	checks sync.Pool
}

// NewTransport keeps all its connections.
func NewTransport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 8192, DisableCompression: true}
}

// NewCaller makes calls with a transport of NewTransport.
func NewCaller(client http.RoundTripper, j Job) *Caller {
	return &Caller{
		client: client, path: j.path(), body: j.body(), stream: j.Stream,
		checks: sync.Pool{New: func() any { return newChecker() }},
	}
}

// Refusal is an answer with another status than 200.
type Refusal struct {
	Status int
	Said   string
}

func (r *Refusal) Error() string { return fmt.Sprintf("status %d: %s", r.Status, r.Said) }

// Call makes one call at the address, as host and port, and verifies the whole answer: its
// errors are Refusals, faults of the connection and answers that are not as they should be.
// chunk is called after each piece of a stream's text; it may be nil.
func (c *Caller) Call(ctx context.Context, address, key string, chunk func()) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+c.path, bytes.NewReader(c.body))
	if err != nil {
		return err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key}}
	resp, err := c.client.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // the status is a fault already
		return &Refusal{resp.StatusCode, string(said)}
	}
	check := c.checks.Get().(*checker)
	defer c.checks.Put(check)
	if c.stream {
		return check.stream(resp.Body, chunk)
	}
	check.body.Reset()
	if _, err := check.body.ReadFrom(resp.Body); err != nil {
		return err
	}
	return check.answer(check.body.Bytes())
}

// CallTimeout is how long a call of a Load may take.
const CallTimeout = 30 * time.Second

// Faults counts failures and keeps the first messages.
type Faults struct {
	mu       sync.Mutex
	count    int
	messages []string
}

// Add counts a failure.
func (f *Faults) Add(err error) {
	const kept = 5
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if len(f.messages) < kept {
		f.messages = append(f.messages, err.Error())
	}
}

// Total is how many failures there were.
func (f *Faults) Total() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// String is the first messages.
func (f *Faults) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%d failures: %s", f.count, strings.Join(f.messages, "\n  "))
}

// Load is calls that run at the same time.
type Load struct {
	Callers int // calls at once, at most
	Rate    int // calls a second; 0: as many as can be
	Warm    time.Duration
	Window  time.Duration                            // after Warm: what is in it counts
	Call    func(ctx context.Context, n int64) error // makes call number n
	Read    func() error                             // is called at both ends of the window; may be nil
	Faults  *Faults                                  // has the failures, which do not count
	Most    int                                      // failures that end the load without a result
}

// Result is what a load did in its window.
type Result struct {
	Calls   int64 // that succeeded
	Elapsed time.Duration

	// Latencies are sorted. At a rate they are those of the calls that were due in the window,
	// from the moment at which each was due: a target that delays the others is charged for all
	// of them, and so is the time by which this program itself is late. In the other case they
	// are those of the calls that began in it.
	Latencies []time.Duration
}

// Rate is how many calls succeeded a second; below zero: none.
func (r Result) Rate() float64 {
	if r.Calls == 0 {
		return -1
	}
	return float64(r.Calls) / r.Elapsed.Seconds()
}

// Quantile is the smallest latency that at least the share q of the latencies do not exceed,
// in milliseconds; below zero: there is none.
func (r Result) Quantile(q float64) float64 {
	if len(r.Latencies) == 0 {
		return -1
	}
	rank := int(math.Ceil(q * float64(len(r.Latencies))))
	return Milliseconds(r.Latencies[min(max(rank, 1), len(r.Latencies))-1])
}

// Milliseconds are a time.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// latency is that of one call.
type latency struct {
	due  time.Time
	took time.Duration
}

// running is a load that is being made.
type running struct {
	Load
	ctx    context.Context
	ending chan struct{}  // closed at the end of the window
	due    chan time.Time // when the next calls are due; nil: at once
	next   atomic.Int64   // number of the next call
	done   atomic.Int64
	mu     sync.Mutex
	all    []latency
}

// Run makes the load. An error is why there is no result.
func (l Load) Run(ctx context.Context) (Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &running{Load: l, ctx: ctx, ending: make(chan struct{})}
	var workers sync.WaitGroup
	if l.Rate > 0 {
		const waiting = 1 << 20 // calls that are late: more than any run has
		r.due = make(chan time.Time, waiting)
		workers.Go(r.pace)
	}
	for range l.Callers {
		workers.Go(r.work)
	}
	result, opened, err := r.watch()
	closed := opened.Add(result.Elapsed)
	close(r.ending) // running calls are read to their end and checked
	workers.Wait()
	for _, one := range r.all {
		if !one.due.Before(opened) && one.due.Before(closed) {
			result.Latencies = append(result.Latencies, one.took)
		}
	}
	slices.Sort(result.Latencies)
	return result, err
}

// pace says when each call is due.
func (r *running) pace() {
	defer close(r.due)
	interval := time.Second / time.Duration(r.Rate)
	for due := time.Now(); ; due = due.Add(interval) {
		pause(time.Until(due))
		select {
		case <-r.ending:
			return
		case r.due <- due:
		}
	}
}

// work makes call after call until ending is closed.
func (r *running) work() {
	var own []latency
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, own...)
	}()
	for r.ctx.Err() == nil && r.Faults.Total() <= r.Most {
		due, more := time.Now(), true
		if r.due != nil {
			due, more = <-r.due
		}
		select {
		case <-r.ending:
			more = more && r.due != nil // what was due in the window is made
		default:
		}
		if !more {
			return
		}
		one, cancel := context.WithTimeout(r.ctx, CallTimeout)
		err := r.Call(one, r.next.Add(1)-1)
		cancel()
		switch {
		case err == nil:
			r.done.Add(1)
			own = append(own, latency{due, time.Since(due)})
		case r.ctx.Err() == nil:
			r.Faults.Add(err)
		}
	}
}

// watch reads at both ends of the window. A window in which nothing was answered is repeated:
// a slow machine may have none in a short one.
func (r *running) watch() (result Result, opened time.Time, err error) {
	if err := Sleep(r.ctx, r.Warm); err != nil {
		return result, opened, err
	}
	if err := r.read(); err != nil {
		return result, opened, err
	}
	calls := r.done.Load()
	opened = time.Now()
	for result.Calls == 0 && r.Faults.Total() <= r.Most && time.Since(opened) < max(CallTimeout, r.Window) {
		if err := Sleep(r.ctx, r.Window); err != nil {
			return result, opened, err
		}
		result.Calls = r.done.Load() - calls
	}
	result.Elapsed = time.Since(opened)
	if err := r.read(); err != nil {
		return result, opened, err
	}
	if result.Calls == 0 || r.Faults.Total() > r.Most {
		return result, opened, errors.New("no call has succeeded, or too many have failed")
	}
	return result, opened, nil
}

func (r *running) read() error {
	if r.Read == nil {
		return nil
	}
	return r.Read()
}
