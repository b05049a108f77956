package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgateway/llm"
)

func load(t *testing.T, overlay string) *Catalog {
	t.Helper()
	file := ""
	if overlay != "" {
		file = filepath.Join(t.TempDir(), "models.yaml")
		if err := os.WriteFile(file, []byte(overlay), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheEmbeddedCatalogueHasModelsOfAllProviders(t *testing.T) {
	perProvider := map[string]int{}
	for _, m := range load(t, "").Models() {
		perProvider[m.Provider]++
		writes := m.Kind.Writes()
		if m.Created == 0 || m.Context == 0 || m.Price.Rates[InputTokens] == 0 ||
			writes != (m.MaxOutput > 0) || writes != (m.Price.Rates[OutputTokens] > 0) ||
			writes != (m.Dimensions == Dimensions{}) {
			t.Errorf("%s lacks a number: %+v", m.ID, m)
		}
		if m.State(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) == Retired && m.Successor == "" {
			t.Errorf("%s retires without a successor", m.ID)
		}
	}
	want := map[string]int{Anthropic: 8, OpenAI: 6, Gemini: 10}
	for provider, n := range want {
		if perProvider[provider] != n {
			t.Errorf("%s has %d models, want %d", provider, perProvider[provider], n)
		}
	}
}

func TestTheStateOfAModelFollowsItsEndDate(t *testing.T) {
	m, ok := load(t, "").Model("claude-sonnet-4-5-20250929")
	if !ok {
		t.Fatal("not in the catalogue")
	}
	eve := time.Date(2026, 11, 29, 23, 59, 59, 0, time.UTC)
	if got := m.State(eve); got != Deprecated {
		t.Errorf("the day before its end: %s", got)
	}
	if got := m.State(eve.Add(time.Second)); got != Retired {
		t.Errorf("on the day of its end: %s", got)
	}
}

func TestRulesGiveModelsTheirTraits(t *testing.T) {
	c := load(t, "")
	for _, tt := range []struct {
		provider, id string
		ok           func(Traits) bool
	}{
		{Anthropic, "claude-3-haiku-20240307", func(t Traits) bool { return t.Sampling == SamplingBoth && len(t.Thinking) == 0 && t.Prefill }},
		{Anthropic, "claude-sonnet-4-20250514", func(t Traits) bool {
			return t.Sampling == SamplingBoth && t.Thinks(ThinkBudget) && !t.Structured
		}},
		{Anthropic, "claude-sonnet-4-0", func(t Traits) bool { return t.Sampling == SamplingBoth && t.Thinks(ThinkBudget) }},
		{Anthropic, "claude-opus-4-20250514", func(t Traits) bool { return t.MaxOutput == 32000 && !t.Structured }},
		{Anthropic, "claude-opus-4-1-20250805", func(t Traits) bool { return t.Sampling == SamplingOne && t.Structured }},
		{Anthropic, "claude-sonnet-4-5-20250929", func(t Traits) bool { return t.Sampling == SamplingOne && !t.Thinks(ThinkAdaptive) }},
		{Anthropic, "claude-sonnet-4-6", func(t Traits) bool { return t.Thinks(ThinkAdaptive) && t.Thinks(ThinkBudget) && !t.Prefill }},
		{Anthropic, "claude-opus-4-7", func(t Traits) bool { return t.Sampling == SamplingNone && !t.Thinks(ThinkBudget) }},
		{Anthropic, "claude-fable-5", func(t Traits) bool { return t.ThinkingBy == ThinkAlways && !t.ForcedTools }},
		{Anthropic, "claude-nova-9", func(t Traits) bool { return t.Sampling == SamplingNone && t.Thinks(ThinkAdaptive) }},
		{OpenAI, "gpt-4-turbo", func(t Traits) bool { return t.LimitField == "max_tokens" && t.Sampling == SamplingBoth }},
		{OpenAI, "gpt-5-mini", func(t Traits) bool { return t.LimitField == "max_completion_tokens" && t.Sampling == SamplingNone }},
		{OpenAI, "gpt-5.4", func(t Traits) bool { return t.SamplingThinking == SamplingNone && t.Sampling == SamplingBoth }},
		{OpenAI, "gpt-7", func(t Traits) bool { return t.LimitField == "" }},
		{OpenAI, "o3-mini", func(t Traits) bool { return t.LimitField == "max_completion_tokens" }},
		{Gemini, "gemini-2.5-pro", func(t Traits) bool { return t.Thinks(ThinkBudget) && t.BudgetMin == 128 }},
		{Gemini, "gemini-2.5-flash-image-preview", func(t Traits) bool { return t.Images && t.MaxTemperature == 1 }},
		{Gemini, "gemini-2.0-flash", func(t Traits) bool { return !t.OpenAPISchemas && len(t.Thinking) == 0 }},
		{Gemini, "gemini-3-pro-preview", func(t Traits) bool { return t.Signatures && t.CallIDs && t.Efforts[0] == "low" }},
		{Gemini, "gemini-3.6-flash", func(t Traits) bool { return t.Signatures && t.Efforts[0] == "minimal" }},
	} {
		if traits := c.Derive(tt.provider, tt.id).Traits; !tt.ok(traits) {
			t.Errorf("%s: %+v", tt.id, traits)
		}
	}
}

func TestTheFileAddsAndChangesModels(t *testing.T) {
	c := load(t, `
models:
  - {id: custom-model, provider: openai, upstream: gpt-6-luna, context: 1000, max_output: 99, price: {input: 0.1, output: 0.5}}
  - {id: gpt-4, provider: openai, upstream: gpt-6-sol}
rules:
  openai:
    - {match: [gpt-6-luna], sampling: one}
`)
	custom, ok := c.Model("custom-model")
	if !ok || custom.Upstream != "gpt-6-luna" || custom.Traits.Sampling != SamplingOne || custom.Price.Rates[InputTokens] != 100_000 {
		t.Errorf("added model: %v %+v", ok, custom)
	}
	if m, _ := c.Model("gpt-4"); m.Upstream != "gpt-6-sol" || m.State(time.Now()) != Active {
		t.Errorf("replaced model: %+v", m)
	}
	c2 := load(t, "models: [{id: claude-haiku-4-5-20251001, price: {input: 2, output: 6}}]")
	if m, _ := c2.Model("claude-haiku-4-5-20251001"); m.Price.Rates[InputTokens] != 2_000_000 || m.Context != 200_000 ||
		m.Created != 1760486400 || m.Provider != Anthropic || m.Upstream != m.ID {
		t.Errorf("changed model: %+v", m)
	}
	if n := len(load(t, "# nothing but a comment\n").Models()); n != 24 {
		t.Errorf("an empty file leaves %d models", n)
	}
	if n := len(c.Models()); n != 25 {
		t.Errorf("%d models, want 19", n)
	}
}

func TestTheKindOfAModelIsThatOfItsEntryOrItsRule(t *testing.T) {
	c := load(t, `
models:
  - {id: vectors, provider: openai, upstream: text-embedding-3-small}
  - {id: local, provider: openai, upstream: bge-m3, kind: embedding, price: {input: 0.1}}
  - {id: talks, provider: openai, upstream: text-embedding-of-a-chat-model, kind: chat}
  - {id: gpt-4, provider: openai, upstream: text-embedding-3-large}
  - {id: gpt-4-turbo, kind: embedding}
  - {id: proxied, provider: openai, upstream: nomic-embed-text}
rules:
  openai:
    - {match: [nomic-embed-*], kind: embedding}
`)
	for id, want := range map[string]llm.Kind{
		"vectors": llm.KindEmbedding, "local": llm.KindEmbedding, "talks": llm.KindChat, "gpt-4": llm.KindEmbedding,
		"gpt-4-turbo": llm.KindEmbedding, "proxied": llm.KindEmbedding, "gpt-3.5-turbo": llm.KindChat, "gemini-2.5-pro": llm.KindChat,
	} {
		if m, ok := c.Model(id); !ok || m.Kind != want {
			t.Errorf("%s: %q, not %q", id, m.Kind, want)
		}
	}
	for id, want := range map[string]llm.Kind{
		"gemini-embedding-001": llm.KindEmbedding, "text-embedding-004": llm.KindEmbedding, "gemini-9": llm.KindChat,
	} {
		if m := c.Derive(Gemini, id); m.Kind != want || m.MaxOutput != 0 == (want == llm.KindEmbedding) {
			t.Errorf("%s: %+v, not %q", id, m, want)
		}
	}
}

func TestAnEntryKeepsItsKindUnlessItsUpstreamChanges(t *testing.T) {
	c := load(t, "models: [{id: a, provider: openai, kind: embedding}]")
	for text, want := range map[string]llm.Kind{
		"models: [{id: a, context: 8192}]":                     llm.KindEmbedding,
		"models: [{id: a, provider: openai, upstream: gpt-4}]": llm.KindChat,
		"models: [{id: a, kind: chat}]":                        llm.KindChat,
	} {
		again := &Catalog{
			names: Providers(), models: []Model{{ID: "a", Provider: OpenAI, Upstream: "a", Kind: llm.KindEmbedding}},
			byID: map[string]int{"a": 0}, rules: c.rules,
		}
		if err := again.merge([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if m, _ := again.withTraits().Model("a"); m.Kind != want {
			t.Errorf("%s: %q, not %q", text, m.Kind, want)
		}
	}
}

func TestInvalidFilesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"unknown member":   "models: [{id: a, provider: openai, upstraem: b}]",
		"unknown provider": "models: [{id: a, provider: acme}]",
		"bad day":          "models: [{id: a, provider: openai, ends: soon}]",
		"no id":            "models: [{provider: openai}]",
		"bad state":        "models: [{id: a, provider: openai, state: gone}]",
		"unknown rules":    "rules: {acme: [{match: [a], sampling: both}]}",
		"empty rule":       "rules: {openai: [{sampling: both}]}",
		"not yaml":         "models: [",
		"twice":            "models: [{id: a, provider: openai}, {id: a, provider: openai}]",
		"broken pattern":   "rules: {openai: [{match: ['['], sampling: both}]}",
		"unknown kind":     "models: [{id: a, provider: openai, kind: vectors}]",
		"a rule's kind":    "rules: {openai: [{match: [a], kind: vectors, sampling: both}]}",
		"negative":         "models: [{id: a, provider: openai, context: -5}]",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "models.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(file); err == nil {
				t.Errorf("accepted: %s", text)
			}
		})
	}
	if _, err := Load("/nonexistent/models.yaml"); err == nil || !strings.Contains(err.Error(), "models file") {
		t.Errorf("a missing file: %v", err)
	}
}
