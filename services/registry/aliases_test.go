package registry

import (
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
)

func TestAliases(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	aliases, err := NewAliases(list, map[string]string{
		"fast": haiku, "team/fast": "anthropic/" + haiku, "gpt-4": haiku, "claude-*": "gemini-3.5-flash", "claude-sonnet-*": haiku,
		"*-big":    "claude-opus-5",
		"unserved": "gpt-5",
	})
	if err != nil {
		t.Fatal(err)
	}
	m := New(list, chats(map[string]bool{catalog.Anthropic: true, catalog.Gemini: true}), func() time.Time { return november })
	m.Aliases = aliases
	for name, want := range map[string]string{
		"fast": haiku, "fast[1m]": haiku, "team/fast": haiku, "gpt-4": haiku, "claude-new": "gemini-3.5-flash", "claude-sonnet-9": haiku,
		"our-big": "claude-opus-5", haiku: haiku, "anthropic/claude-new": "claude-new", "claude-": "gemini-3.5-flash",
	} {
		if got, err := m.Resolve(name); err != nil || got.ID != want {
			t.Errorf("%s is %s, %v", name, got.ID, err)
		}
	}
	for _, name := range []string{"Fast", "fas", "unserved", "our-big2"} {
		if _, err := m.Resolve(name); api.AsError(err).Code != api.CodeModelNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.serves = chats(map[string]bool{catalog.Gemini: true}) // a listed model that cannot be served yields to a pattern
	if got, err := m.Resolve(haiku); err != nil || got.ID != "gemini-3.5-flash" {
		t.Errorf("%s, %v", got.ID, err)
	}
}

func TestAliasesAreListedWithTheirModels(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	aliases, err := NewAliases(list, map[string]string{"fast": haiku, "claude-*": haiku, "gpt-4": haiku})
	if err != nil {
		t.Fatal(err)
	}
	m := New(list, chats(map[string]bool{catalog.Anthropic: true}), func() time.Time { return november })
	m.Aliases = aliases
	found := 0
	for _, shown := range m.List(Query{}).Data {
		if shown.ID == "fast" || shown.ID == "gpt-4" {
			found++
			if shown.Root != haiku || shown.OwnedBy != catalog.Anthropic || shown.ContextWindow != 200_000 || !shown.Available {
				t.Errorf("%+v", shown)
			}
		}
	}
	m.AliasesOnly = true
	if only := m.List(Query{}).Data; found != 2 || len(only) != 2 {
		t.Errorf("%d aliases, %d listed alone", found, len(only))
	}
}

func TestAliasesThatMeanNothingAreRefusedTogether(t *testing.T) {
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewAliases(list, map[string]string{"a": "b", "b": haiku, "c": "nothing", "d*e*": haiku})
	for _, says := range []string{`"a" is the alias "b"`, `"c" is "nothing"`, `"d*e*" has more than one *`} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
