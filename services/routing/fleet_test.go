package routing

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/services/pool"
	"modelgateway/services/registry"
)

// Models of three providers; two of Anthropic, for state that is kept by model.
const (
	sonnet = "claude-sonnet-4-5-20250929"
	gpt    = "gpt-4"
	flash  = "gemini-2.5-flash"
)

// behaviour is what an upstream does with one call; nil is an answer.
type behaviour func(ctx context.Context) error

func answers(context.Context) error { return nil }

func fails(err error) behaviour { return func(context.Context) error { return err } }

// hangs ends only when its context does.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// after delays an outcome.
func after(d time.Duration, then behaviour) behaviour {
	return func(ctx context.Context) error {
		sleep(ctx, d)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return then(ctx)
	}
}

func panics(context.Context) error { panic("boom") }

// begun is the error of a stream that fails after a number of pieces.
type begun struct {
	pieces int
	err    error
	gap    time.Duration // before each piece
}

func (b *begun) Error() string { return "a stream that breaks off" }

// queued is a provider whose keys have a queue of outcomes each. The last of a
// queue stays, and a key without a queue answers.
type queued struct {
	name    string
	keys    []string
	refuses map[string]error    // by model: what it cannot take
	ignores map[string][]string // by model: what it leaves out

	mu     sync.Mutex
	queues map[string][]behaviour
	made   []made
}

// made is one call.
type made struct {
	key, model string
	at         time.Time
}

func newQueued(name string, keys ...string) *queued {
	return &queued{name: name, keys: keys, queues: map[string][]behaviour{}}
}

// play replaces what the key does next, and forgets the calls so far.
func (q *queued) play(key string, next ...behaviour) *queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queues[key], q.made = next, nil
	return q
}

func (q *queued) calls() []made {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]made(nil), q.made...)
}

// asked are the keys of the calls, in their order.
func (q *queued) asked() (keys string) {
	for _, c := range q.calls() {
		keys += c.key
	}
	return keys
}

// take is the outcome of a call, and which call it is.
func (q *queued) take(key, model string) (behaviour, int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.made = append(q.made, made{key, model, time.Now()})
	queue := q.queues[key]
	if len(queue) == 0 {
		return answers, len(q.made)
	}
	if len(queue) > 1 {
		q.queues[key] = queue[1:]
	}
	return queue[0], len(q.made)
}

func (q *queued) Abilities() providers.Abilities { return providers.Abilities{} }

func (q *queued) Prepare(call providers.Call) (providers.Exchange, error) {
	if err := q.refuses[call.Model.ID]; err != nil {
		return nil, err
	}
	return &queuedExchange{q, call.Model.ID, call.Request.Stream}, nil
}

type queuedExchange struct {
	from   *queued
	model  string
	stream bool
}

func (e *queuedExchange) Properties() providers.Properties {
	return providers.Properties{Ignored: e.from.ignores[e.model]}
}

// Open answers with text that says of which call it is.
func (e *queuedExchange) Open(ctx context.Context, key string) (llm.Stream, error) {
	do, nth := e.from.take(key, e.model)
	err := do(ctx)
	if !e.stream {
		return answerOf(e.model), err
	}
	broken, ok := errors.AsType[*begun](err)
	if err != nil && !ok {
		return nil, err
	}
	return func(yield func(*llm.Event, error) bool) {
		out := llm.NewEmitter(yield, llm.Head{Model: e.model})
		if !out.Begin(0) {
			return
		}
		if !ok {
			broken = &begun{pieces: 3}
		}
		for i := range broken.pieces {
			if sleep(ctx, broken.gap); ctx.Err() != nil {
				out.Fail(context.Cause(ctx))
				return
			}
			if !out.Text(0, strconv.Itoa(nth)+"."+strconv.Itoa(i)+" ") {
				return
			}
		}
		if broken.err != nil {
			out.Fail(broken.err)
		}
	}, nil
}

// answerOf is a whole answer of a model.
func answerOf(model string) llm.Stream {
	return func(yield func(*llm.Event, error) bool) {
		llm.NewEmitter(yield, llm.Head{Model: model}).Begin(0)
	}
}

// embedded is the catalogue, read once: there are many fleets.
var embedded = sync.OnceValues(func() (*catalog.Catalog, error) { return catalog.Load("") })

