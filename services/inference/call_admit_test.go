package inference

import (
	"context"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/models"
	"modelgateway/services/auth"
	"modelgateway/services/budget"
	"modelgateway/services/origin"
	"modelgateway/services/ratelimit"
)

func refusal(t testing.TB, err error, status int, code string) *api.Error {
	t.Helper()
	e := api.AsError(err)
	if err == nil || e.Status != status || e.Code != code {
		t.Fatalf("%v is not %d %s", err, status, code)
	}
	return e
}

func TestModelThatTheKeyDoesNotAllowIsRefused(t *testing.T) {
	p := answering(catalog.OpenAI, usedUp(7, 3))
	for _, tt := range []struct {
		name, model string
		models      models.Names
		status      int
		code        string
	}{
		{"one of its models", gpt, gpt, 0, ""},
		{"any model", gpt, "", 0, ""},
		{"one of several", gpt, haiku + "," + gpt, 0, ""},
		{"another model", haiku, gpt, 403, api.CodeModelNotAllowed},
		{"another model, whose provider is not there", flash, gpt, 403, api.CodeModelNotAllowed},
		{"a part of its name", "gpt", gpt, 404, api.CodeModelNotFound},
		{"no model at all", "nope", gpt, 404, api.CodeModelNotFound},
		{"no model at all, with any allowed", "nope", "", 404, api.CodeModelNotFound},
		{"no model at all, which is allowed", "nope", "nope", 404, api.CodeModelNotFound},
	} {
		c := newFixture(t, p, answering(catalog.Anthropic, nil))
		limits := ofMonth(microDollars)
		limits.Models, limits.TPMLimit, limits.MaxParallel = tt.models, 1_000_000, 5
		call, err := c.chat.Admit(t.Context(), keyed(tt.model, limits))
		if tt.status == 0 {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			call.End(t.Context(), nil)
			continue
		}
		if e := refusal(t, err, tt.status, tt.code); e.Param != "model" || e.ShouldRetry() || tt.status == 403 &&
			(e.Type != api.TypePermission || !strings.Contains(e.Message, tt.model)) {
			t.Errorf("%s: %+v", tt.name, e)
		}
		if call.TokenStatus() != (ratelimit.TokenStatus{}) {
			t.Errorf("%s: %+v", tt.name, call.TokenStatus())
		}
		c.idle(t, 0)
		c.untouched(t)
	}
	if p.models() != "" {
		t.Errorf("asked for %s", p.models())
	}
}

func TestFallbackThatTheKeyDoesNotAllowIsNotCalled(t *testing.T) {
	for names, answers := range map[models.Names]string{
		"":                                flash, // after haiku, which fails
		gpt + "," + flash:                 flash,
		gpt + "," + haiku:                 "",
		gpt:                               "",
		gpt + "," + haiku + "," + flash:   flash,
		gpt + ",no-such-model," + flash:   flash,
		gpt + "," + flash + "," + retired: flash,
	} {
		fault := providerFault(404)
		o, a, g := answering(catalog.OpenAI, nil).fail(fault), answering(catalog.Anthropic, nil).fail(fault),
			answering(catalog.Gemini, usedUp(7, 3))
		c := newFixture(t, o, a, g)
		fallbacks := []string{haiku, flash}
		c.chat.Router().Fallbacks = map[string][]string{gpt: fallbacks}
		r, err := c.made(t, keyed(gpt, models.Limits{Models: names}))
		switch {
		case answers == "" && (err == nil || g.models() != ""):
			t.Errorf("%s: answered by %s", names, r.Served)
		case answers != "" && (err != nil || r.Served != answers || r.Provider != catalog.Gemini):
			t.Errorf("%s: %+v, %v", names, r, err)
		}
		if allowed := names == "" || strings.Contains(string(names), haiku); (a.models() != "") != allowed {
			t.Errorf("%s: anthropic is asked for %q", names, a.models())
		}
		if fallbacks[0] != haiku || fallbacks[1] != flash || len(c.chat.Router().Fallbacks[gpt]) != 2 {
			t.Error("the fallbacks of all are changed")
		}
	}
}

