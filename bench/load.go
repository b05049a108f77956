package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modelgateway/bench/proc"
)

// target is a server of chat completions.
type target struct {
	name  string
	base  string   // http://host:port, without /v1
	pid   int      // 0: not on this machine
	keys  []string // each call takes one of them
	model string   // replaces the job's own; for peers
}

// job is one kind of call.
type job struct {
	model  string
	prompt string
	turns  int // of the history in front of the prompt, each with a text as long as the prompt
	stream bool
	api    clientAPI
}

// clientAPI is the API that a client speaks, as its name in messages.
type clientAPI string

const (
	chatCompletions clientAPI = ""
	messagesAPI     clientAPI = " in the Messages API"
	responsesAPI    clientAPI = " in the Responses API"
	embeddingsAPI   clientAPI = " for embeddings"
)

const instructions = "You are a helpful assistant."

func (j job) body() []byte {
	if j.api == embeddingsAPI {
		texts := strings.Repeat(quoted(j.prompt)+",", vectors)
		return []byte(`{"model":"` + j.model + `","input":[` + strings.TrimSuffix(texts, ",") + `]}`)
	}
	var said strings.Builder
	for i := range j.turns {
		role := [...]string{"user", "assistant"}[i%2]
		said.WriteString(`{"role":"` + role + `","content":` + quoted(j.prompt) + `},`)
	}
	limit := "max_tokens"
	if j.api == responsesAPI {
		limit = "max_output_tokens"
	}
	said.WriteString(`{"role":"user","content":` + quoted(j.prompt) + `}],"temperature":0.7,"` + limit + `":1024`)
	if j.stream {
		said.WriteString(`,"stream":true`)
	}
	switch j.api {
	case messagesAPI:
		return []byte(`{"model":"` + j.model + `","system":"` + instructions + `","messages":[` + said.String() + `}`)
	case responsesAPI:
		return []byte(`{"model":"` + j.model + `","store":false,"instructions":"` + instructions + `","input":[` + said.String() + `}`)
	case chatCompletions, embeddingsAPI:
	}
	if j.stream {
		said.WriteString(`,"stream_options":{"include_usage":true}`)
	}
	return []byte(`{"model":"` + j.model + `","messages":[{"role":"system","content":"` + instructions + `"},` + said.String() + `}`)
}

func (j job) path() string {
	switch j.api {
	case messagesAPI:
		return "/v1/messages"
	case responsesAPI:
		return "/v1/responses"
	case embeddingsAPI:
		return "/v1/embeddings"
	case chatCompletions:
	}
	return "/v1/chat/completions"
}

// caller makes the calls of one job to one target.
type caller struct {
	client  http.RoundTripper
	url     string
	headers []http.Header // only read: shared by all calls
	body    []byte
	stream  bool
}

// newTransport keeps all its connections.
func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 8192, DisableCompression: true}
}

func newCaller(client http.RoundTripper, t target, j job) *caller {
	if t.model != "" {
		j.model = t.model
	}
	c := &caller{client: client, url: t.base + j.path(), body: j.body(), stream: j.stream}
	for _, key := range append([]string(nil), t.keys...) {
		c.headers = append(c.headers, http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key}})
	}
	if len(c.headers) == 0 {
		c.headers = []http.Header{{"Content-Type": {"application/json"}, "Authorization": {"Bearer bench"}}}
	}
	return c
}

// call makes one call and verifies the answer. chunk is called after each piece
// of a stream's text; it may be nil.
func (c *caller) call(ctx context.Context, check *checker, chunk func()) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(c.body))
	if err != nil {
		return err
	}
	req.Header = c.headers[0]
	if len(c.headers) > 1 {
		req.Header = c.headers[rand.IntN(len(c.headers))]
	}
	resp, err := c.client.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // the status is a fault already
		return fmt.Errorf("status %d: %s", resp.StatusCode, said)
	}
	if c.stream {
		return check.stream(resp.Body, chunk)
	}
	check.body.Reset()
	if _, err := check.body.ReadFrom(resp.Body); err != nil {
		return err
	}
	return check.answer(check.body.Bytes())
}

const callTimeout = 30 * time.Second

// faults counts failures and keeps the first messages.
type faults struct {
	mu       sync.Mutex
	count    int
	messages []string
}

func (f *faults) add(err error) {
	const kept = 5
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if len(f.messages) < kept {
		f.messages = append(f.messages, err.Error())
	}
}

func (f *faults) total() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// rate is how many requests a second succeeded; below zero: none.
func (f figures) rate() float64 {
	if f.Requests == 0 {
		return -1
	}
	return float64(f.Requests) / f.Elapsed.Seconds()
}

// tooManyFaults is how many failures end a measurement without a result.
const tooManyFaults = 100

// figures are the results of one window of load.
type figures struct {
	Requests  int64
	Elapsed   time.Duration
	CPU       time.Duration // of the target; -1: not known
	Latencies []time.Duration
}

// closedLoop keeps conns calls running. After the warm-up it counts the
// successful calls in the window, and the processor time of the target
// meanwhile. Failures are in bad and are not counted.
func closedLoop(ctx context.Context, c *caller, t target, o loopOptions, bad *faults) (figures, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var done atomic.Int64
	var workers sync.WaitGroup
	ending := make(chan struct{})
	for range o.conns {
		workers.Go(func() { work(ctx, c, ending, &done, bad) })
	}
	measured, err := watch(ctx, t, o, &done)
	close(ending) // running calls are read to their end and checked
	workers.Wait()
	return measured, err
}

type loopOptions struct {
	conns        int
	warm, window time.Duration
}

// work makes call after call until ending is closed.
func work(ctx context.Context, c *caller, ending <-chan struct{}, done *atomic.Int64, bad *faults) {
	check := newChecker(readBuffer)
	for ctx.Err() == nil && bad.total() < tooManyFaults {
		select {
		case <-ending:
			return
		default:
		}
		one, cancel := context.WithTimeout(ctx, callTimeout)
		err := c.call(one, check, nil)
		cancel()
		switch {
		case err == nil:
			done.Add(1)
		case ctx.Err() == nil:
			bad.add(err)
		}
	}
}

// watch reads the counters at both ends of the window.
func watch(ctx context.Context, t target, o loopOptions, done *atomic.Int64) (figures, error) {
	if err := sleep(ctx, o.warm); err != nil {
		return figures{}, err
	}
	count, cpu, start := done.Load(), cpuOf(t), time.Now()
	if err := sleep(ctx, o.window); err != nil {
		return figures{}, err
	}
	f := figures{Requests: done.Load() - count, Elapsed: time.Since(start), CPU: -1}
	if after := cpuOf(t); cpu >= 0 && after >= 0 {
		f.CPU = after - cpu
	}
	if f.Requests == 0 {
		return f, errors.New("no call has succeeded")
	}
	return f, nil
}

// cpuOf is what the target has used so far; -1 when that cannot be seen.
func cpuOf(t target) time.Duration {
	if t.pid == 0 {
		return -1
	}
	cpu, err := proc.CPUTime(t.pid)
	if err != nil {
		return -1
	}
	return cpu
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// String names the job in messages.
func (j job) String() string {
	kind := "answer"
	if j.stream {
		kind = "stream"
	}
	return fmt.Sprintf("%s of %s, %d × %d bytes", kind+string(j.api), j.model, j.turns+1, len(j.prompt))
}
