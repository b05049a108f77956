package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/services/inference"
	"modelgateway/services/tokens"
	"modelgateway/tests/storetest"
)

// kind is how a call goes.
type kind int

const (
	answers      kind = iota
	costsTheMost      // all tokens of the upper bound
	fails             // before it begins to answer
	isLost            // the provider has worked, and its answer is lost
	breaksOff         // inside its stream
	reportsNothing
	reportsZero
	reportsAbsurd
	clientLeaves
	kinds
)

func (k kind) String() string {
	return [...]string{
		"answers", "costs the most", "fails", "is lost", "breaks off", "reports nothing", "reports zero", "reports absurd usage", "client leaves",
	}[k]
}

// call is one call, as its client makes it and its provider answers it.
type call struct {
	run    *run
	of     *process
	id     string
	caller caller
	kind   kind
	stream bool
	output int64 // max_tokens
	usage  llm.Usage
	first  time.Duration // until the first event
	events int
	gap    time.Duration // between two events
	leaves time.Duration // when the client leaves
	walker walker

	// run.mu guards what follows.
	began    time.Time // on the process's clock
	arrived  time.Time
	views    []*view // of the budgets that pay for it
	paying   []*account
	most     int64 // that it can cost
	amount   int64 // that is reserved when it is admitted
	cost     int64 // that was booked at its end
	admitted bool
	at       time.Time // when it was admitted
	ended    bool
	endedAt  time.Time
	left     bool      // its goroutine is done
	rows     int       // in the ledger
	booked   int64     // by them
	told     time.Time // when the budgets of its process learned of its row
	noted    bool      // the database knows that it runs, and will book it if the process dies
	orphan   bool      // the lease of its process ended while it ran or waited for the ledger
}

// newCall draws a call for a process.
func (r *run) newCall(d *rand.Rand, p *process) *call {
	c := &call{run: r, of: p, id: fmt.Sprint("c", len(r.calls)+1), stream: d.IntN(2) == 0, kind: answers}
	if d.IntN(2) == 0 {
		c.kind = kind(d.IntN(int(kinds)))
	}
	c.caller = r.callers[d.IntN(len(r.callers))]
	c.walker = walker{name: c.id}
	c.output = 1 + d.Int64N([...]int64{100, 1000, 4000}[d.IntN(3)])
	c.first = time.Duration(1 + d.Int64N(int64([...]time.Duration{50 * time.Millisecond, time.Second, 20 * time.Second}[d.IntN(3)])))
	c.events = 1 + d.IntN(4)
	c.gap = time.Duration(1 + d.Int64N(int64(time.Second)))
	c.leaves = time.Duration(1 + d.Int64N(int64(c.first+time.Duration(c.events)*c.gap)))
	c.usage = llm.Usage{Input: 1 + d.Int64N(50), Output: d.Int64N(c.output + 1)}
	switch c.kind {
	case reportsZero:
		c.usage = llm.Usage{}
	case reportsAbsurd:
		c.usage = [...]llm.Usage{
			{Input: 40, Output: c.output * 3}, {Input: 1 << 50, Output: 1 << 50}, {Input: 5, Output: -7}, {Input: 20_000, Output: 1},
		}[d.IntN(4)]
	}
	return c
}

type callKey struct{}

// serve makes the call, as controllers.Generate does.
func (c *call) serve() {
	r := c.run
	defer r.leave(c)
	defer r.enter(&c.walker)()
	c.of.resume(c.gap)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), callKey{}, c))
	defer cancel()
	if c.kind == clientLeaves {
		defer time.AfterFunc(c.leaves, cancel).Stop()
	}
	input, ok := c.arrive()
	if !ok {
		return
	}
	call, err := c.of.service.Admit(ctx, input)
	r.reserve(c, call.Need().Amount)
	if err == nil {
		r.admit(c)
	}
	c.walker.step(r)
	if c.of.isDead() {
		return
	}
	if err != nil {
		r.refuse(c, err)
		return
	}
	r.checkAdmitted(c)
	err = c.read(ctx, call)
	c.of.resume(c.gap)
	if c.of.isDead() {
		return
	}
	r.end(c, call.End(ctx, err).Cost)
	c.walker.step(r)
	r.log("%s ends on %s: %s, %s of %s, at most %s", c.id, c.of.name, c.kind, usd(c.cost), usd(c.amount), usd(c.most))
}

