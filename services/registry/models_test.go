package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
)

func TestListHasTheCatalogueAndDiscoveredModels(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	configured := map[string]bool{catalog.Anthropic: true, catalog.OpenAI: true}
	m := New(list, chats(configured), func() time.Time { return november })
	m.Found(catalog.Anthropic, []providers.Listed{{ID: "claude-opus-5", Created: 7}, {ID: haiku}, {ID: "claude-opus-5"}, {}})
	m.Found(catalog.OpenAI, []providers.Listed{{ID: "gpt-6-sol"}})
	all := m.List(Query{})
	if len(all.Data) != 20 || all.Object != "list" {
		t.Fatalf("%d models", len(all.Data))
	}
	for _, shown := range all.Data {
		if shown.Object != "model" || shown.Permission == nil ||
			shown.Available != (configured[shown.OwnedBy] && shown.State != catalog.Retired) || shown.Dimensions != nil {
			t.Errorf("%+v", shown)
		}
	}
	opus, err := m.Get("claude-opus-5", Query{})
	if err != nil || opus.Created != 7 || opus.State != catalog.Active {
		t.Errorf("%+v, %v", opus, err)
	}
	if old, err := m.Get(retired, Query{}); err != nil || old.State != catalog.Retired || old.Successor == "" ||
		old.ShutdownDate != "2026-06-15" {
		t.Errorf("%+v, %v", old, err)
	}
	if opus.Price == nil || opus.Price.Input != 5_000_000 || opus.Price.CacheWriteHour != 10_000_000 {
		t.Errorf("%+v", opus.Price)
	}
	m.Found(catalog.Anthropic, nil)
	if slices.ContainsFunc(m.List(Query{}).Data, func(m api.Model) bool { return m.ID == "claude-opus-5" }) {
		t.Error("a model that is gone is still listed")
	}
}

func TestModelsForEmbeddingsAreListedWhereTheirProviderListsThem(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	listed := func(m *Models) (vectors []string) {
		for _, shown := range m.List(Query{}).Data {
			if shown.Kind == llm.KindEmbedding && shown.Dimensions != nil {
				vectors = append(vectors, shown.ID)
			}
		}
		return vectors
	}
	m := New(list, func(provider string, _ llm.Kind) bool { return provider == catalog.OpenAI }, func() time.Time { return november })
	if got := listed(m); len(got) != 0 {
		t.Errorf("without discovery: %q", got)
	}
	m.Found(catalog.OpenAI, []providers.Listed{{ID: "text-embedding-3-large", Created: 7}})
	if got := listed(m); !slices.Equal(got, []string{"text-embedding-3-large"}) {
		t.Errorf("discovered: %q", got)
	}
	if one, err := m.Get("text-embedding-3-small", Query{}); err != nil || !one.Available || one.Dimensions == nil {
		t.Errorf("%+v, %v", one, err)
	}
	m.All = true
	if got := listed(m); len(got) != 3 {
		t.Errorf("all: %q", got)
	}
	if got := m.Suited(llm.KindEmbedding, 9, func(...string) bool { return false }); len(got) != 3 {
		t.Errorf("suited: %q", got)
	}
}

// chats is what chat models are served by: providers that are configured.
func chats(configured map[string]bool) func(string, llm.Kind) bool {
	return func(provider string, kind llm.Kind) bool { return configured[provider] && kind == llm.KindChat }
}

