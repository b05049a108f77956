package native

import (
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// way is how a client names a conversation, NAME.
type way struct{ by, members, header, value string }

// What a provider encrypts and caches belongs to the organisation of a key: the calls of one
// conversation use one key, by whatever the client names it.
func TestAConversationStaysWithOneKey(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		p, u := a.start(t, a.keys)
		u.Play(gatewaytest.JSON(200, a.answer))
		key := func(w way, name string) string {
			named := strings.NewReplacer("NAME", name)
			var headers []string
			if w.header != "" {
				headers = []string{w.header, named.Replace(w.value)}
			}
			got := post(t, p, a.path, a.body(named.Replace(w.members)), headers...)
			sent := u.Requests()
			if got.Status != 200 || len(sent) == 0 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			last := sent[len(sent)-1].Header
			return last.Get("Authorization") + last.Get("X-Api-Key")
		}
		const user = `"metadata":{"user_id":"NAME"},`
		const cache = `"prompt_cache_key":"NAME",`
		another := strings.Replace(user, "NAME", "another", 1)
		ways := map[string][]way{
			"messages": {
				{"the session", "", "X-Claude-Code-Session-Id", "NAME"}, {"the session before the user", another, "X-Claude-Code-Session-Id", "NAME"},
				{"the user", user, "", ""},
			},
			"responses": {
				{"the cache key", cache, "", ""}, {"the cache key before the session", cache, "Session_id", "another"},
				{"the session", "", "Session_id", "NAME"}, {"the session before the user", another, "Session-Id", "NAME"},
				{"the user", user, "", ""},
			},
		}[a.name]
		used := map[string]bool{}
		for _, name := range []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"} {
			want := key(ways[0], name)
			used[want] = true
			for _, w := range ways {
				for range 2 {
					if got := key(w, name); got != want {
						t.Errorf("%s, by %s: %s, not %s", name, w.by, got, want)
					}
				}
			}
		}
		if len(used) < 2 {
			t.Errorf("all conversations use %v", used)
		}
		used = map[string]bool{}
		for range 9 {
			used[key(way{}, "")] = true
		}
		if len(used) != 3 {
			t.Errorf("without a conversation %v are used", used)
		}
	})
}