// arrive reads the clock and the limits. A process that stops takes no calls.
func (c *call) arrive() (inference.Input, bool) {
	r, p := c.run, c.of
	body := fmt.Sprintf(`{"model":%q,"stream":%v,"max_completion_tokens":%d,"messages":[{"role":"user","content":"Tell me of %s"}]}`,
		r.lab.model.ID, c.stream, c.output, c.id)
	request, err := chat.Decode(nil, []byte(body))
	if err != nil {
		r.fail("%v", err)
		return inference.Input{}, false
	}
	began := p.clock()
	caller := c.caller.as()
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.dead || p.stopping {
		return inference.Input{}, false
	}
	c.began, c.arrived = began, time.Now()
	for _, a := range c.caller.levels() {
		level := models.Level{Account: a.name, Name: a.id}
		if v := a.seen(p.replica.delay); v.window != "" {
			level.Budget, level.BudgetWindow = v.limit, v.window
			c.paying, c.views = append(c.paying, a), append(c.views, v)
		}
		caller.Levels = append(caller.Levels, level)
	}
	if p.gateway.window != "" {
		c.paying, c.views = append(c.paying, r.accounts[len(r.accounts)-1]), append(c.views, p.gateway)
	}
	input, output := tokens.Max(request, r.lab.model, tokens.Bounds{Output: c.output})
	c.most = r.lab.model.Price.MaxCost(catalog.Amounts{catalog.InputTokens: input, catalog.OutputTokens: output})
	if c.kind == costsTheMost {
		c.usage = llm.Usage{Input: input, Output: output}
	}
	r.counts.calls++
	return inference.Input{
		Request: request, Caller: caller, ID: storetest.CallID(began, c.id), RequestID: c.id, Began: began,
	}, true
}

// read waits for the answer and reads it to its end.
func (c *call) read(ctx context.Context, call *inference.Call) error {
	stream, err := call.Open(ctx)
	if err != nil {
		return err
	}
	call.Sent()
	for _, err = range stream { //nolint:revive // to its end
	}
	return err
}

// scripted is the provider: it does what the script of each call says.
type scripted struct{}

type exchange struct{ request *llm.Request }

func (scripted) Prepare(call providers.Call) (providers.Exchange, error) {
	return exchange{call.Request}, nil
}
func (scripted) Abilities() providers.Abilities { return providers.Abilities{} }

func (e exchange) Properties() providers.Properties {
	return providers.Properties{MaxOutput: e.request.OutputLimit}
}

func (exchange) Open(ctx context.Context, _ string) (llm.Stream, error) {
	c, _ := ctx.Value(callKey{}).(*call)
	if err := sleep(ctx, c.first); err != nil {
		return nil, err
	}
	switch c.kind {
	case fails:
		return nil, &providers.Refusal{Provider: "openai", Status: 400, Message: "no"}
	case isLost:
		return nil, &providers.Refusal{Provider: "openai", Told: 502, Public: "cut", Worked: true}
	}
	return func(yield func(*llm.Event, error) bool) { c.yield(ctx, yield) }, nil
}

// text is what the provider sends in an event: as much as the usage counts, in some calls.
func (c *call) text() string {
	const bytesPerToken, most = 3, 1 << 14
	if c.usage.Output%2 == 0 || c.kind == reportsAbsurd {
		return "some words and more"
	}
	return strings.Repeat("words and ", int(min(max(c.usage.Output, 0)*bytesPerToken/int64(c.events), most))/10+1)
}

func (c *call) yield(ctx context.Context, yield func(*llm.Event, error) bool) {
	head := new(llm.Head)
	if !yield(&llm.Event{Kind: llm.EventBegin, Head: head}, nil) {
		return
	}
	for range c.events {
		if err := sleep(ctx, c.gap); err != nil {
			yield(nil, err)
			return
		}
		if !yield(&llm.Event{Kind: llm.EventText, Head: head, Text: c.text()}, nil) {
			return
		}
	}
	switch c.kind {
	case breaksOff:
		yield(nil, api.Internal(errReset))
	case reportsNothing:
		yield(&llm.Event{Kind: llm.EventFinish, Head: head, Ending: llm.Ending{Finish: llm.FinishStop}}, nil)
	default:
		usage := c.usage
		yield(&llm.Event{Kind: llm.EventUsage, Head: head, Usage: &usage}, nil)
	}
}
