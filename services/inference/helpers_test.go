package inference

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/services/routing"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

var november = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

const (
	haiku   = "claude-haiku-4-5-20251001"
	retired = "claude-sonnet-4-20250514"
	gpt     = "gpt-4"
	flash   = "gemini-2.5-flash"
)

// oneAndTwo is a price of one dollar and two for a million tokens.
var oneAndTwo = catalog.Price{Known: true, Rates: catalog.Rates{catalog.InputTokens: 1_000_000, catalog.OutputTokens: 2_000_000}}

// embedded is the catalogue, read once.
var embedded = sync.OnceValues(func() (*catalog.Catalog, error) { return catalog.Load("") })

func poolOf(keys ...string) []config.Secret {
	var pool []config.Secret
	for _, k := range keys {
		pool = append(pool, config.NewSecret(k))
	}
	return pool
}

func translatorsAt(t testing.TB, url string) map[string]providers.Provider {
	t.Helper()
	at := config.Provider{Keys: poolOf("k"), BaseURL: url}
	cfg := config.Config{UpstreamTimeout: time.Minute, StreamIdleTimeout: time.Minute, Providers: map[string]config.Provider{}}
	for _, name := range catalog.Providers() {
		cfg.Providers[name] = at
	}
	byName := map[string]providers.Provider{}
	for _, p := range all.New(cfg) {
		byName[p.Name] = p.Provider
	}
	if len(byName) != len(cfg.Providers) {
		t.Fatalf("%d providers", len(byName))
	}
	return byName
}

func decoded(t testing.TB, body string) *llm.Request {
	t.Helper()
	r, err := chat.Decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body[:min(len(body), 300)], err)
	}
	return r
}

// whole is the answer of a call that is no stream.
func whole(stream llm.Stream, err error) (*llm.Answer, error) {
	if err != nil {
		return nil, err
	}
	var answer *llm.Answer
	for event, failed := range stream {
		if err = failed; err == nil {
			answer = event.Answer
		}
	}
	return answer, err
}

func readAll(s llm.Stream) {
	for range s { //nolint:revive // to its end
	}
}

// allIdle checks that no key is in use.
func allIdle(t testing.TB, c *routing.Router) {
	t.Helper()
	for name, u := range c.Upstreams {
		for _, key := range u.Report().Keys {
			if key.InFlight != 0 {
				t.Errorf("key %s of %s is used %d times", key.Key, name, key.InFlight)
			}
		}
	}
}

func providerError(status int) error {
	return &providers.Refusal{Provider: catalog.Anthropic, Status: status}
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

// unreached is the error of an upstream that did not answer.
func unreached(status int) *providers.Refusal {
	return providerFault(0, func(r *providers.Refusal) { r.Told = status })
}

func notConfigured(provider string) *providers.Refusal {
	return &providers.Refusal{
		Provider: provider, Told: 503, Public: provider + " is not configured: an operator has to set its key",
		RetryAfter: time.Minute, Final: true,
	}
}

// bound is an upper bound of what a call costs.
func bound(c *Call) (int64, error) {
	err := c.estimateCost()
	return c.most.cost, err
}
