package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// probe is a call that is made repeatedly.
type probe struct {
	name    string
	fails   string // the code of its error without the part; "": it does not need the part
	account bool   // a login or a list of keys rather than a chat
	stream  bool
	once    bool // too costly to be part of a load
	send    func() outcome
}

// outcome is the result of a call.
type outcome struct {
	chatResult
	right bool // a 200 with the expected content
}

// probeResult is one call of a probe.
type probeResult struct {
	*probe
	outcome
	began, ended time.Time
}

func (e *probe) run() probeResult {
	c := probeResult{probe: e, began: time.Now()}
	c.outcome = e.send()
	c.ended = time.Now()
	return c
}

func (c probeResult) took() time.Duration { return c.ended.Sub(c.began) }

func (c probeResult) String() string {
	return fmt.Sprintf("%s: %v after %v", c.name, c.chatResult, c.took().Round(time.Millisecond))
}

// runAll makes each call once, all concurrently.
func runAll(probes []*probe) []probeResult {
	calls := make([]probeResult, len(probes))
	var all sync.WaitGroup
	for i, e := range probes {
		all.Go(func() { calls[i] = e.run() })
	}
	all.Wait()
	return calls
}

// wrong returns the first call without its normal result.
func wrong(calls []probeResult) (probeResult, bool) {
	i := slices.IndexFunc(calls, func(c probeResult) bool { return !c.right })
	if i < 0 {
		return probeResult{}, false
	}
	return calls[i], true
}

// expensive are the probes that no load runs.
func expensive(probes []*probe) []*probe {
	return slices.DeleteFunc(slices.Clone(probes), func(e *probe) bool { return !e.once })
}

// needing are the probes that need the part, three times each.
func needing(probes []*probe) []*probe {
	return slices.Repeat(slices.DeleteFunc(slices.Clone(probes), func(e *probe) bool { return e.fails == "" }), 3)
}

// marks tell the calls of the matrix apart.
var marks atomic.Int64

// chatProbe requests an answer or a stream of a model, with the credential of
// the header.
func chatProbe(ctx context.Context, g *gateway, model string, stream bool, header func() []string) *probe {
	name := "an answer of " + model
	if stream {
		name = "a stream of " + model
	}
	return &probe{name: name, stream: stream, send: func() outcome {
		mark, chunks, pace := fmt.Sprintf("matrix-%d", marks.Add(1)), 3, ""
		if stream {
			chunks, pace = 10, " every=20ms"
		}
		words := fmt.Sprintf("mark=%s chunks=%d%s", mark, chunks, pace)
		s := chat(ctx, g.client, g.url, chatRequest(model, words, stream), header()...)
		return outcome{s, s.whole(wholeText(mark, chunks))}
	}}
}

// visit is a probe of another route than chat. Its result is right when its 200
// contains the text.
func visit(g *gateway, name, method, path, body, content string, header ...string) *probe {
	return &probe{name: name, fails: "service_unavailable", account: true, send: func() outcome {
		a, err := g.call(method, path, body, header...)
		s := chatResult{status: a.status, header: a.header, body: a.body, received: received{err: err}}
		return outcome{s, err == nil && a.status == http.StatusOK && strings.Contains(a.body, content)}
	}}
}

// load is a steady stream of calls, with a worker for each probe.
type load struct {
	stop    chan struct{}
	workers sync.WaitGroup

	mu    sync.Mutex
	calls []probeResult
}

func startLoad(probes []*probe) *load {
	l := &load{stop: make(chan struct{})}
	for _, e := range probes {
		if !e.once {
			l.workers.Go(func() { l.repeat(e) })
		}
	}
	return l
}

func (l *load) repeat(e *probe) {
	const pause = 100 * time.Millisecond
	for {
		c := e.run()
		l.mu.Lock()
		l.calls = append(l.calls, c)
		l.mu.Unlock()
		select {
		case <-l.stop:
			return
		case <-time.After(pause):
		}
	}
}

// end waits for the running calls, and returns all calls.
func (l *load) end() []probeResult {
	close(l.stop)
	l.workers.Wait()
	return l.calls
}

// since reports whether every worker has ended that many calls that began after
// the moment.
func (l *load) since(moment time.Time, probes []*probe, each int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ended := map[*probe]int{}
	for _, c := range l.calls {
		if c.began.After(moment) {
			ended[c.probe]++
		}
	}
	return !slices.ContainsFunc(probes, func(e *probe) bool { return !e.once && ended[e] < each })
}
