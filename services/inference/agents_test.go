package inference

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/services/auth"
	"modelgateway/services/pool"
)

// agent is a coding agent: each of its prompts is the one before with some more at its end, which it
// marks to be cached, and the model reads the rest from the cache.
type agent struct {
	prompt  int     // bytes
	perByte float64 // tokens, as the model counts them
	cached  int64   // tokens
}

// code is what agents read.
var code = strings.Repeat("The handler reads the request, checks the key and returns an error.\\n\\tif err != nil {\\n\\t\\treturn nil, err\\n\\t}\\n", 1600)

// turn is one call as its provider will count it.
type turn struct {
	body  []byte
	usage llm.Usage
	cost  int64
}

const opus = "claude-opus-5"

// next makes the agent's next turn.
func (a *agent) next(d *rand.Rand, price catalog.Price) turn {
	a.prompt = min(a.prompt+1500+d.IntN(6000), 180_000)
	if code[a.prompt-1] == '\\' { // inside an escape
		a.prompt--
	}
	tokens := int64(float64(a.prompt) * a.perByte)
	written := tokens - a.cached - 40
	output := 100 + d.Int64N(700)
	u := llm.Usage{Input: tokens, HasCache: true, Cached: a.cached, CacheWrite: written, Output: output, Total: tokens + output}
	a.cached = a.cached + written
	body := fmt.Sprintf(`{"model":%q,"max_tokens":32000,"stream":true,"system":[{"type":"text","text":"You are an agent.",`+
		`"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"%s",`+
		`"cache_control":{"type":"ephemeral"}}]}]}`, opus, code[:a.prompt])
	return turn{[]byte(body), u, price.Cost(tokensOf(&u))}
}

// counted is a provider of Anthropic's API that reports the usage of the turn whose call it is, and
// writes as much text as that counts.
type counted struct{ wait func() }

type turnKey struct{}

type countedExchange struct{ counted }

func (c counted) Prepare(providers.Call) (providers.Exchange, error) { return countedExchange{c}, nil }
func (counted) Abilities() providers.Abilities                       { return providers.Abilities{Speaks: ofMessages} }
func (countedExchange) Properties() providers.Properties {
	return providers.Properties{MaxOutput: 32_000}
}

func ofMessages(d llm.Dialect, _ *catalog.Model) bool { return d == llm.Messages }

func (e countedExchange) Open(ctx context.Context, _ string) (llm.Stream, error) {
	of, _ := ctx.Value(turnKey{}).(*turn)
	first := of.usage
	first.Output = 0
	head := &llm.Head{Counter: (*counts)(&first)}
	return func(yield func(*llm.Event, error) bool) {
		if !yield(&llm.Event{Kind: llm.EventBegin, Head: head}, nil) {
			return
		}
		for range of.usage.Output / 20 {
			if !yield(&llm.Event{Kind: llm.EventText, Head: head, Text: "some twenty tokens of text as agents write them, line by line.\n"}, nil) {
				return
			}
		}
		e.wait()
		usage := of.usage
		yield(&llm.Event{Kind: llm.EventUsage, Head: head, Usage: &usage}, nil)
	}, nil
}

// day is a day of agents that share a budget.
type day struct {
	t       *testing.T
	c       *fixture
	account string
	limits  models.Limits

	mu     sync.Mutex
	spent  int64 // by calls that have ended
	live   int64 // that calls that run will cost
	ratios []float64
	calls  int
	wrong  int // calls that were refused and would have fit
}

