package routing

import (
	"strings"
	"testing"

	"modelgateway/catalog"
)

// A shared account knows the prompts, and what it has signed, of its own conversations.
func TestTheCallsOfAConversationUseOneKey(t *testing.T) {
	for _, w := range ways() {
		q := newQueued(catalog.Anthropic, "a", "b", "c")
		router := fleet(t, q)
		of := ask(haiku)
		of.Request.Session, of.Request.Affinity = "0198-a", w.name // the user does not matter
		for range 6 {
			if _, _, err := w.ask(t.Context(), router, of); err != nil {
				t.Fatal(err)
			}
		}
		own := q.asked()[:1]
		if got := q.asked(); got != strings.Repeat(own, 6) {
			t.Errorf("%s: %s", w.name, got)
		}
		q.play(own, fails(providerFault(429)))
		if _, _, err := w.ask(t.Context(), router, of); err != nil || len(q.asked()) != 2 || q.asked()[:1] != own || q.asked()[1:] == own {
			t.Errorf("%s: %s when its key is limited, %v", w.name, q.asked(), err)
		}
	}
}

// Without a conversation the calls of an end user go together, where the dialect goes by them.
func TestTheCallsOfAnEndUserUseOneKey(t *testing.T) {
	for _, w := range ways() {
		q := newQueued(catalog.Anthropic, "a", "b", "c")
		router := fleet(t, q)
		of := ask(haiku)
		of.Request.Affinity = "0198-a"
		for range 6 {
			if _, _, err := w.ask(t.Context(), router, of); err != nil {
				t.Fatal(err)
			}
		}
		if got := q.asked(); got != strings.Repeat(got[:1], 6) {
			t.Errorf("%s: %s", w.name, got)
		}
	}
}

func TestProviderIsToldThatTheGatewayChoseTheModel(t *testing.T) {
	for _, tt := range []struct {
		route Route
		want  bool
	}{
		{Route{Model: "claude-sonnet-4-5-20250929"}, false},
		{Route{Model: "claude-sonnet-4-5", Alias: "claude-sonnet-4-5-20250929"}, false},
		{Route{Model: "anthropic/claude-sonnet-4-5[1m]", Alias: "claude-sonnet-4-5-20250929"}, false},
		{Route{Model: "fast", Alias: "claude-haiku-4-5-20251001"}, true},
		{Route{Model: "claude-opus-4-8", Alias: "claude-sonnet-5"}, true},
		{Route{Model: "gpt-5", Fallback: "claude-sonnet-5"}, true},
		{Route{Model: "claude-3-opus-20240229", Redirected: "claude-opus-5"}, true},
	} {
		if got := tt.route.moved(); got != tt.want {
			t.Errorf("%+v: %t", tt.route, got)
		}
	}
}
