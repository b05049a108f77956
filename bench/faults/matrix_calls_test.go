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

// errand is a call that is made over and over.
type errand struct {
	name    string
	fails   string // the code of its error when the part is gone; "": it does not need the part
	account bool   // a login or a list of keys rather than a chat
	stream  bool
	once    bool // too costly to be part of a load
	send    func() outcome
}

// outcome is what came of a call.
type outcome struct {
	said
	right bool // a 200 and all that it should be
}

// called is one call of an errand.
type called struct {
	*errand
	outcome
	began, ended time.Time
}

func (e *errand) run() called {
	c := called{errand: e, began: time.Now()}
	c.outcome = e.send()
	c.ended = time.Now()
	return c
}

func (c called) took() time.Duration { return c.ended.Sub(c.began) }

func (c called) String() string {
	return fmt.Sprintf("%s: %v after %v", c.name, c.said, c.took().Round(time.Millisecond))
}

// together makes each call once, all at a time.
func together(errands []*errand) []called {
	calls := make([]called, len(errands))
	var all sync.WaitGroup
	for i, e := range errands {
		all.Go(func() { calls[i] = e.run() })
	}
	all.Wait()
	return calls
}

// wrong is the first call that did not come out as it does when all is well.
func wrong(calls []called) (called, bool) {
	i := slices.IndexFunc(calls, func(c called) bool { return !c.right })
	if i < 0 {
		return called{}, false
	}
	return calls[i], true
}

// costly are the errands that no load runs.
func costly(errands []*errand) []*errand {
	return slices.DeleteFunc(slices.Clone(errands), func(e *errand) bool { return !e.once })
}

// needing are the errands that need the part, three times each.
func needing(errands []*errand) []*errand {
	return slices.Repeat(slices.DeleteFunc(slices.Clone(errands), func(e *errand) bool { return e.fails == "" }), 3)
}

// marks tell the calls of the matrix apart.
var marks atomic.Int64

// talk asks a model for an answer or a stream, as whoever the header says.
func talk(ctx context.Context, g *gateway, model string, stream bool, header func() []string) *errand {
	name := "an answer of " + model
	if stream {
		name = "a stream of " + model
	}
	return &errand{name: name, stream: stream, send: func() outcome {
		mark, chunks, pace := fmt.Sprintf("matrix-%d", marks.Add(1)), 3, ""
		if stream {
			chunks, pace = 10, " every=20ms"
		}
		words := fmt.Sprintf("mark=%s chunks=%d%s", mark, chunks, pace)
		s := chat(ctx, g.client, g.url, ask(model, words, stream), header()...)
		return outcome{s, s.whole(wholeText(mark, chunks))}
	}}
}

// visit makes a call that is no chat. It is right when its 200 holds the text.
func visit(g *gateway, name, method, path, body, holds string, header ...string) *errand {
	return &errand{name: name, fails: "service_unavailable", account: true, send: func() outcome {
		a, err := g.call(method, path, body, header...)
		s := said{status: a.status, header: a.header, body: a.body, received: received{err: err}}
		return outcome{s, err == nil && a.status == http.StatusOK && strings.Contains(a.body, holds)}
	}}
}

// load is a steady stream of calls, a worker for each errand.
type load struct {
	stop    chan struct{}
	workers sync.WaitGroup

	mu    sync.Mutex
	calls []called
}

func startLoad(errands []*errand) *load {
	l := &load{stop: make(chan struct{})}
	for _, e := range errands {
		if !e.once {
			l.workers.Go(func() { l.repeat(e) })
		}
	}
	return l
}

func (l *load) repeat(e *errand) {
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

// end waits for the calls that run, and returns all there were.
func (l *load) end() []called {
	close(l.stop)
	l.workers.Wait()
	return l.calls
}

// since says whether every worker has ended that many calls that began after the moment.
func (l *load) since(moment time.Time, errands []*errand, each int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ended := map[*errand]int{}
	for _, c := range l.calls {
		if c.began.After(moment) {
			ended[c.errand]++
		}
	}
	return !slices.ContainsFunc(errands, func(e *errand) bool { return !e.once && ended[e] < each })
}