// call makes one call, and reports whether it was admitted.
func (d *day) call(of *turn) bool {
	t, c := d.t, d.c
	r, err := messages.Decode(nil, of.body)
	if err != nil {
		t.Error(err)
		return false
	}
	ctx := context.WithValue(t.Context(), turnKey{}, of)
	d.mu.Lock()
	fits := d.spent+d.live+of.cost <= d.limits.Budget
	d.mu.Unlock()
	call, err := c.chat.Admit(ctx, Input{
		Request: r, RequestID: "r", Began: time.Now(),
		Caller: auth.Caller{UserID: "ada", KeyID: "k", Levels: models.Levels{{Account: d.account, Name: "your account", Limits: d.limits}}},
	})
	if err != nil {
		if e := api.AsError(err); e.Code != api.CodeBudgetExceeded && e.Code != api.CodeBudgetHeld {
			t.Error(err)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if fits {
			d.wrong++
		}
		return false
	}
	reserved := call.Need().Amount
	d.mu.Lock()
	d.live += of.cost
	d.mu.Unlock()
	stream, err := call.Open(ctx)
	if err == nil {
		readAll(stream)
	}
	row := call.End(ctx, err)
	if row.Cost != of.cost {
		t.Errorf("booked %d, not %d", row.Cost, of.cost)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.live -= of.cost
	d.spent += of.cost
	d.ratios = append(d.ratios, float64(reserved)/float64(row.Cost))
	return true
}

// newAgent makes an agent in the middle of its work.
func newAgent(d *rand.Rand) *agent {
	a := &agent{prompt: 10_000 + d.IntN(110_000), perByte: 0.24 + 0.08*d.Float64()}
	a.cached = int64(float64(a.prompt)*a.perByte) - 40
	return a
}

// sessions are those of agents, which cost as much together.
func sessions(d *rand.Rand, agents int, cost int64, price catalog.Price) [][]turn {
	all := make([][]turn, agents)
	of := make([]*agent, agents)
	for i := range of {
		of[i] = newAgent(d)
	}
	for i := 0; ; i = (i + 1) % agents {
		t := of[i].next(d, price)
		if cost -= t.cost; cost < 0 {
			return all
		}
		all[i] = append(all[i], t)
	}
}

// play makes the calls of sessions, so many at once.
func (d *day) play(atOnce int, all [][]turn) {
	waiting := make(chan []turn)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for session := range waiting {
				for i := range session {
					d.call(&session[i])
				}
			}
		})
	}
	for _, session := range all {
		waiting <- session
	}
	close(waiting)
	workers.Wait()
}

// newDay begins a day: nothing is spent of the budget, and what was learned is known.
func newDay(t *testing.T, c *fixture, account string, limit int64) *day {
	return &day{t: t, c: c, account: account, limits: models.Limits{Budget: limit, BudgetWindow: models.Day}}
}

// Twenty agents, six at once, share $5 a day. No call is refused that fits, on their first day either.
func TestADayOfTwentyAgentsFitsIntoItsBudget(t *testing.T) {
	const agents, atOnce, limit = 20, 6, 5 * microDollars
	random := rand.New(rand.NewPCG(7, 7))
	c := expecting(t)
	list, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	provider := counted{wait: func() { time.Sleep(2 * time.Millisecond) }}
	c.chat.Router().Upstreams[catalog.Anthropic] = pool.NewUpstream(catalog.Anthropic, provider, poolOf("k1"), time.Now)
	connect(c.chat.Router(), list, nil)
	model, err := c.chat.Router().Models.Resolve(opus)
	if err != nil {
		t.Fatal(err)
	}
	background(t, c.chat.Ledger.Run)
	background(t, c.chat.Budgets.Run)
	for i, percent := range []int64{75, 95, 95} { // of the budget is what the calls of the day cost
		d := newDay(t, c, fmt.Sprint("user:day", i), limit)
		d.play(atOnce, sessions(random, agents, limit*percent/100, model.Price))
		slices.Sort(d.ratios)
		p50, p95 := d.ratios[len(d.ratios)/2], d.ratios[len(d.ratios)*95/100]
		t.Logf("day %d: %d calls for $%.2f of $%.2f; reserved and booked: %.2f at p50, %.2f at p95, %.2f to %.2f; %d refused that would have fit",
			i+1, d.calls, float64(d.spent)/1e6, float64(limit)/1e6, p50, p95, d.ratios[0], d.ratios[len(d.ratios)-1], d.wrong)
		if d.wrong > 0 || d.calls < 80 {
			t.Errorf("day %d: %d of %d calls were refused and would have fit", i+1, d.wrong, d.wrong+d.calls)
		}
		if i > 0 && (p50 > 1.5 || p95 > 3) {
			t.Errorf("day %d: reserved is %.2f times what is booked at p50, %.2f at p95", i+1, p50, p95)
		}
	}
}
