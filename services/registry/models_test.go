package registry

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
)

func TestListHasTheCatalogueAndDiscoveredModels(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	m := New(list, func(provider string) bool { return provider == catalog.Anthropic }, func() time.Time { return november })
	m.Found(catalog.Anthropic, []providers.Listed{{ID: "claude-opus-5", Created: 7}, {ID: haiku}, {ID: "claude-opus-5"}, {}})
	m.Found(catalog.OpenAI, []providers.Listed{{ID: "gpt-6-sol"}})
	all := m.List()
	if len(all.Data) != 20 || all.Object != "list" {
		t.Fatalf("%d models", len(all.Data))
	}
	for _, shown := range all.Data {
		if shown.Object != "model" || shown.Permission == nil || shown.Available != (shown.OwnedBy == catalog.Anthropic) {
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
	m := New(list, func(string) bool { return true }, func() time.Time { return november })
	a, _ := m.Resolve("a")
	if next, ok := m.Successor(a); ok {
		t.Errorf("%+v", next)
	}
}