func TestNoFallbackIsCalledWhenTheClientForbidsIt(t *testing.T) {
	o, a := answering(catalog.OpenAI, nil).fail(providerFault(404)), answering(catalog.Anthropic, usedUp(7, 3))
	c := newFixture(t, o, a)
	c.chat.Router().Fallbacks = map[string][]string{gpt: {haiku}}
	ask := keyed(gpt, models.Limits{})
	ask.NoFallback = true
	if r, err := c.made(t, ask); err == nil || a.models() != "" || r.Status != 404 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestModelWithoutAPriceIsRefusedUnderABudget(t *testing.T) {
	all := &budget.Budget{Account: models.GatewayAccount, Window: models.Day, Limit: microDollars, Name: "the gateway"}
	for name, tt := range map[string]struct {
		limits models.Limits
		all    *budget.Budget
		price  catalog.Price
		ok     bool
	}{
		"no budget":            {ok: true},
		"a key's budget":       {limits: ofMonth(microDollars)},
		"the gateway's budget": {all: all},
		"both":                 {limits: ofMonth(microDollars), all: all},
		"a key's budget, and a price": {limits: ofMonth(microDollars), price: oneAndTwo,
			ok: true},
		"the gateway's budget, for free": {all: all, price: catalog.Price{Known: true}, ok: true},
		"no budget, and a price":         {price: oneAndTwo, ok: true},
		"an amount without a window":     {limits: models.Limits{Budget: 5}, ok: true},
	} {
		p := answering(catalog.Anthropic, usedUp(70, 30))
		c := newFixture(t, p)
		c.chat.Budget, c.chat.DefaultPrice = tt.all, tt.price
		tt.limits.MaxParallel, tt.limits.TPMLimit = 1, 1_000_000
		r, err := c.made(t, keyed("secret-a", tt.limits))
		if !tt.ok {
			if e := refusal(t, err, 403, api.CodeModelNotAllowed); e.Param != "model" || !strings.Contains(e.Message, "secret-a") ||
				!strings.Contains(e.Message, "price") {
				t.Errorf("%s: %+v", name, e)
			}
			c.untouched(t)
			c.idle(t, 0)
			continue
		}
		want := tt.price.Cost(catalog.Amounts{catalog.InputTokens: 70, catalog.OutputTokens: 30})
		if err != nil || r.Cost != want || r.Priced != tt.price.Known ||
			r.InputTokens != 70 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	// The default is for models without a price only.
	c := newFixture(t, answering(catalog.Gemini, usedUp(70, 30)))
	c.chat.DefaultPrice = catalog.Price{Known: true, Rates: catalog.Rates{catalog.InputTokens: 5_000_000}}
	if r, err := c.made(t, keyed("free-g", ofMonth(microDollars))); err != nil || r.Cost != 0 || !r.Priced {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFallbackWithoutAPriceIsNotCalledUnderABudget(t *testing.T) {
	fault := providerFault(500)
	for name, tt := range map[string]struct {
		limits    models.Limits
		fallbacks []string
		served    string
	}{
		"no budget":            {models.Limits{}, []string{"secret-a", flash}, "secret-a"},
		"a budget":             {ofMonth(microDollars), []string{"secret-a", flash}, flash},
		"a budget, and no one": {ofMonth(microDollars), []string{"secret-a"}, ""},
		"a budget, at the end": {ofMonth(microDollars), []string{flash, "secret-a"}, flash},
	} {
		for _, streams := range []bool{false, true} {
			o, a, g := answering(catalog.OpenAI, nil).fail(fault), answering(catalog.Anthropic, usedUp(7, 3)),
				answering(catalog.Gemini, usedUp(7, 3))
			c := newFixture(t, o, a, g)
			c.chat.Router().Fallbacks = map[string][]string{gpt: tt.fallbacks}
			ask := keyed(gpt, tt.limits)
			ask.Request.Stream = streams
			r, err := c.made(t, ask)
			switch {
			case tt.served == "":
				if e := refusal(t, err, 502, api.CodeProviderError); e.UpstreamStatus != 500 || a.models() != "" {
					t.Errorf("%s: %+v after %q", name, e, a.models())
				}
			case err != nil || r.Served != tt.served:
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
	}
}

func TestReservationCoversEveryModelThatMayAnswer(t *testing.T) {
	// What the ask comes to with each, as tokens.Max has it; dear-g costs a microDollars
	// for a token of the prompt, which has 1000 at most, and two for one of its 100.
	const dear = 1000*microDollars + 100*2*microDollars + 1
	for name, tt := range map[string]struct {
		noFallback, configured bool
		want                   int64
	}{
		"the dearest of the fallbacks": {false, true, dear},
		"no fallback":                  {true, true, 0},
		"its provider is not there":    {false, false, 0},
	} {
		o, g := answering(catalog.OpenAI, usedUp(7, 3)), answering(catalog.Gemini, usedUp(7, 3))
		c := newFixture(t, o)
		if tt.configured {
			c = newFixture(t, o, g)
		}
		c.chat.Router().Fallbacks = map[string][]string{gpt: {"dear-g"}}
		ask := keyed(gpt, models.Limits{})
		ask.NoFallback = tt.noFallback
		ask.Request.Raw = append(ask.Request.Raw, strings.Repeat(" ", 5000)...)
		want := tt.want
		if want == 0 {
			// A byte is a token at most, and 256 and 16 for what OpenAI adds; 8192 is
			// the longest answer, and the bound of the context is the same.
			input := min(int64(len(ask.Request.Raw))+256+16, 8192)
			want = 30*input + 60*8192 + 1
		}
		for limit, status := range map[int64]int{want: 0, want - 1: 402} {
			ask.Caller = ofKey(map[int]string{0: "rich", 402: "poor"}[status], ofMonth(limit))
			call, err := c.chat.Admit(t.Context(), ask)
			if status == 0 && err != nil {
				t.Errorf("%s: %d are not enough: %v", name, limit, err)
			}
			if status != 0 {
				refusal(t, err, status, api.CodeBudgetExceeded)
				continue
			}
			call.End(t.Context(), nil)
		}
	}
}

func TestCallRefusedByTheBudgetTakesNoQuota(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)))
	limits := ofMonth(5)
	limits.TPMLimit, limits.MaxParallel = 100_000, 1
	for range 3 {
		call, err := c.chat.Admit(t.Context(), keyed(gpt, limits))
		if e := refusal(t, err, 402, api.CodeBudgetExceeded); e.Type != api.TypeBudget || e.ShouldRetry() {
			t.Errorf("%+v", e)
		}
		if call.TokenStatus().Limit != 100_000 {
			t.Errorf("%+v", call.TokenStatus())
		}
		c.idle(t, 0)
	}
	if s := c.chat.Budgets.Stats(); s.Held-s.Free != 0 {
		t.Errorf("something is reserved: %+v", s)
	}
	limits.Budget = microDollars
	if _, err := c.made(t, keyed(gpt, limits)); err != nil {
		t.Error(err)
	}
	c.idle(t, 10)
}

func TestCallRefusedByTheQuotaReservesNothing(t *testing.T) {
	for name, numbers := range map[string]models.Numbers{"tokens": {TPMLimit: 10}, "calls at once": {MaxParallel: 1}} {
		limits := models.Limits{Numbers: numbers}
		c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)))
		first, err := c.chat.Admit(t.Context(), keyed(gpt, limits)) // without a budget
		if err != nil {
			t.Fatal(err)
		}
		limits.Budget, limits.BudgetWindow = microDollars, models.Month
		call, err := c.chat.Admit(t.Context(), keyed(gpt, limits))
		if e := refusal(t, err, 429, api.CodeRateLimitExceeded); e.RetryAfter <= 0 || call.TokenStatus().Limit != limits.TPMLimit {
			t.Errorf("%s: %+v, %+v", name, e, call.TokenStatus())
		}
		c.untouched(t)
		first.End(t.Context(), nil)
	}
}

