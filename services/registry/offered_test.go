package registry

import (
	"slices"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/providers"
)

func TestOfferedAreTheChatModelsThatTheCallerCanUse(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	aliases, err := NewAliases(list, map[string]string{"fast": haiku, "claude-*": haiku})
	if err != nil {
		t.Fatal(err)
	}
	m := New(list, chats(map[string]bool{catalog.Anthropic: true, catalog.OpenAI: true}), func() time.Time { return november })
	m.Aliases = aliases
	m.Found(catalog.OpenAI, []providers.Listed{{ID: "text-embedding-3-small"}, {ID: "gpt-6-sol", Created: 7}})
	names := func(q Query) (all []string) {
		for _, o := range m.Offered(q) {
			all = append(all, o.ID)
		}
		return all
	}
	if all := names(Query{}); !slices.Contains(all, "fast") || !slices.Contains(all, haiku) || !slices.Contains(all, "gpt-6-sol") ||
		slices.Contains(all, retired) || slices.Contains(all, "text-embedding-3-small") || slices.Contains(all, "gemini-2.5-flash") {
		t.Errorf("%v", all)
	}
	if sol, err := m.Offer("gpt-6-sol", Query{}); err != nil || sol.Created != 7 || sol.Context < 100_000 {
		t.Errorf("a listed model without its window: %+v, %v", sol, err)
	}
	onlyFast := Query{Refused: func(names ...string) bool { return !slices.Contains(names, "fast") }}
	if all := names(onlyFast); !slices.Equal(all, []string{"fast"}) {
		t.Errorf("a limited key: %v", all)
	}
	for name, upstream := range map[string]string{"fast": haiku, "claude-of-tomorrow": haiku, haiku: haiku} {
		if o, err := m.Offer(name, Query{}); err != nil || o.ID != name || o.Upstream != upstream || o.State != catalog.Active || o.Context != 200_000 {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
	for _, name := range []string{"nothing", retired, "gemini-2.5-flash", "text-embedding-3-small"} {
		if o, err := m.Offer(name, Query{}); api.AsError(err).Code != api.CodeModelNotFound {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
	if _, err := m.Offer(haiku, onlyFast); err == nil {
		t.Error("a model that the key may not use is shown")
	}
}
