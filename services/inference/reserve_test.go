package inference

import (
	"context"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/history"
	"modelgateway/services/pool"
)

// expecting is a fixture whose calls reserve what they are expected to cost.
func expecting(t testing.TB, all ...*scripted) *fixture {
	t.Helper()
	c := newFixture(t, all...)
	c.chat.ReserveMost = false
	return c
}

// promptOf is a request of haiku with a prompt of about so many bytes. more are members of it.
func promptOf(t testing.TB, bytes int, more string) *llm.Request {
	t.Helper()
	words := strings.Repeat("The committee met in the morning and read the report. ", bytes/54+1)[:bytes]
	return decoded(t, `{"model":"`+haiku+`",`+more+`"messages":[{"role":"user","content":[{"type":"text","text":"`+words+`"}]}]}`)
}

// reserved is what a call with this request reserves, and the upper bound of its cost.
func (c *fixture) reserved(t testing.TB, r *llm.Request, limits models.Limits) (amount, most int64) {
	t.Helper()
	ask := keyed(haiku, limits)
	ask.Request = r
	call, err := c.chat.Admit(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	defer call.End(t.Context(), nil)
	return call.reserved.Amount(), call.most.cost
}

// learn records calls of ada, who has the key of keyed.
func (c *fixture) learn(n int, call history.Call) {
	for range n {
		c.chat.History.Add("ada", haiku, call)
	}
}

func TestACallReservesWhatItIsExpectedToCost(t *testing.T) {
	// haiku: $1 for a million tokens of input, $5 of output, $1.25 written to a cache, $2 for an hour.
	const bytes = 400_000
	rich := ofMonth(1000 * microDollars)
	c := expecting(t, answering(catalog.Anthropic, usedUp(7, 3)))
	plain, most := c.reserved(t, promptOf(t, bytes, `"max_tokens":32000,`), rich)
	if input := plain - 5*4096; input < bytes/5 || input > bytes/2 || most < 2*200_000+5*32_000 { // of a context of 200,000
		t.Errorf("%d of %d micro-dollars are reserved", plain, most)
	}
	short, _ := c.reserved(t, promptOf(t, bytes, `"max_tokens":100,`), rich)
	if want := plain - 5*(4096-100); short < want-1 || short > want+1 {
		t.Errorf("%d for an answer of 100 tokens at most, %d for one of 4096", short, plain)
	}
	fresh := short - 5*100
	for mark, percent := range map[string]int64{
		`{"type":"ephemeral"}`: 125, `{"type":"ephemeral","ttl":"5m"}`: 125, `{"type":"ephemeral","ttl":"1h"}`: 200, `null`: 100,
	} {
		marked, _ := c.reserved(t, promptOf(t, bytes, `"max_tokens":100,"cache_control":`+mark+`,`), rich)
		if got := (marked - 5*100) * 100 / fresh; got < percent-1 || got > percent+1 {
			t.Errorf("%s: %d %% of a prompt that is not marked", mark, got)
		}
	}
	c.learn(50, history.Call{Output: 60, Input: 13, Fresh: 100})
	usual, _ := c.reserved(t, promptOf(t, bytes, `"max_tokens":32000,"cache_control":{"type":"ephemeral"},`), rich)
	if want := fresh*13/100 + 5*60; usual < want-2 || usual > want+2 {
		t.Errorf("%d after calls that read from a cache, not %d", usual, want)
	}
}

// A request with a web search or a file can cost the model's whole context window. It is expected to cost
// what such requests usually do.
func TestWhatARequestAllowsAndSeldomUsesIsNotReserved(t *testing.T) {
	const search = `"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8}],`
	rich := ofMonth(1000 * microDollars)
	c := expecting(t, answering(catalog.Anthropic, usedUp(7, 3)))
	c.chat.Router().Upstreams[catalog.Anthropic] = pool.NewUpstream(
		catalog.Anthropic, speaking{answering(catalog.Anthropic, usedUp(1, 1))}, poolOf("k1"), time.Now)
	c.chat.Router().Upstreams[catalog.Anthropic].Vendor = true
	reserved := func(members, content string) (amount, most int64) {
		r, err := messages.Decode(nil, []byte(`{"model":"`+haiku+`","max_tokens":100,`+members+
			`"messages":[{"role":"user","content":[`+content+`{"type":"text","text":"What is new?"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return c.reserved(t, r, rich)
	}
	for name, of := range map[string][2]string{
		"a search": {search, ""},
		"a file": {"", `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` +
			strings.Repeat("JVBERi0x", 2000) + `"}},`},
	} {
		amount, most := reserved(of[0], of[1])
		if amount < 8_000 || amount > 25_000 || most < 200_000 {
			t.Errorf("%s: %d of %d micro-dollars are reserved", name, amount, most)
		}
	}
	c.learn(50, history.Call{Output: 100, Input: 20, Fresh: 100})
	if amount, _ := reserved(search, ""); amount > 4_000 {
		t.Errorf("%d micro-dollars are reserved for searches that this caller seldom makes", amount)
	}
}

func TestAnyAccountCanHaveTheMostReserved(t *testing.T) {
	worst := ofMonth(1000 * microDollars)
	worst.BudgetReserve = models.ReserveWorst
	c := expecting(t, answering(catalog.Anthropic, usedUp(7, 3)))
	if amount, most := c.reserved(t, promptOf(t, 1000, ""), worst); amount != most {
		t.Errorf("%d of %d", amount, most)
	}
	c.chat.ReserveMost = true
	if amount, most := c.reserved(t, promptOf(t, 1000, ""), ofMonth(1000*microDollars)); amount != most {
		t.Errorf("%d of %d", amount, most)
	}
}

// A stream that becomes longer than expected reserves more as it is read, and is never cut off.
func TestAStreamReservesMoreAsItGrows(t *testing.T) {
	const paragraph = 3000 // bytes
	p := answering(catalog.Anthropic, nil)
	c := expecting(t, p)
	c.learn(50, history.Call{Output: 10, Input: 100, Fresh: 100})
	ask := keyed(haiku, ofMonth(1500)) // the whole stream costs ten times that
	ask.Request = promptOf(t, 600, `"stream":true,`)
	var call *Call
	p.stream = func(context.Context) (llm.Stream, error) {
		return func(yield func(*llm.Event, error) bool) {
			before := call.reserved.Amount()
			for i := range 30 {
				if !yield(&llm.Event{Kind: llm.EventText, Head: new(llm.Head), Text: strings.Repeat("a ", paragraph/2)}, nil) {
					return
				}
				written := int64(i+1) * paragraph / 3 * 5
				if now := call.reserved.Amount(); now < before || now < written*3/4 || now > before+2*written+10_000 {
					t.Errorf("%d micro-dollars are reserved after text for %d", now, written)
				}
			}
			yield(&llm.Event{Kind: llm.EventUsage, Head: new(llm.Head), Usage: usedUp(200, 22_000)}, nil)
		}, nil
	}
	call, err := c.chat.Admit(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := call.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	readAll(stream)
	other := keyed(haiku, ofMonth(1500))
	other.Request = ask.Request
	if _, err := c.chat.Admit(t.Context(), other); err == nil {
		t.Error("a call is admitted while another one has overdrawn the budget")
	}
	if r := call.End(t.Context(), nil); r.Outcome != models.OutcomeOK || r.Cost != 200+5*22_000 {
		t.Errorf("%+v", r)
	}
	_, err = c.chat.Admit(t.Context(), other)
	refusal(t, err, 402, api.CodeBudgetExceeded)
}

// counts is what a provider reports of a prompt when its stream begins.
type counts llm.Usage

func (c *counts) Counted() *llm.Usage { return (*llm.Usage)(c) }

// A provider that reports the tokens of the prompt first tells whether it was in the cache.
func TestAPromptThatWasNotInTheCacheIsReservedOnceThatIsKnown(t *testing.T) {
	p := answering(catalog.Anthropic, nil)
	c := expecting(t, p)
	c.learn(50, history.Call{Output: 10, Input: 10, Fresh: 100})
	ask := keyed(haiku, ofMonth(1000*microDollars))
	ask.Request = promptOf(t, 30_000, `"stream":true,`)
	var call *Call
	head := &llm.Head{Counter: &counts{Input: 8000, HasCache: true, CacheWrite: 8000}}
	p.stream = func(context.Context) (llm.Stream, error) {
		return func(yield func(*llm.Event, error) bool) {
			if before := call.reserved.Amount(); before > 2000 {
				t.Errorf("%d micro-dollars are reserved first", before)
			}
			yield(&llm.Event{Kind: llm.EventBegin, Head: head}, nil)
			if now := call.reserved.Amount(); now < 10_000 || now > 12_000 {
				t.Errorf("%d micro-dollars are reserved, and the prompt alone costs 10000", now)
			}
			yield(&llm.Event{Kind: llm.EventUsage, Head: head, Usage: usedUp(8000, 10)}, nil)
		}, nil
	}
	call, err := c.chat.Admit(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := call.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	readAll(stream)
	call.End(t.Context(), nil)
}

// What is learned comes from calls that ended well and whose provider reported their usage.
func TestOnlyReportedUsageIsLearnedFrom(t *testing.T) {
	for name, tt := range map[string]struct {
		provider *scripted
		learned  bool
	}{
		"reported":     {answering(catalog.Anthropic, usedUp(700, 30)), true},
		"not reported": {answering(catalog.Anthropic, nil), false},
		"absurd":       {answering(catalog.Anthropic, usedUp(1<<40, 1<<40)), false},
	} {
		c := expecting(t, tt.provider)
		for range 50 {
			ask := keyed(haiku, ofMonth(1000*microDollars))
			ask.Request = promptOf(t, 1000, "")
			if _, err := c.made(t, ask); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok := c.chat.History.Share("ada", haiku); ok != tt.learned {
			t.Errorf("%s: %v", name, ok)
		}
	}
}