func TestModelsOfAKindThatIsNotServedAreNotAvailable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.yaml")
	text := `
models: [{id: vectors, provider: openai, upstream: text-embedding-3-small}]
rules: {openai: [{match: [bge-*], kind: embedding}, {match: ["*-talks"], kind: chat, sampling: both}]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := catalog.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	embeds := false
	m := New(list, func(_ string, kind llm.Kind) bool { return embeds || kind == llm.KindChat }, func() time.Time { return november })
	listed := []providers.Listed{
		{ID: "gpt-6-sol"}, {ID: "bge-m3"}, {ID: "embedder", Kind: llm.KindEmbedding}, {ID: "embedder-talks", Kind: llm.KindEmbedding},
	}
	m.Found(catalog.OpenAI, listed)
	if vectors, err := m.Get("vectors", Query{}); err != nil || vectors.Available || vectors.Kind != llm.KindEmbedding {
		t.Errorf("of the models file: %+v, %v", vectors, err)
	}
	for id, kind := range map[string]llm.Kind{"gpt-6-sol": llm.KindChat, "embedder-talks": llm.KindChat, "bge-m3": "", "embedder": ""} {
		if shown, _ := m.Get(id, Query{}); shown.Kind != kind || shown.Available != (kind != "") {
			t.Errorf("%s: %+v", id, shown)
		}
	}
	embeds = true
	m.Found(catalog.OpenAI, listed)
	for _, id := range []string{"vectors", "bge-m3", "embedder"} {
		if shown, err := m.Get(id, Query{}); err != nil || shown.Kind != llm.KindEmbedding || !shown.Available {
			t.Errorf("once they are served: %+v, %v", shown, err)
		}
	}
}

func TestSuccessorEndsOnACycle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.yaml")
	text := "models: [{id: a, provider: openai, state: retired, successor: b}, {id: b, provider: openai, state: retired, successor: a}]"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := catalog.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	m := New(list, func(string, llm.Kind) bool { return true }, func() time.Time { return november })
	a, _ := m.Resolve("a")
	if next, ok := m.Successor(a); ok {
		t.Errorf("%+v", next)
	}
}

func TestAvailableModelsAreListedFirstAndRetiredOnesLast(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	m := New(list, chats(map[string]bool{catalog.Anthropic: true, catalog.Gemini: true}), func() time.Time { return november })
	m.Found(catalog.Gemini, []providers.Listed{{ID: "gemini-3.5-flash"}})
	last := 0
	for _, shown := range m.List(Query{}).Data {
		if place(&shown) < last {
			t.Errorf("%s is behind a model that is less available", shown.ID)
		}
		last = place(&shown)
	}
	all := m.List(Query{Available: true, Refused: func(names ...string) bool { return slices.Contains(names, "gemini-3.5-flash") }})
	for _, shown := range all.Data {
		if !shown.Available || shown.ID == "gemini-3.5-flash" || shown.State == catalog.Retired {
			t.Errorf("%+v", shown)
		}
	}
	if len(all.Data) == 0 || last != 2 {
		t.Errorf("%d available models, the last of the list at %d", len(all.Data), last)
	}
	before := len(m.List(Query{}).Data)
	m.All = true
	if after := len(m.List(Query{All: true}).Data); after < before+50 {
		t.Errorf("%d models, and %d with all that are sold", before, after)
	}
}

func TestTheListHasTheCatalogueAndWhatCanBeCalled(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	m := New(list, func(provider string, _ llm.Kind) bool { return provider == catalog.Anthropic }, func() time.Time { return november })
	m.All = true // lists what is sold, retired or not
	m.Found(catalog.Anthropic, []providers.Listed{{ID: "vectors-1", Kind: llm.KindEmbedding}})
	ids := func(q Query) map[string]api.Model {
		all := map[string]api.Model{}
		for _, shown := range m.List(q).Data {
			all[shown.ID] = shown
		}
		return all
	}
	const sold = "claude-3-opus-20240229" // retired, and not of the catalogue
	usual, all := ids(Query{Kind: llm.KindChat}), ids(Query{All: true})
	embedded := 0
	for _, model := range list.Models() {
		if model.Kind == llm.KindChat {
			embedded++
			if _, ok := usual[model.ID]; !ok {
				t.Errorf("%s is not listed", model.ID)
			}
		}
	}
	if embedded != 18 {
		t.Errorf("the catalogue has %d chat models", embedded)
	}
	for id, shown := range usual {
		if own, ok := list.Model(id); !shown.Available && (!ok || !own.Embedded) || shown.Kind != llm.KindChat {
			t.Errorf("%s is listed: %+v", id, shown)
		}
	}
	if all[sold].State != catalog.Retired || usual[sold].ID != "" || all["vectors-1"].ID == "" || usual["vectors-1"].ID != "" {
		t.Errorf("all has %+v, %+v", all[sold], all["vectors-1"])
	}
	if only := ids(Query{Kind: llm.KindEmbedding}); len(only) != 1 || only["vectors-1"].ID == "" {
		t.Errorf("embeddings: %v", only)
	}
}

func TestWhatIsKnownOfAModelIsShownAndNothingElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.yaml")
	text := "providers: [{name: here, type: openai, base_url: \"http://127.0.0.1:1/v1\", auth: none, models: [mine]}]"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := catalog.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	m := New(list, func(string, llm.Kind) bool { return true }, func() time.Time { return november })
	m.Found("here", []providers.Listed{{ID: "mine", Created: november.Unix()}}) // a local server's time is that of its list
	yes, no := true, false
	for id, want := range map[string]api.Model{
		haiku:                     {ReleaseDate: "2025-10-15", Tools: &yes, Structured: &yes, Reasoning: &yes},
		"gpt-4":                   {ReleaseDate: "2023-06-27", Tools: &yes, Structured: &no, Reasoning: &no},
		"claude-haiku-4-5-latest": {Tools: &yes, Structured: &yes, Reasoning: &yes}, // as its family
		"here/mine":               {},
	} {
		got, err := m.Get(id, Query{})
		if err != nil {
			t.Fatal(err)
		}
		show := func(m api.Model) string {
			text, _ := json.Marshal([]any{m.ReleaseDate, m.Tools, m.Structured, m.Reasoning})
			return string(text)
		}
		if show(got) != show(want) {
			t.Errorf("%s: %s, not %s", id, show(got), show(want))
		}
	}
}

func TestEntriesOfListsOfModels(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	m := New(list, chats(map[string]bool{catalog.Anthropic: true}), func() time.Time { return november })
	for entry, says := range map[string]string{
		haiku: "", "claude-*": "", "anthropic/*": "", "gpt-4": "", "claude-of-tomorrow": "",
		"cluade-haiku-4-5": "the model `cluade-haiku-4-5` does not exist; similar names are claude-haiku-4-5",
		"nonsense":         "the model `nonsense` does not exist; GET /v1/models?kind=all lists all models",
		"cluade-*":         "no model has a name that begins with `cluade-`", "*": "begins with ``",
	} {
		err := m.Check(entry)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(api.AsError(err).Message, says) {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

func TestNamesOfModels(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	m := New(list, chats(map[string]bool{catalog.Anthropic: true, catalog.Gemini: true}), func() time.Time { return november })
	m.KeySetting = func(provider string) string { return strings.ToUpper(provider) + "_API_KEY" }
	for name, want := range map[string]catalog.Model{
		haiku:                         {ID: haiku, Provider: catalog.Anthropic},
		"models/" + haiku:             {ID: haiku, Provider: catalog.Anthropic},
		haiku + "[1m]":                {ID: haiku, Provider: catalog.Anthropic},
		"anthropic/" + haiku:          {ID: haiku, Provider: catalog.Anthropic},
		"claude-haiku-4-5":            {ID: "claude-haiku-4-5", Provider: catalog.Anthropic},
		"claude-sonnet-4-5-latest":    {ID: "claude-sonnet-4-5-latest", Provider: catalog.Anthropic, PriceOf: "claude-sonnet-4-5"},
		"anthropic/claude-new-9":      {ID: "claude-new-9", Provider: catalog.Anthropic},
		"claude-new-9":                {ID: "claude-new-9", Provider: catalog.Anthropic},
		"gemini-3.5-flash":            {ID: "gemini-3.5-flash", Provider: catalog.Gemini},
		"gemini/gemini-3.5-flash":     {ID: "gemini-3.5-flash", Provider: catalog.Gemini},
		"models/gemini-3.5-flash-002": {ID: "gemini-3.5-flash-002", Provider: catalog.Gemini, PriceOf: "gemini-3.5-flash"},
		"gpt-4":                       {ID: "gpt-4", Provider: catalog.OpenAI}, // of the catalogue, although it cannot be used
	} {
		got, err := m.Resolve(name)
		if err != nil || got.ID != want.ID || got.Provider != want.Provider || got.PriceOf != want.PriceOf {
			t.Errorf("%s: %s of %s with the price of %q, %v", name, got.ID, got.Provider, got.PriceOf, err)
		}
	}
	for name, says := range map[string]string{
		"gpt-5":              "set OPENAI_API_KEY",
		"openai/gpt-5":       "set OPENAI_API_KEY",
		"gpt-99":             "set OPENAI_API_KEY",
		"cluade-haiku-4-5":   "similar names are claude-haiku-4-5",
		"gemini/" + haiku:    "does not exist",
		"mistral/large":      "GET /v1/models?kind=all lists all models",
		"":                   "does not exist",
		"claude-\x00":        "does not exist",
		"anthropic/gpt-5":    "set OPENAI_API_KEY",
		"claude-haiku-4-5[m": "",
	} {
		_, err := m.Resolve(name)
		if says == "" {
			continue
		}
		if e := api.AsError(err); e.Status != 404 || e.Code != api.CodeModelNotFound || !strings.Contains(e.Message, says) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
