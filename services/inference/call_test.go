package inference

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/services/auth"
	"modelgateway/services/budget"
	"modelgateway/services/ledger"
	"modelgateway/services/pool"
	"modelgateway/services/ratelimit"
	"modelgateway/services/registry"
	"modelgateway/services/routing"
	"modelgateway/tests/storetest"
)

// scripted is a provider with the same behaviour for all of its models.
type scripted struct {
	name     string
	complete func(ctx context.Context) (*llm.Answer, error)
	stream   func(ctx context.Context) (llm.Stream, error)
	limit    int64            // of output tokens, as in the translated request
	refuses  map[string]error // by model
	ignores  []string

	mu    sync.Mutex
	asked []string // models
}

func (p *scripted) Abilities() providers.Abilities { return providers.Abilities{} }

func (p *scripted) Prepare(call providers.Call) (providers.Exchange, error) {
	if err := p.refuses[call.Model.ID]; err != nil {
		return nil, err
	}
	return &scriptedExchange{p, call.Model.ID, call.Request.Stream}, nil
}

// models are the models of the calls, in their order.
func (p *scripted) models() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.asked, " ")
}

type scriptedExchange struct {
	from   *scripted
	model  string
	stream bool
}

func (e *scriptedExchange) Properties() providers.Properties {
	return providers.Properties{Ignored: e.from.ignores, MaxOutput: e.from.limit}
}

func (e *scriptedExchange) record() {
	e.from.mu.Lock()
	defer e.from.mu.Unlock()
	e.from.asked = append(e.from.asked, e.model)
}

func (e *scriptedExchange) Open(ctx context.Context, _ string) (llm.Stream, error) {
	e.record()
	if e.stream {
		return e.from.stream(ctx)
	}
	answer, err := e.from.complete(ctx)
	if err != nil {
		return nil, err
	}
	return eventsOf(answer), nil
}

// eventsOf is an answer of texts as the stream that it is collected from.
func eventsOf(a *llm.Answer) llm.Stream {
	return func(yield func(*llm.Event, error) bool) {
		e := llm.NewEmitter(yield, a.Head)
		for _, c := range a.Choices {
			for _, b := range c.Blocks {
				e.Text(c.Index, b.Text)
			}
		}
		e.Usage(a.Usage)
	}
}

// answering answers with this usage.
func answering(name string, usage *llm.Usage) *scripted {
	return &scripted{
		name: name,
		complete: func(context.Context) (*llm.Answer, error) {
			return wholeOf("hello world", usage), nil
		},
		stream: func(context.Context) (llm.Stream, error) {
			return chunksOf(usage, nil, "hello", " world"), nil
		},
	}
}

// fail makes all calls fail.
func (p *scripted) fail(err error) *scripted {
	p.complete = func(context.Context) (*llm.Answer, error) { return nil, err }
	p.stream = func(context.Context) (llm.Stream, error) { return nil, err }
	return p
}

func wholeOf(text string, usage *llm.Usage) *llm.Answer {
	if usage != nil {
		own := *usage
		usage = &own
	}
	return &llm.Answer{Choices: []llm.AnswerChoice{{Blocks: []llm.Block{{Text: text}}}}, Usage: usage}
}

// chunkOf is an event of text.
func chunkOf(text string) *llm.Event {
	return &llm.Event{Kind: llm.EventText, Head: new(llm.Head), Text: text}
}

// chunksOf is a stream of texts that ends with a usage, or with an error.
func chunksOf(usage *llm.Usage, err error, texts ...string) llm.Stream {
	return func(yield func(*llm.Event, error) bool) {
		if !yield(&llm.Event{Kind: llm.EventBegin, Head: new(llm.Head)}, nil) {
			return
		}
		for _, text := range texts {
			if !yield(chunkOf(text), nil) {
				return
			}
		}
		switch {
		case err != nil:
			yield(nil, err)
		case usage != nil:
			own := *usage
			event := &llm.Event{Kind: llm.EventUsage, Usage: &own}
			if yield(event, nil) {
				own = llm.Usage{Input: 77_777} // the event is over
			}
		}
	}
}

func usedUp(prompt, completion int64) *llm.Usage {
	return &llm.Usage{Input: prompt, Output: completion, Total: prompt + completion}
}

