package inference

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/providers"
)

// cutShort is the error of an answer that broke off: the provider has worked.
func cutShort(provider string) error {
	return &providers.Refusal{Provider: provider, Told: http.StatusBadGateway, Public: "the answer broke off", Worked: true}
}

// stumbling is a provider that breaks off its first answer.
func stumbling(usage *llm.Usage) *scripted {
	p := answering(catalog.Anthropic, usage)
	then := p.complete
	times := 0
	p.complete = func(ctx context.Context) (*llm.Answer, error) {
		if times++; times == 1 {
			return nil, cutShort(catalog.Anthropic)
		}
		return then(ctx)
	}
	return p
}

func TestChargedAttemptsBeforeTheAnswerAreBooked(t *testing.T) {
	p := stumbling(usedUp(10, 20))
	c := newFixture(t, p)
	c.chat.Router().Retries = 2
	ask := keyed(haiku, models.Limits{})
	ask.Request = decoded(t, `{"model":"`+haiku+`","messages":[{"role":"user","content":"hi"}]}`)
	r, err := c.made(t, ask)
	// "user" and "hi" are a token each, and 6 beside them; a microDollars a million, five for the answer's.
	if err != nil || r.Attempts != 2 || r.InputTokens != 8+10 || r.OutputTokens != 20 || !r.Estimated || r.Cost != 8+10+100 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCallUnderABudgetIsNotRetriedAfterAChargedAttempt(t *testing.T) {
	p, other := stumbling(usedUp(10, 20)), answering(catalog.OpenAI, usedUp(1, 1))
	c := newFixture(t, p, other)
	c.chat.Router().Retries = 2
	c.chat.Router().Fallbacks = map[string][]string{haiku: {gpt}}
	ask := keyed(haiku, ofMonth(100_000_000))
	ask.Request = decoded(t, `{"model":"`+haiku+`","messages":[{"role":"user","content":"hi"}]}`)
	r, err := c.made(t, ask)
	if api.AsError(err).Status != http.StatusBadGateway || p.models() != haiku || other.models() != "" {
		t.Errorf("%v; %q and %q were asked", err, p.models(), other.models())
	}
	if r.Attempts != 1 || r.InputTokens != 8 || r.OutputTokens != 0 || !r.Estimated || r.Cost != 8 || r.Outcome != models.OutcomeFailed {
		t.Errorf("%+v", r)
	}
	c.left(t, 100_000_000-8, 100_000_000)
}

func TestFreeFailureIsRetriedUnderABudget(t *testing.T) {
	p := answering(catalog.Anthropic, usedUp(10, 20))
	then, times := p.complete, 0
	p.complete = func(ctx context.Context) (*llm.Answer, error) {
		if times++; times == 1 {
			return nil, providerError(http.StatusInternalServerError)
		}
		return then(ctx)
	}
	c := newFixture(t, p)
	c.chat.Router().Retries = 1
	if r, err := c.made(t, keyed(haiku, ofMonth(100_000_000))); err != nil || r.Attempts != 2 || r.InputTokens != 10 || r.Estimated {
		t.Errorf("%+v, %v", r, err)
	}
}

// The slower of two answers at once has its usage, if it comes, and else its
// prompt; and there is room reserved for both.
func TestSlowerOfTwoHedgedCallsIsBooked(t *testing.T) {
	for name, late := range map[string]bool{"it answers as well": true, "it is cancelled": false} {
		p := answering(catalog.Anthropic, usedUp(10, 20))
		then := p.complete
		first := make(chan struct{}, 1)
		first <- struct{}{}
		p.complete = func(ctx context.Context) (*llm.Answer, error) {
			select {
			case <-first: // is the slow one
				<-ctx.Done()
				if late {
					return then(context.WithoutCancel(ctx))
				}
				return nil, context.Cause(ctx)
			default:
				return then(ctx)
			}
		}
		c := newFixture(t, p)
		c.chat.Router().HedgeAfter = time.Millisecond
		ask := keyed(haiku, ofMonth(100_000_000))
		ask.Request = decoded(t, `{"model":"`+haiku+`","messages":[{"role":"user","content":"hi"}]}`)
		r, err := c.made(t, ask)
		input, output := int64(10+8), int64(20)
		if late {
			input, output = 20, 40
		}
		if err != nil || r.Attempts != 2 || r.InputTokens != input || r.OutputTokens != output || r.Estimated == late ||
			r.Cost != input+5*output {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		c.left(t, 100_000_000-r.Cost, 100_000_000)
	}
}

func TestReservationOfAHedgedCallCoversBoth(t *testing.T) {
	p := answering(catalog.Anthropic, usedUp(10, 20))
	c := newFixture(t, p)
	ask := keyed(haiku, ofMonth(1))
	maxCost := func() (int64, error) {
		call := c.chat.call(ask)
		call.plan.Paid = true
		return bound(call)
	}
	one, err := maxCost()
	if err != nil || one <= 0 {
		t.Fatal(one, err)
	}
	c.chat.Router().HedgeAfter = time.Second
	if two, err := maxCost(); err != nil || two != 2*one {
		t.Errorf("%d for two, %d for one: %v", two, one, err)
	}
	ask.Request.Stream = true // is never asked twice at once
	if again, err := maxCost(); err != nil || again != one {
		t.Errorf("%d for a stream, not %d: %v", again, one, err)
	}
}

func TestRequestsNotPricedByTokensAreRefusedUnderABudget(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(1, 1)))
	for param, change := range map[string]func(*llm.Request){
		"service_tier":       func(r *llm.Request) { r.ServiceTier = "priority" }, // gpt-4 has no price of it
		"modalities":         func(r *llm.Request) { r.Modalities = []string{"text", "audio"} },
		"web_search_options": func(r *llm.Request) { r.WebSearch = jsontext.Value(`{}`) },
		"audio":              func(r *llm.Request) { r.Audio = jsontext.Value(`{"voice":"alloy"}`) },
	} {
		for paid, limits := range map[bool]models.Limits{true: ofMonth(1_000_000_000), false: {}} {
			ask := keyed(gpt, limits)
			change(ask.Request)
			_, err := c.made(t, ask)
			if !paid {
				if err != nil {
					t.Errorf("%s without a budget: %v", param, err)
				}
				continue
			}
			if e := refusal(t, err, http.StatusBadRequest, api.CodeUnsupportedValue); e.Param != param ||
				!strings.Contains(e.Message, "budget") {
				t.Errorf("%s: %v", param, e)
			}
		}
	}
	for _, tier := range []string{"", "default", "flex", "auto"} {
		ask := keyed(gpt, ofMonth(1_000_000_000))
		ask.Request = decodedText(
			`{"model":"` + gpt + `","messages":[{"role":"user","content":"hi"}],"audio":null,"web_search_options":null,` +
				`"service_tier":"` + tier + `"}`,
		)
		if _, err := c.made(t, ask); err != nil {
			t.Errorf("%s: %v", tier, err)
		}
	}
	c.idle(t, 0)
}

