package routing

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/services/pool"
	"modelgateway/services/registry"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// scripted is a provider with fixed answers.
type scripted struct {
	ignored []string
	err     error // of sending
	broken  error // inside the stream
	model   string
}

func (s *scripted) Prepare(call providers.Call) (providers.Exchange, error) {
	s.model = call.Model.Upstream
	return s, nil
}
func (s *scripted) Properties() providers.Properties { return providers.Properties{Ignored: s.ignored} }
func (s *scripted) Abilities() providers.Abilities   { return providers.Abilities{} }
func (s *scripted) Open(context.Context, string) (llm.Stream, error) {
	if s.err != nil {
		return nil, s.err
	}
	return func(yield func(*llm.Event, error) bool) {
		out := llm.NewEmitter(yield, llm.Head{Model: s.model})
		if out.Begin(0) && s.broken != nil {
			out.Fail(s.broken)
		}
	}, nil
}

func newChat(t *testing.T, c *clock, p providers.Provider) *Router {
	t.Helper()
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	chat := &Router{Upstreams: pool.Set{}, Now: c.now}
	if p != nil {
		chat.Upstreams[catalog.Anthropic] = pool.NewUpstream(catalog.Anthropic, p, poolOf("key"), c.now)
	}
	chat.Models = registry.New(list, chat.Upstreams.Serves, c.now)
	return chat
}

func poolOf(keys ...string) []config.Secret {
	var pool []config.Secret
	for _, k := range keys {
		pool = append(pool, config.NewSecret(k))
	}
	return pool
}

func ask(model string) Input {
	return Input{Request: &llm.Request{Kind: llm.KindChat, Model: model, Choices: 1, Source: new(chat.Request)}}
}

// completeOf opens a request for a whole answer, as package inference does.
func completeOf(ctx context.Context, router *Router, ask Input) (*llm.Answer, Route, error) {
	var p Plan
	router.Plan(&p, ask)
	got, route, err := p.Open(ctx)
	if err != nil {
		return nil, route, err
	}
	got.Close()
	return got.Answer, route, nil
}

// streamOf opens a request for a stream, which must be ranged over.
func streamOf(ctx context.Context, router *Router, ask Input) (llm.Stream, Route, error) {
	ask.Request.Stream = true
	var p Plan
	router.Plan(&p, ask)
	got, route, err := p.Open(ctx)
	if err != nil {
		return nil, route, err
	}
	return func(yield func(*llm.Event, error) bool) {
		defer got.Close()
		for event, err := range got.Stream {
			if err != nil {
				got.StreamFailed(err)
			}
			if !yield(event, err) {
				return
			}
		}
	}, route, nil
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return api.AsError(err).Code
}

var november = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

const (
	haiku   = "claude-haiku-4-5-20251001"
	retired = "claude-sonnet-4-20250514"
)

func providerError(status int) error {
	return &providers.Refusal{Provider: catalog.Anthropic, Status: status}
}

func TestUnknownModelsAreNotFound(t *testing.T) {
	chat := newChat(t, &clock{november}, &scripted{})
	for _, id := range []string{"nope", "Claude-Haiku-4-5-20251001", haiku + " ", "mistral/" + haiku, "\x00", strings.Repeat("x", 10_000)} {
		_, _, err := completeOf(t.Context(), chat, ask(id))
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Status != 404 || e.Code != api.CodeModelNotFound || e.Param != "model" || len(e.Message) > 300 ||
			strings.Contains(e.Message, "\x00") {
			t.Errorf("%.20q: %v", id, err)
		}
	}
}

func TestUnconfiguredProviderIsUnavailable(t *testing.T) {
	chat := newChat(t, &clock{november}, nil)
	_, route, err := completeOf(t.Context(), chat, ask(haiku))
	e := api.AsError(err)
	if e.Status != 503 || e.Code != api.CodeProviderError || e.RetryAfterSeconds() == 0 || e.ShouldRetry() ||
		route.Provider != catalog.Anthropic {
		t.Errorf("%+v, %+v", e, route)
	}
}

func TestRetiredModelsAreExplainedOrRedirected(t *testing.T) {
	p := &scripted{}
	chat := newChat(t, &clock{november}, p)
	if _, route, err := completeOf(t.Context(), chat, ask(retired)); err != nil || p.model != retired || route.Redirected != "" {
		t.Errorf("without redirection: %s, %+v, %v", p.model, route, err)
	}
	p.err = providerError(404)
	_, _, err := completeOf(t.Context(), chat, ask(retired))
	if e := api.AsError(err); e.Status != 404 || !strings.Contains(e.Message, "claude-sonnet-5") || !strings.Contains(e.Message, retired) {
		t.Errorf("the refusal does not name the successor: %v", err)
	}
	if _, _, err := completeOf(t.Context(), chat, ask(haiku)); !errors.Is(err, p.err) {
		t.Errorf("an active model's 404 was rewritten: %v", err)
	}
	p.err, chat.Redirect = nil, true
	if _, route, err := completeOf(t.Context(), chat, ask(retired)); err != nil || p.model != "claude-sonnet-5" ||
		route.Redirected != "claude-sonnet-5" || route.Model != retired {
		t.Errorf("with redirection: %s, %+v, %v", p.model, route, err)
	}
	if _, route, err := completeOf(t.Context(), chat, ask(haiku)); err != nil || p.model != haiku || route.Redirected != "" {
		t.Errorf("an active model was redirected: %s, %+v, %v", p.model, route, err)
	}
}