// Models without a price, and one that costs a micro-dollar a token.
const unpriced = `models: [
	{id: secret-a, provider: anthropic, context: 1000, max_output: 100},
	{id: secret-o, provider: openai, context: 1000, max_output: 100},
	{id: free-g, provider: gemini, context: 1000, max_output: 100, price: {input: 0, output: 0}},
	{id: dear-a, provider: anthropic, context: 1000, max_output: 100, price: {input: 1, output: 2}},
	{id: dear-g, provider: gemini, context: 1000, max_output: 100, price: {input: 1000000, output: 2000000}},
]`

// fixture is a service with a ledger and budgets in a database.
type fixture struct {
	*storetest.Database
	chat *Service
	log  *lockedLog
}

// lockedLog is a log that is read while it is written.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const microDollars = 1_000_000 // in a dollar

// background runs a part until the test ends or the returned function is
// called, which waits for it.
func background(t testing.TB, run func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

func (c *fixture) number(t testing.TB, query string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(c.Query(t, query)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (c *fixture) spent(t testing.TB, account string) int64 {
	t.Helper()
	return c.number(t, "SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM spend WHERE account = '"+account+"'")
}

func newFixture(t testing.TB, all ...*scripted) *fixture {
	t.Helper()
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(unpriced, "\t", " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := catalog.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	h := storetest.SQLite(t)
	c := &fixture{Database: h, log: new(lockedLog)}
	log := slog.New(slog.NewTextHandler(c.log, nil))
	c.chat = &Service{
		Answer: Answered(),
		Now:    time.Now, Log: log, ReserveMost: true,
		Budgets: budget.New(budget.Options{Store: h.Open(t), Log: slog.New(slog.DiscardHandler), Now: time.Now}),
		Quotas:  ratelimit.NewQuotas(ratelimit.QuotaOptions{Log: log, Now: time.Now}),
	}
	c.chat.Ledger = ledger.NewWriter(ledger.Options{
		Store: h.Store, Replica: c.chat.Budgets.Replica(), Log: log, Now: time.Now, Written: c.chat.Budgets.Written,
	})
	c.chat.Use(&routing.Router{Upstreams: pool.Set{}, Now: time.Now})
	connect(c.chat.Router(), list, all)
	return c
}

func connect(to *routing.Router, list *catalog.Catalog, fakes []*scripted) {
	for _, p := range fakes {
		to.Upstreams[p.name] = pool.NewUpstream(p.name, p, poolOf("k1"), time.Now)
	}
	to.Models = registry.New(list, to.Upstreams.Serves, time.Now)
	to.Models.Abilities = all.Abilities()
}

// serving is a service without a ledger, with the models of the catalogue.
func serving(t testing.TB, all ...*scripted) *Service {
	t.Helper()
	list, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{Now: time.Now, Answer: Answered(), Log: slog.New(slog.DiscardHandler)}
	s.Use(&routing.Router{Upstreams: pool.Set{}, Now: time.Now})
	connect(s.Router(), list, all)
	return s
}

// keyed is a request for a model by the key k, which has these limits.
func keyed(model string, limits models.Limits) Input {
	raw := `{"model":"` + model + `","messages":[{"role":"user","content":"hi"}]}`
	return Input{
		Request: decodedText(raw),
		Caller:  ofKey("k", limits), RequestID: "req_1", Began: time.Now(),
	}
}

// ofKey is the caller with a key of ada.
func ofKey(id string, limits models.Limits) auth.Caller {
	return auth.Caller{UserID: "ada", KeyID: id, Levels: models.Levels{
		{Account: models.KeyAccount(id), Name: "this API key", Limits: limits},
		{Account: models.UserAccount("ada"), Name: "your account"},
	}}
}

func decodedText(raw string) *llm.Request {
	r, err := chat.Decode(nil, []byte(raw))
	if err != nil {
		panic(err)
	}
	return r
}

func ofMonth(budget int64) models.Limits {
	return models.Limits{Budget: budget, BudgetWindow: models.Month}
}

// made makes a call to its end, and returns its row.
func (c *fixture) made(t testing.TB, ask Input) (*models.Call, error) {
	t.Helper()
	call, err := c.chat.Admit(t.Context(), ask)
	if err != nil {
		return nil, err
	}
	if !ask.Request.Stream {
		_, err = whole(call.Open(t.Context()))
		if err == nil {
			call.Sent()
		}
		return call.End(t.Context(), err), err
	}
	stream, err := call.Open(t.Context())
	if err == nil {
		for _, broken := range stream {
			err = broken
		}
	}
	return call.End(t.Context(), err), err
}

// left checks what is left of the key's budget after the ledger is written.
func (c *fixture) left(t testing.TB, want, limit int64) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() { c.chat.Ledger.Run(ctx) })
	stop()
	writing.Wait()
	if got := limit - c.spent(t, "key:k"); got != want {
		t.Errorf("%d micro-dollars are left in the ledger, not %d", got, want)
	}
	of := budget.Budget{Account: "key:k", Window: models.Month, Limit: limit, Name: "this API key"}
	at := time.Now()
	if r, err := c.chat.Budgets.Reserve(t.Context(), at, budget.Need{Amount: want + 1}, of); err == nil {
		r.Settle(0)
		t.Errorf("more than %d are left in the budget", want)
	}
	r, err := c.chat.Budgets.Reserve(t.Context(), at, budget.Need{Amount: want}, of)
	if err != nil {
		t.Errorf("less than %d are left in the budget: %v", want, err)
	}
	r.Settle(0)
}

// idle checks that no call of the key runs, and how many tokens are counted.
func (c *fixture) idle(t testing.TB, tokens int64) {
	t.Helper()
	const most = 1 << 49
	alone := models.Limits{Numbers: models.Numbers{MaxParallel: 1, TPMLimit: most}}
	quota, err := c.chat.Quotas.Take(t.Context(), models.Levels{{Account: "key:k", Limits: alone}}, 1)
	if counted := most - 1 - quota.Status().Remaining; err != nil || counted != tokens {
		t.Errorf("%d tokens are counted, not %d: %v", counted, tokens, err)
	}
	quota.End(0)
}

// untouched checks that no budget was used and no call was booked.
func (c *fixture) untouched(t testing.TB) {
	t.Helper()
	if s := c.chat.Budgets.Stats(); s != (budget.Stats{}) {
		t.Errorf("a budget was asked: %+v", s)
	}
	if s := c.chat.Ledger.Stats(); s != (ledger.Stats{}) {
		t.Errorf("a call was booked: %+v", s)
	}
}

// An ending of a call, and how it is booked.
func TestEveryOutcomeIsBooked(t *testing.T) {
	stopping := &api.Error{Status: 503, Type: api.TypeAPI, Code: api.CodeServiceUnavailable}
	alive := func(ctx context.Context) context.Context { return ctx }
	over := func(cause error) func(context.Context) context.Context {
		return func(ctx context.Context) context.Context {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(cause)
			return ctx
		}
	}
	for _, tt := range []struct {
		name    string
		err     error
		ctx     func(context.Context) context.Context
		outcome string
		before  int // status, where nothing had been sent
		code    string
	}{
		{"well", nil, alive, "ok", 200, ""},
		{"well, and then the client left", nil, over(nil), "ok", 200, ""},
		{"well, and then the gateway stopped", nil, over(stopping), "ok", 200, ""},
		{"the client does not read", ErrClientGone, alive, "client_gone", 499, ""},
		{"the client does not read, in other words", errors.Join(errors.New("write"), ErrClientGone), alive, "client_gone", 499, ""},
		{"the client left", context.Canceled, over(nil), "client_gone", 499, ""},
		{"cancelled, and the client is there", context.Canceled, alive, "internal_error", 500, "internal_error"},
		{"the client left while the provider failed", providerFault(500), over(nil), "provider_error", 502, "provider_error"},
		{"the gateway stops", context.Canceled, over(stopping), "stopped", 503, "service_unavailable"},
		{"the gateway stops while it writes", ErrClientGone, over(stopping), "stopped", 503, "service_unavailable"},
		{"the gateway stops and the provider fails", providerFault(500), over(stopping), "stopped", 503, "service_unavailable"},
		{"refused", providerFault(400), alive, "refused", 400, "provider_error"},
		{"limited", providerFault(429), alive, "refused", 429, "provider_error"},
		{"not there", providerFault(404), alive, "refused", 404, "provider_error"},
		{"failed", providerFault(500), alive, "provider_error", 502, "provider_error"},
		{"the key is refused", providerFault(401), alive, "provider_error", 502, "provider_error"},
		{"no provider", notConfigured("openai"), alive, "provider_error", 503, "provider_error"},
		{"too late", unreached(504), alive, "timeout", 504, "provider_error"},
		{"too late, it says", providerFault(408), alive, "timeout", 504, "provider_error"},
		{"our own fault", errors.New("oh"), alive, "internal_error", 500, "internal_error"},
		{"our own want", api.Unavailable(errors.New("descriptors")), alive, "internal_error", 503, "service_unavailable"},
	} {
		for _, sent := range []bool{false, true} {
			c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)))
			call, err := c.chat.Admit(t.Context(), keyed(gpt, models.Limits{}))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.before
			if sent {
				call.Sent()
				want = 200
			}
			r := call.End(tt.ctx(t.Context()), tt.err)
			if r.Outcome != tt.outcome || r.Status != want || r.ErrorCode != tt.code {
				t.Errorf("%s (sent: %v): %s, %d and %q, not %s, %d and %q", tt.name, sent, r.Outcome, r.Status, r.ErrorCode,
					tt.outcome, want, tt.code)
			}
			if r.Cost != 0 || r.InputTokens != 0 || r.Attempts != 0 {
				t.Errorf("%s: no provider was called, and one is paid: %+v", tt.name, r)
			}
		}
	}
}