func TestRequestThatCannotBeTranslatedReservesNothing(t *testing.T) {
	for name, change := range map[string]func(*scripted, *Input){
		"strict": func(p *scripted, a *Input) { p.ignores, a.Strict = []string{"seed"}, true },
		"not to be translated": func(p *scripted, _ *Input) {
			p.refuses = map[string]error{gpt: api.Invalid("invalid_value", "n", "no")}
		},
		"a fault in the translation": func(p *scripted, _ *Input) { p.refuses = map[string]error{gpt: api.Internal(context.Canceled)} },
	} {
		p := answering(catalog.OpenAI, usedUp(7, 3))
		c := newFixture(t, p)
		limits := ofMonth(microDollars)
		limits.TPMLimit, limits.MaxParallel = 1000, 1
		ask := keyed(gpt, limits)
		change(p, &ask)
		call, err := c.chat.Admit(t.Context(), ask)
		if err == nil || api.AsError(err).Code == api.CodeProviderError {
			t.Errorf("%s: %v", name, err)
		}
		if served := call.Route(); served.Provider != catalog.OpenAI || served.Model != gpt || (len(served.Ignored) > 0) != ask.Strict {
			t.Errorf("%s: %+v", name, served)
		}
		c.untouched(t)
		c.idle(t, 0)
	}
}