func TestStrictRefusesFieldsThatWouldBeIgnored(t *testing.T) {
	chat := newChat(t, &clock{november}, &scripted{ignored: []string{"seed", "logit_bias"}})
	_, route, err := completeOf(t.Context(), chat, ask(haiku))
	if err != nil || strings.Join(route.Ignored, " ") != "seed logit_bias" {
		t.Errorf("%+v, %v", route, err)
	}
	strict := ask(haiku)
	strict.Strict = true
	_, _, err = streamOf(t.Context(), chat, strict)
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != 400 || e.Code != api.CodeUnsupportedValue || e.Param != "seed" ||
		!strings.Contains(e.Message, "logit_bias") {
		t.Errorf("%v", err)
	}
}

func TestCircuitOpensAndCloses(t *testing.T) {
	c := &clock{time.Now()} // the breaker has a clock of its own
	p := &scripted{err: providerError(500)}
	chat := newChat(t, c, p)
	for i := range circuitCalls {
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); code(err) != api.CodeProviderError {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	p.err = nil
	_, _, err := completeOf(t.Context(), chat, ask(haiku))
	e := api.AsError(err)
	if e.Status != 503 || e.Code != api.CodeProviderError || !e.ShouldRetry() || e.RetryAfterSeconds() < 1 || e.RetryAfterSeconds() > 10 {
		t.Errorf("%+v", e)
	}
	if s := chat.Upstreams.Statuses()[catalog.Anthropic]; s != pool.Unhealthy {
		t.Errorf("an open circuit is %s", s)
	}
}

func TestRefusalsAndRateLimitsDoNotOpenTheCircuit(t *testing.T) {
	for _, err := range []error{providerError(400), providerError(404), providerError(429), context.Canceled,
		api.Internal(errors.New("ours"))} {
		p := &scripted{err: err}
		chat := newChat(t, &clock{november}, p)
		for range 3 * circuitCalls {
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
		}
		if s := chat.Upstreams.Statuses()[catalog.Anthropic]; s != pool.Healthy {
			t.Errorf("%v made it %s", err, s)
		}
		p.err = nil
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil {
			t.Errorf("the circuit is open: %v", err)
		}
	}
}

func TestProviderHealthFollowsItsTraffic(t *testing.T) {
	c := &clock{november}
	p := &scripted{}
	chat := newChat(t, c, p)
	status := func() string { return chat.Upstreams.Statuses()[catalog.Anthropic] }
	for range 10 {
		_, _, _ = completeOf(t.Context(), chat, ask(haiku))
	}
	if status() != pool.Healthy {
		t.Errorf("after successes: %s", status())
	}
	p.err = providerError(502)
	_, _, _ = completeOf(t.Context(), chat, ask(haiku))
	if status() != pool.Healthy {
		t.Errorf("one of eleven is not above a tenth: %s", status())
	}
	_, _, _ = completeOf(t.Context(), chat, ask(haiku))
	if status() != pool.Degraded {
		t.Errorf("two of twelve is: %s", status())
	}
	c.at = c.at.Add(2 * circuitWindow)
	if status() != pool.Healthy {
		t.Errorf("what is long ago still counts: %s", status())
	}
	p.err, p.broken = nil, providerError(502)
	stream, _, err := streamOf(t.Context(), chat, ask(haiku))
	if err != nil {
		t.Fatal(err)
	}
	for range stream { //nolint:revive // read to its end
	}
	if status() != pool.Degraded {
		t.Errorf("a stream that broke off does not count: %s", status())
	}
}

// lister returns fixed models or an error.
type lister struct {
	models []providers.Listed
	err    error
}

func (l *lister) Models(context.Context, string) ([]providers.Listed, error) { return l.models, l.err }

func TestDiscoveryKeepsItsModelsWhenAProviderFails(t *testing.T) {
	chat := newChat(t, &clock{november}, &scripted{})
	source := &lister{models: []providers.Listed{{ID: "claude-nova"}}}
	var log strings.Builder
	d := &registry.Discovery{Models: chat.Models, Listers: map[string]registry.Listing{catalog.Anthropic: {Models: source.Models}},
		Log: slog.New(slog.NewTextHandler(&log, nil))}
	d.Refresh(t.Context())
	source.models, source.err = nil, errors.New("down")
	d.Refresh(t.Context())
	if _, err := chat.Models.Get("claude-nova", registry.Query{}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "model discovery failed") {
		t.Error(log.String())
	}
	if chat.Upstreams.Statuses()[catalog.Anthropic] != pool.Healthy {
		t.Error("discovery counts as traffic")
	}
}

func TestAModelOfAFamilyThatItsProviderDoesNotKnowIsNotFound(t *testing.T) {
	chat := newChat(t, &clock{november}, &scripted{err: providerError(404)})
	_, _, err := completeOf(t.Context(), chat, ask("claude-hiaku-4-5"))
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != 404 || e.Code != api.CodeModelNotFound || !strings.Contains(e.Message, "claude-haiku-4-5") {
		t.Errorf("%v", err)
	}
}
