package pool

import (
	"strconv"
	"testing"
	"time"

	"modelgateway/catalog"
)

// firstOf is the key that a conversation's first call gets.
func firstOf(t testing.TB, u *Upstream, session string) string {
	t.Helper()
	l, err := u.Lease(Wish{Model: haiku, Session: session})
	if err != nil {
		t.Fatal(err)
	}
	defer l.End()
	return l.Secret()
}

func TestAConversationKeepsItsKeyWhenKeysComeAndGo(t *testing.T) {
	const sessions = 3000
	all := NewUpstream(catalog.Anthropic, unasked{}, poolOf("a", "b", "c"), time.Now)
	replica := NewUpstream(catalog.Anthropic, unasked{}, poolOf("c", "a", "b"), time.Now)
	fewer := NewUpstream(catalog.Anthropic, unasked{}, poolOf("c", "a"), time.Now)
	calls := map[string]int{}
	for i := range sessions {
		session := "session-" + strconv.Itoa(i)
		key := firstOf(t, all, session)
		calls[key]++
		if again, other := firstOf(t, all, session), firstOf(t, replica, session); again != key || other != key {
			t.Fatalf("%s: %s, then %s; another replica %s", session, key, again, other)
		}
		if left := firstOf(t, fewer, session); key != "b" && left != key {
			t.Fatalf("%s: %s, without another key %s", session, key, left)
		}
	}
	for _, key := range []string{"a", "b", "c"} {
		if n := calls[key]; n < sessions/4 || n > sessions*5/12 {
			t.Errorf("key %s has %d of %d conversations", key, n, sessions)
		}
	}
}

func TestAConversationsKeyIsTakenAlsoWhenItIsBusy(t *testing.T) {
	u := NewUpstream(catalog.Anthropic, unasked{}, poolOf("a", "b", "c"), time.Now)
	want := firstOf(t, u, "s")
	for range 5 {
		l, err := u.Lease(Wish{Model: haiku, Session: "s"})
		if err != nil || l.Secret() != want {
			t.Fatalf("%v", err)
		}
	}
}

func TestAConversationWhoseKeyCannotBeUsedGetsAnotherOne(t *testing.T) {
	u := NewUpstream(catalog.Anthropic, unasked{}, poolOf("a", "b", "c"), time.Now)
	first, err := u.Lease(Wish{Model: haiku, Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := u.Lease(Wish{Model: haiku, Session: "s", Avoid: first.Key})
	if err != nil || second.Key == first.Key {
		t.Fatalf("the same key again, %v", err)
	}
	first.Key.record(haiku, providerFault(429, retryAfter(time.Hour)))
	if key := firstOf(t, u, "s"); key == first.Secret() || firstOf(t, u, "s") != key {
		t.Errorf("%s while %s cools down", key, first.Secret())
	}
}
