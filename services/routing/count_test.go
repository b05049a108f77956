package routing

import (
	"context"
	"errors"
	"testing"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/services/pool"
)

// counting is a provider that counts prompts.
type counting struct {
	scripted
	err   error
	asked string // the model of the last call
}

func (c *counting) Abilities() providers.Abilities { return providers.Abilities{Count: c.count} }

func (c *counting) count(_ context.Context, call providers.Call, _ string) (providers.Count, error) {
	c.asked = call.Model.Upstream
	return providers.Count{Tokens: 14}, c.err
}

// countOf counts a prompt for a model as package inference does.
func countOf(t *testing.T, r *Router, name string) (Counted, error) {
	t.Helper()
	model, err := r.Models.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return r.Count(t.Context(), ask(name), model)
}

func TestTheProviderOfAModelCountsItsPrompt(t *testing.T) {
	p := new(counting)
	r := newChat(t, &clock{november}, p)
	got, err := countOf(t, r, "anthropic/"+haiku)
	if err != nil || got.Count == nil || got.Tokens != 14 || got.Route.Alias != haiku || got.Route.Provider != catalog.Anthropic || p.asked != haiku {
		t.Errorf("%+v, %v, asked for %s", got, err, p.asked)
	}
	r.Redirect = true
	if got, err := countOf(t, r, retired); err != nil || got.Count == nil || got.Route.Redirected == "" || p.asked != got.Route.Redirected {
		t.Errorf("a retired model: %+v, %v, asked for %s", got, err, p.asked)
	}
}

func TestOnlyAFaultOfThePromptIsTold(t *testing.T) {
	body := []byte(`{"type":"error"}`)
	for name, tt := range map[string]struct {
		err    error
		status int // 0: nothing is told
	}{
		"a fault of the prompt":    {&providers.Refusal{Status: 400, Body: body, Dialect: llm.Messages}, 400},
		"a prompt that is too big": {&providers.Refusal{Status: 413, Body: body, Dialect: llm.Messages}, 413},
		"a translated request":     {&providers.Refusal{Status: 400}, 0},
		"no credit":                {&providers.Refusal{Status: 400, Key: true, Body: body, Dialect: llm.Messages}, 0},
		"a listed model":           {&providers.Refusal{Status: 404, Body: body, Dialect: llm.Messages}, 0},
		"a limit":                  {&providers.Refusal{Status: 429, Body: body, Dialect: llm.Messages}, 0},
		"an overload":              {&providers.Refusal{Status: 529, Body: body, Dialect: llm.Messages}, 0},
		"no answer":                {&providers.Refusal{}, 0},
		"a translation":            {api.Invalid(api.CodeUnsupportedValue, "tools", "no"), 0},
	} {
		r := newChat(t, &clock{november}, &counting{err: tt.err})
		got, err := countOf(t, r, haiku)
		if status := 0; err != nil {
			if status = api.AsError(err).Status; status != tt.status {
				t.Errorf("%s: %v", name, err)
			}
		} else if tt.status != 0 || got.Count != nil || !errors.Is(got.Failure, tt.err) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	gone := &counting{err: &providers.Refusal{Provider: catalog.Anthropic, Status: 404}}
	if _, err := countOf(t, newChat(t, &clock{november}, gone), "claude-99"); code(err) != api.CodeModelNotFound {
		t.Errorf("a name that nothing lists: %v", err)
	}
}

// What comes of counting says nothing about calls.
func TestCountsChangeNoCircuitAndNoCooldown(t *testing.T) {
	r := newChat(t, &clock{november}, &counting{err: providerError(429)})
	for range 2 * circuitCalls {
		if _, err := countOf(t, r, haiku); err != nil {
			t.Fatal(err)
		}
	}
	u := r.Upstreams[catalog.Anthropic]
	if _, err := u.Lease(pool.Wish{Model: haiku}); err != nil || u.Status() != pool.Healthy {
		t.Errorf("%v, %s", err, u.Status())
	}
}

func TestAProviderThatCannotCountIsNoFailure(t *testing.T) {
	for name, p := range map[string]providers.Provider{"without counts": &scripted{}, "not configured": nil} {
		if got, err := countOf(t, newChat(t, &clock{november}, p), haiku); err != nil || got.Count != nil || got.Failure != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