func TestCallIsBookedOnceWithAllColumns(t *testing.T) {
	for _, streams := range []bool{false, true} {
		usage := usedUp(1000, 500)
		usage.HasCache, usage.Cached, usage.CacheWrite, usage.CacheWriteHour = true, 100, 800, 300
		usage.HasReasoning, usage.Reasoning = true, 40
		c := newFixture(t, answering(catalog.Anthropic, usage))
		limits := ofMonth(microDollars)
		limits.TPMLimit, limits.MaxParallel = 1_000_000, 1
		ask := keyed(haiku, limits)
		ask.Request.Stream = streams
		ask.ID = c.chat.NewID(ask.Began)
		call, err := c.chat.Admit(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if streams {
			stream, err := call.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			readAll(stream)
		} else if _, err := whole(call.Open(t.Context())); err != nil {
			t.Fatal(err)
		}
		row := *call.End(t.Context(), nil)
		again := call.End(t.Context(), providerFault(500))
		if *again != row {
			t.Errorf("the second end changed it: %+v", again)
		}
		// 100 × 1 + 100 × 0.10 + 500 × 1.25 + 300 × 2 + 500 × 5
		const cost = 100 + 10 + 625 + 600 + 2500
		want := models.Call{
			ID: row.ID, RequestID: "req_1", UserID: "ada", KeyID: "k", Model: haiku, Served: haiku, Provider: catalog.Anthropic,
			Stream: streams, Attempts: 1, Status: 200, Outcome: "ok", Dialect: "chat",
			InputTokens: 1000, CachedTokens: 100, CacheWriteTokens: 800, CacheWriteHourTokens: 300, OutputTokens: 500, ReasoningTokens: 40,
			Priced: true, Cost: cost,
			BeganAt: ask.Began.UnixMicro(), FirstTokenUS: row.FirstTokenUS, DurationUS: row.DurationUS, OverheadUS: row.OverheadUS,
			OpenedUS: row.OpenedUS, Details: row.Details,
			Holds: models.Holds{{Account: "key:k", Since: models.Month.FirstDay(ask.Began)}},
		}
		if row.Details != nil || row.OpenedUS < 1 || row.OpenedUS > row.DurationUS {
			t.Errorf("details that follow from the row: %+v, opened after %d us", row.Details, row.OpenedUS)
		}
		if row != want || row.ID == "" || row.DurationUS < 1 {
			t.Errorf("%+v\nnot\n%+v", row, want)
		}
		c.idle(t, 1500)
		c.left(t, microDollars-cost, microDollars)
		if s := c.chat.Ledger.Stats(); s.Written != 1 {
			t.Errorf("%+v", s)
		}
	}
}

func TestCallThatPanicsIsBooked(t *testing.T) {
	p := answering(catalog.OpenAI, nil)
	p.complete = func(context.Context) (*llm.Answer, error) { panic("boom") }
	p.stream = func(context.Context) (llm.Stream, error) {
		return func(yield func(*llm.Event, error) bool) { yield(chunkOf("hello world"), nil); panic("boom") }, nil
	}
	for _, streams := range []bool{false, true} {
		c := newFixture(t, p)
		limits := ofMonth(microDollars)
		limits.MaxParallel = 1
		ask := keyed(gpt, limits)
		ask.Request.Stream = streams
		call, err := c.chat.Admit(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			end := errors.New("the handler has left")
			defer func() {
				if recover() == nil {
					t.Error("the panic is lost")
				}
				call.End(t.Context(), end)
			}()
			if !streams {
				_, end = whole(call.Open(t.Context()))
				return
			}
			stream, err := call.Open(t.Context())
			if err != nil {
				t.Error(err)
			}
			readAll(stream)
		}()
		r := call.End(t.Context(), nil)
		if r.Outcome != models.OutcomeInternal || r.ErrorCode != api.CodeInternal {
			t.Errorf("%+v", r)
		}
		c.idle(t, r.InputTokens+r.OutputTokens)
		c.left(t, microDollars-r.Cost, microDollars)
		allIdle(t, c.chat.Router())
	}
}

func TestReservationAndQuotaAreReleasedAtEveryEnd(t *testing.T) {
	ends := []error{
		nil, ErrClientGone, context.Canceled, providerFault(500), providerFault(400), providerFault(429), unreached(504), errors.New("oh"),
	}
	for i, end := range ends {
		c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)).fail(end))
		if end == nil {
			c = newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)))
		}
		limits := ofMonth(microDollars)
		limits.TPMLimit, limits.MaxParallel = 1_000_000, 1
		r, err := c.made(t, keyed(gpt, limits))
		if !errors.Is(err, end) || r == nil {
			t.Fatalf("%d: %v, %v", i, r, err)
		}
		c.idle(t, r.InputTokens+r.OutputTokens)
		c.left(t, microDollars-r.Cost, microDollars)
		allIdle(t, c.chat.Router())
	}
}