func TestReservationIsThatOfTheMostExpensiveModelAtAnyPosition(t *testing.T) {
	o, g := answering(catalog.OpenAI, usedUp(7, 3)), answering(catalog.Gemini, usedUp(7, 3))
	c := newFixture(t, o, g)
	c.chat.Router().Fallbacks = map[string][]string{"dear-g": {gpt, "free-g"}}
	_, err := c.chat.Admit(t.Context(), keyed("dear-g", ofMonth(100*microDollars))) // the answer can cost 200
	refusal(t, err, 402, api.CodeBudgetExceeded)
}

// A fallback that cannot take the request has no part in what it can cost.
func TestReservationLeavesOutFallbacksThatCannotTakeTheRequest(t *testing.T) {
	g := answering(catalog.Gemini, nil)
	g.refuses = map[string]error{"dear-g": api.Invalid("unsupported_value", "n", "no")}
	c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)), g)
	c.chat.Router().Fallbacks = map[string][]string{gpt: {"dear-g"}}
	if _, err := c.made(t, keyed(gpt, ofMonth(microDollars))); err != nil {
		t.Error(err)
	}
}

func TestModelOfAnUnconfiguredProviderIsAdmittedForItsFallbacks(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)))
	c.chat.Router().Fallbacks = map[string][]string{haiku: {gpt}}
	limits := ofMonth(microDollars)
	limits.TPMLimit = 100_000
	r, err := c.made(t, keyed(haiku, limits))
	if err != nil || r.Served != gpt || r.Cost != 7*30+3*60 || r.Attempts != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	c.idle(t, 10)
	r, err = c.made(t, keyed(flash, limits)) // there is no fallback
	refusal(t, err, 503, api.CodeProviderError)
	if r.Outcome != models.OutcomeFailed || r.Attempts != 0 || r.Provider != catalog.Gemini || r.Cost != 0 {
		t.Errorf("%+v", r)
	}
	c.left(t, microDollars-390, microDollars)
}

func TestCallIsPaidFromBothBudgets(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(70, 30)))
	c.chat.Budget = &budget.Budget{Account: models.GatewayAccount, Window: models.Total, Limit: microDollars, Name: "the gateway"}
	limits := ofMonth(2 * microDollars)
	r, err := c.made(t, keyed(gpt, limits))
	if want := (models.Holds{{Account: "key:k", Since: models.Month.FirstDay(c.chat.Now())},
		{Account: models.GatewayAccount}}); err != nil || r.Holds != want {
		t.Errorf("%+v, %v", r, err)
	}
	ask := keyed(gpt, models.Limits{})
	ask.Caller = auth.Caller{UserID: "ada"} // without a key
	r, err = c.made(t, ask)
	if want := (models.Holds{{Account: models.GatewayAccount}}); err != nil || r.Holds != want || r.KeyID != "" || r.UserID != "ada" {
		t.Errorf("%+v, %v", r, err)
	}
	c.left(t, 2*microDollars-3900, 2*microDollars)
	if got := c.spent(t, models.GatewayAccount); got != 7800 {
		t.Errorf("%d spent in all", got)
	}
}

func TestSuccessorThatTheKeyDoesNotAllowIsNotCalled(t *testing.T) {
	const successor = "claude-sonnet-5"
	for allowed, want := range map[models.Names]string{retired: retired, retired + "," + successor: successor, "": successor} {
		p := answering(catalog.Anthropic, usedUp(1, 1))
		c := newFixture(t, p)
		c.chat.Router().Redirect, c.chat.Router().Now = true, func() time.Time { return november }
		if _, err := c.made(t, keyed(retired, models.Limits{Models: allowed})); err != nil || p.models() != want {
			t.Errorf("%q: %q was asked, not %q: %v", allowed, p.models(), want, err)
		}
	}
}

// What a call comes from is booked also where its replica dies.
func TestARunningCallSaysWhatItComesFrom(t *testing.T) {
	c := newFixture(t, answering(catalog.Anthropic, usedUp(1, 1)))
	ask := keyed(haiku, ofMonth(100_000_000))
	ask.Origin = origin.Origin{Project: "web", Session: "s-1", AgentID: "a-2", ParentAgentID: "a-1", Agent: "curl"}
	call, err := c.chat.Admit(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []*models.Call{&call.running().Call, call.End(t.Context(), nil)} {
		if got := (origin.Origin{
			Project: row.Project, Session: row.Session, AgentID: row.AgentID, ParentAgentID: row.ParentAgentID, Agent: row.Agent,
		}); got != ask.Origin {
			t.Errorf("%+v", got)
		}
	}
}
