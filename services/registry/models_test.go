package registry

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
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
	all := m.List()
	if len(all.Data) != 20 || all.Object != "list" {
		t.Fatalf("%d models", len(all.Data))
	}
	for _, shown := range all.Data {
		if shown.Object != "model" || shown.Permission == nil || shown.Available != configured[shown.OwnedBy] || shown.Kind != llm.KindChat {
			t.Errorf("%+v", shown)
		}
	}
	opus, err := m.Get("claude-opus-5")
	if err != nil || opus.Created != 7 || opus.State != catalog.Active {
		t.Errorf("%+v, %v", opus, err)
	}
	if old, err := m.Get(retired); err != nil || old.State != catalog.Retired || old.Successor == "" || old.ShutdownDate != "2026-06-15" {
		t.Errorf("%+v, %v", old, err)
	}
	m.Found(catalog.Anthropic, nil)
	if _, err := m.Get("claude-opus-5"); code(err) != api.CodeModelNotFound {
		t.Errorf("a model that is gone is still there: %v", err)
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
	if vectors, err := m.Get("vectors"); err != nil || vectors.Available || vectors.Kind != llm.KindEmbedding {
		t.Errorf("of the models file: %+v, %v", vectors, err)
	}
	for id, kind := range map[string]llm.Kind{"gpt-6-sol": llm.KindChat, "embedder-talks": llm.KindChat, "bge-m3": "", "embedder": ""} {
		if shown, _ := m.Get(id); shown.Kind != kind || shown.Available != (kind != "") {
			t.Errorf("%s: %+v", id, shown)
		}
	}
	embeds = true
	m.Found(catalog.OpenAI, listed)
	for _, id := range []string{"vectors", "bge-m3", "embedder"} {
		if shown, err := m.Get(id); err != nil || shown.Kind != llm.KindEmbedding || !shown.Available {
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