func TestStreamThatIsNeverReadIsBooked(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)))
	ask := keyed(gpt, ofMonth(microDollars))
	ask.Request.Stream = true
	call, err := c.chat.Admit(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := call.End(t.Context(), ErrClientGone)
	// It began, so its prompt was read.
	if r.Outcome != models.OutcomeClient || r.Status != 499 || !r.Estimated || r.InputTokens != keyedPrompt || r.OutputTokens != 0 ||
		r.FirstTokenUS != 0 || r.OverheadUS != 0 {
		t.Errorf("%+v", r)
	}
	c.left(t, microDollars-r.Cost, microDollars)
}

func TestEveryCallHasARowInTheDatabase(t *testing.T) {
	const calls = 300
	c := newFixture(t, answering(catalog.OpenAI, usedUp(70, 30)))
	background(t, c.chat.Budgets.Run)
	stop := background(t, c.chat.Ledger.Run)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			ask := keyed(gpt, ofMonth(100*microDollars))
			ask.Request.Stream = i%2 == 0
			ask.Request.OutputLimit = 30
			if r, err := c.made(t, ask); err != nil || r.Cost != 70*30+30*60 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	all.Wait()
	stop()
	if n := c.number(t, "SELECT count(*) FROM ledger_calls WHERE cost = 3900"); n != calls || c.spent(t, "key:k") != calls*3900 {
		t.Errorf("%d rows, and %d spent", n, c.spent(t, "key:k"))
	}
}

func TestCallIDsAreUnique(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)))
	var ids []string
	for range 100 {
		in := keyed(gpt, models.Limits{})
		in.ID = c.chat.NewID(in.Began)
		r, err := c.made(t, in)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 100 {
		t.Error("two calls have one id")
	}
}

func TestSimulatedAnswersHaveTheSimulatedFingerprint(t *testing.T) {
	c := newFixture(t, answering(catalog.Anthropic, nil))
	c.chat.Simulated = true
	call, err := c.chat.Admit(t.Context(), keyed(haiku, models.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := whole(call.Open(t.Context())); err != nil || answer.Fingerprint != Simulated {
		t.Errorf("%+v, %v", answer, err)
	}
	call, err = c.chat.Admit(t.Context(), keyedStream(haiku, models.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := call.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	chunks := 0
	for chunk, err := range stream {
		if chunks++; err != nil || chunk.Head.Fingerprint != Simulated {
			t.Errorf("%+v, %v", chunk, err)
		}
	}
	if chunks == 0 {
		t.Error("the stream is empty")
	}
}