// fleet is a gateway with these providers.
func fleet(t testing.TB, all ...*queued) *Router {
	t.Helper()
	list, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	chat := &Router{Upstreams: pool.Set{}, Now: time.Now, Retries: 2}
	for _, q := range all {
		chat.Upstreams[q.name] = pool.NewUpstream(q.name, q, poolOf(q.keys...), time.Now)
	}
	chat.Models = registry.New(list, chat.Upstreams.Serves, time.Now)
	return chat
}

// way is one of the two ways to an answer; ask returns the model that gave it.
type way struct {
	name string
	ask  func(ctx context.Context, c *Router, a Input) (string, Route, error)
}

func ways() []way {
	return []way{{"an answer", completed}, {"a stream", streamed}}
}

func completed(ctx context.Context, c *Router, a Input) (string, Route, error) {
	answer, route, err := completeOf(ctx, c, a)
	if err != nil {
		return "", route, err
	}
	return answer.Model, route, nil
}

func streamed(ctx context.Context, c *Router, a Input) (model string, route Route, err error) {
	stream, route, err := streamOf(ctx, c, a)
	if err != nil {
		return "", route, err
	}
	for event, broken := range stream {
		if broken != nil {
			return model, route, broken
		}
		model = event.Head.Model
	}
	return model, route, nil
}

// allIdle checks that no key is in use.
func allIdle(t testing.TB, c *Router) {
	t.Helper()
	for name, u := range c.Upstreams {
		for _, key := range u.Report().Keys {
			if key.InFlight != 0 {
				t.Errorf("key %s of %s is used %d times", key.Key, name, key.InFlight)
			}
		}
	}
}

// retried is how many retries were taken of the fewest that a window allows. It takes the rest.
func retried(u *pool.Upstream) int {
	const fewRetries = 10
	return fewRetries - spendRetries(u)
}

// spendRetries uses up the retry budget.
func spendRetries(u *pool.Upstream) (retries int) {
	for u.Retry() {
		retries++
	}
	return retries
}

// leaseOf leases one particular key.
func leaseOf(t testing.TB, u *pool.Upstream, secret string) (wanted *pool.Lease) {
	t.Helper()
	var others []*pool.Lease
	for range 100 {
		l, err := u.Lease(pool.Wish{Model: haiku, IgnoreCooldown: true})
		if err != nil {
			t.Fatal(err)
		}
		if l.Secret() == secret {
			wanted = l
			break
		}
		others = append(others, l)
	}
	for _, l := range others {
		l.End()
	}
	if wanted == nil {
		t.Fatalf("there is no key %s", secret)
	}
	return wanted
}

// busyBut holds two calls of every key but one until free is called.
func busyBut(t testing.TB, u *pool.Upstream, idle string) (free func()) {
	t.Helper()
	var held []*pool.Lease
	live := map[string]int{}
	for range 2 * u.Size() { // the least loaded is taken: each key twice
		l, err := u.Lease(pool.Wish{Model: haiku, IgnoreCooldown: true})
		if err != nil {
			t.Fatal(err)
		}
		if live[l.Secret()]++; l.Secret() == idle {
			defer l.End()
			continue
		}
		held = append(held, l)
	}
	for key, n := range live {
		if n != 2 {
			t.Fatalf("key %s has %d calls", key, n)
		}
	}
	return func() {
		for _, l := range held {
			l.End()
		}
	}
}

// providerFault is a provider's refusal with some fields changed.
func providerFault(status int, change ...func(*providers.Refusal)) *providers.Refusal {
	r := &providers.Refusal{Provider: "p", Status: status, Message: "status " + strconv.Itoa(status)}
	for _, f := range change {
		f(r)
	}
	return r
}

func retryAfter(wait time.Duration) func(*providers.Refusal) {
	return func(e *providers.Refusal) { e.RetryAfter = wait }
}

func final(e *providers.Refusal) { e.Final = true }

func spent(e *providers.Refusal) { e.Final, e.Spent = true, true }

// unreached is the error of an upstream that did not answer.
func unreached(status int) *providers.Refusal {
	return providerFault(0, func(r *providers.Refusal) { r.Told = status })
}