func TestAServiceTierIsReservedAtItsPrice(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(1, 1)))
	bounds := map[string]int64{}
	for _, tier := range []string{"", "flex", "priority"} {
		ask := keyed("gpt-5.4", ofMonth(1_000_000_000))
		ask.Request.ServiceTier = tier
		call := c.chat.call(ask)
		call.plan.Paid = true
		bound, err := bound(call)
		if err != nil || call.most.inputCost+call.most.outputCost != bound {
			t.Errorf("%s: %d, %+v, %v", tier, bound, call.most, err)
		}
		bounds[tier] = bound
	}
	// Each bound is rounded up. A provider may serve flex at the usual price.
	if difference := 2*bounds[""] - bounds["priority"]; bounds["flex"] != bounds[""] || difference < 0 || difference > 2 {
		t.Errorf("%v", bounds)
	}
}

func TestAModelThatSearchesWithEachCallIsChargedForOneSearch(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(1, 1)))
	ask := keyed("gpt-4o-search-preview", ofMonth(1_000_000_000))
	model, err := c.chat.Router().Models.Resolve("gpt-4o-search-preview")
	if err != nil {
		t.Fatal(err)
	}
	call := c.chat.call(ask)
	unknown := model.Price
	unknown.Rates[catalog.Searches], unknown.Rates[catalog.SearchPrompts] = 0, 0
	if err := call.checkPrice(model, unknown, false); err == nil || !strings.Contains(err.Error(), "the price of a search is not known") {
		t.Errorf("%v", err)
	}
	if err := call.checkPrice(model, model.Price, false); err != nil || call.searches(model, 0) != 1 {
		t.Errorf("%d, %v", call.searches(model, 0), err)
	}
	call.charge(model, &llm.Usage{Input: 1, Output: 1}, 0)
	if call.row.Cost < 25_000 || call.row.Searches != 1 {
		t.Errorf("%d micro-dollars and %d searches are booked", call.row.Cost, call.row.Searches)
	}
	call.row.Cost = 0
	silent := *model
	silent.Traits.Searches, model = false, &silent
	if call.charge(model, &llm.Usage{Input: 1, Output: 1}, 0); call.row.Cost >= 25_000 {
		t.Errorf("%d micro-dollars are booked of a model that does not search", call.row.Cost)
	}
}

func TestWhatCostsMoreThanIsKnownIsCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		usage   llm.Usage
		change  func(*llm.Request)
		fee     int64
		counted bool
	}{
		"the usual way":        {llm.Usage{Tier: "default"}, func(*llm.Request) {}, 0, false},
		"an unknown tier":      {llm.Usage{Tier: "scale"}, func(*llm.Request) {}, 0, true},
		"a search":             {llm.Usage{}, func(r *llm.Request) { r.WebSearch = jsontext.Value(`{}`) }, 10_000, false},
		"counted searches":     {llm.Usage{Searches: 3}, func(*llm.Request) {}, 30_000, false},
		"a tool without a fee": {llm.Usage{Tools: 1}, func(*llm.Request) {}, 0, true},
		"an answered sound":    {llm.Usage{}, func(r *llm.Request) { r.Audio = jsontext.Value(`{"voice":"alloy"}`) }, 0, true},
	} {
		usage := tt.usage
		usage.Input, usage.Output = 1000, 1000
		c := newFixture(t, answering(catalog.OpenAI, &usage))
		ask := keyed("gpt-4", models.Limits{})
		tt.change(ask.Request)
		call, err := c.chat.Admit(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		_, err = whole(call.Open(t.Context()))
		if r := call.End(t.Context(), err); r.Cost != 90_000+tt.fee || call.usualPrice != tt.counted {
			t.Errorf("%s: %d, counted: %v", name, r.Cost, call.usualPrice)
		}
	}
}
