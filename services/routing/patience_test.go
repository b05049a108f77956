package routing

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
	"modelgateway/services/pool"
)

// accepts is an upstream that sends the header of an answer at once.
func accepts(then behaviour) behaviour {
	return func(ctx context.Context) error {
		if accepted := upstream.CallOf(ctx).Accepted; accepted != nil {
			accepted()
		}
		return then(ctx)
	}
}

// settled is a call of a patient plan.
type settled struct {
	route Route
	err   error
	after []time.Duration // when Final was called
	final Route
}

// settle opens a stream with the patience of 10 s.
func settle(t *testing.T, router *Router) (got settled) {
	t.Helper()
	input := ask(haiku)
	input.Request.Stream = true
	var p Plan
	router.Plan(&p, input)
	began := time.Now()
	p.Patience = &Patience{After: 10 * time.Second, Final: func(route Route) {
		got.final = route
		got.after = append(got.after, time.Since(began))
	}}
	result, route, err := p.Open(t.Context())
	if got.route, got.err = route, err; err == nil {
		for range result.Stream { //nolint:revive // it is read to its end
		}
		result.Close()
	}
	time.Sleep(time.Hour) // nothing is called later
	allIdle(t, router)
	return got
}

func TestSilenceOfAnUpstreamThatHasAcceptedEndsTheFailover(t *testing.T) {
	late := after(15*time.Second, answers)
	broken := after(15*time.Second, fails(unreached(502)))
	early := after(5*time.Second, fails(unreached(502)))
	for name, tt := range map[string]struct {
		first, second behaviour
		answered      string          // "" = none
		after         []time.Duration // Final
	}{
		"it answers in time":                  {accepts(after(9*time.Second, answers)), answers, haiku, nil},
		"it answers late":                     {accepts(late), answers, haiku, []time.Duration{10 * time.Second}},
		"it fails in time":                    {accepts(early), answers, gpt, nil},
		"it fails late":                       {accepts(broken), answers, "", []time.Duration{10 * time.Second}},
		"it accepts late":                     {after(30*time.Second, accepts(after(9*time.Second, answers))), answers, haiku, nil},
		"it never accepts":                    {broken, answers, gpt, nil},
		"the second one is silent":            {accepts(early), accepts(late), gpt, []time.Duration{15 * time.Second}},
		"the second one is silent and fails":  {accepts(early), accepts(broken), "", []time.Duration{15 * time.Second}},
		"the time begins again with each one": {accepts(after(9*time.Second, fails(unreached(502)))), accepts(after(9*time.Second, answers)), gpt, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two := newQueued(catalog.Anthropic, "a").play("a", tt.first), newQueued(catalog.OpenAI, "o").play("o", tt.second)
				router := fleet(t, one, two)
				router.Retries, router.Fallbacks = 0, map[string][]string{haiku: {gpt}}
				got := settle(t, router)
				by := haiku
				if got.route.Fallback != "" {
					by = got.route.Fallback
				}
				if tt.answered == "" && api.AsError(got.err).Status != 502 || tt.answered != "" && (got.err != nil || by != tt.answered) {
					t.Errorf("%+v, %v", got.route, got.err)
				}
				if len(got.after) != len(tt.after) || len(tt.after) > 0 && got.after[0] != tt.after[0] {
					t.Errorf("settled after %v, not %v", got.after, tt.after)
				}
				if len(tt.after) > 0 && (got.final.Provider != got.route.Provider || got.final.Fallback != got.route.Fallback) {
					t.Errorf("the client was told %+v, and the call is of %+v", got.final, got.route)
				}
			})
		})
	}
}

func TestASettledCallIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a", "b").play("a", accepts(after(time.Minute, fails(unreached(502))))).
			play("b", accepts(after(time.Minute, fails(unreached(502)))))
		got := settle(t, fleet(t, q))
		if len(q.calls()) != 1 || api.AsError(got.err).Status != 502 {
			t.Errorf("%d calls, %v", len(q.calls()), got.err)
		}
	})
}

// speaking is a provider that speaks the client's dialect.
type speaking struct{ *queued }

func (speaking) Abilities() providers.Abilities {
	return providers.Abilities{Speaks: func(llm.Dialect, *catalog.Model) bool { return true }}
}

func TestAnUpstreamThatSpeaksTheDialectBeginsTheStreamItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a").play("a", accepts(after(time.Minute, answers)))
		router := fleet(t, q)
		router.Upstreams[q.name] = pool.NewUpstream(q.name, speaking{q}, poolOf("a"), time.Now)
		if got := settle(t, router); got.err != nil || len(got.after) != 0 {
			t.Errorf("%v, %v", got.err, got.after)
		}
	})
}
