package promptcache

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/llm"
	"modelgateway/models"
)

// clock is a service whose time a test sets.
func clock() (s *Service, now *time.Time) {
	at := time.Unix(1_800_000_000, 0)
	s = New(nil, nil, func() time.Time { return at })
	secret := []byte("secret")
	s.secret.Store(&secret)
	return s, &at
}

func promptWith(system string, messages ...string) *llm.Prompt {
	p := &llm.Prompt{Tools: []byte(`[{"name":"read"}]`), System: []byte(system)}
	for _, m := range messages {
		p.Messages = append(p.Messages, []byte(`{"role":"user","content":"`+m+`"}`))
	}
	return p
}

// end ends a call of a session with a prompt of 10,000 tokens.
func end(s *Service, e Ended) int {
	e.BeganAt, e.Provider, e.Model, e.Key, e.Input = s.now(), "anthropic", "m", "k", 10_000
	e.ChargesWrites, e.Written = true, e.Input-e.Cached
	return s.Look("owner", "session").End(&e).Miss
}

func TestTimeThatRanOutIsNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		hour   int64 // tokens of the first call that are kept for an hour
		after  time.Duration
		system string // of the second call
		want   int
	}{
		"minutes":                           {0, 6 * time.Minute, `"s"`, models.CacheExpired},
		"minutes, with a mark for an hour":  {10_000, 6 * time.Minute, `"s"`, models.CacheNotReturned},
		"before they are over":              {0, 4 * time.Minute, `"s"`, models.CacheNotReturned},
		"minutes, and another prompt":       {0, 6 * time.Minute, `"other"`, models.CacheSystemChanged},
		"an hour, after which none is kept": {10_000, time.Hour + time.Second, `"s"`, 0},
	} {
		s, now := clock()
		if got := end(s, Ended{Prompt: promptWith(`"s"`, "a"), WrittenHour: tt.hour}); got != 0 {
			t.Errorf("%s: the first call has verdict %d", name, got)
		}
		*now = now.Add(tt.after)
		if got := end(s, Ended{Prompt: promptWith(tt.system, "a", "b")}); got != tt.want {
			t.Errorf("%s: verdict %d, want %d", name, got, tt.want)
		}
	}
}

// A message that changed explains nothing where the cache has not even what comes before it.
func TestTimeThatRanOutIsNamedBeforeAChangedMessage(t *testing.T) {
	s, now := clock()
	end(s, Ended{Prompt: promptWith(`"s"`, "a", "b")})
	*now = now.Add(6 * time.Minute)
	if got := end(s, Ended{Prompt: promptWith(`"s"`, "a", "c", "d")}); got != models.CacheExpired {
		t.Errorf("verdict %d", got)
	}
	end(s, Ended{Prompt: promptWith(`"s"`, "a", "b")})
	*now = now.Add(6 * time.Minute)
	if got := end(s, Ended{Prompt: promptWith(`"s"`, "a", "c", "d"), Cached: 4000}); got != models.CacheMessageChanged {
		t.Errorf("verdict %d", got)
	}
}

func TestAnotherConversationOfASessionIsNoMiss(t *testing.T) {
	s, _ := clock()
	end(s, Ended{Prompt: promptWith(`"s"`, "a")})
	other := promptWith(`"title"`, "b")
	other.Tools = nil
	if got := end(s, Ended{Prompt: other}); got != 0 {
		t.Errorf("verdict %d", got)
	}
}

func TestTheSamePromptInAnotherFormHasTheSameHashes(t *testing.T) {
	s, _ := clock()
	of := func(message string) string {
		return string(s.hashes(&llm.Prompt{Messages: [][]byte{[]byte(message)}}, nil))
	}
	plain := of(`{"role":"user","content":"Hi \"}\" there"}`)
	for _, same := range []string{
		`{"role":"user","content":[{"type":"text","text":"Hi \"}\" there"}]}`,
		`{"role":"user","content":[{"type":"text","text":"Hi \"}\" there","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`,
	} {
		if of(same) != plain {
			t.Errorf("%s has other hashes", same)
		}
	}
	for _, other := range []string{
		`{"role":"user","content":"Hi \"}\" There"}`, `{"role":"assistant","content":"Hi \"}\" there"}`,
		`{"role":"user","content":[{"type":"text","text":"Hi \"}\" there"},{"type":"text","text":"x"}]}`,
	} {
		if of(other) == plain {
			t.Errorf("%s has the same hashes", other)
		}
	}
	if a, b := of(`{"role":"user","content":[{"type":"tool_use","input":{"a":{"b":1}}}]}`),
		of(`{"role":"user","content":[{"type":"tool_use","input":{"a":{"b":1}},"cache_control":{"type":"ephemeral"}}]}`); a != b {
		t.Error("a mark changes the hash of a tool call")
	}
}

// What is kept of a call has a bound, and what is kept of all.
func TestWhatIsKeptIsBounded(t *testing.T) {
	s, _ := clock()
	long := promptWith(`"s"`, strings.Split(strings.Repeat("m ", 5000), " ")...)
	if n := len(s.hashes(long, nil)); n != hashBytes*mostHashes {
		t.Errorf("%d bytes of hashes", n)
	}
	hashes := s.hashes(long, nil)
	for i := range 4000 {
		s.Look(fmt.Sprint(i)).keep(&kept{BeganAt: s.now().UnixMilli(), Client: hashes, Upstream: hashes})
	}
	if n := s.calls.Len(); s.bytes > keptBytes || n < 500 || n > 1500 || s.bytes != n*(callBytes+2*len(hashes)) {
		t.Errorf("%d bytes of %d calls", s.bytes, n)
	}
	for range 3 {
		s.Look("3999").keep(&kept{})
	}
	if s.Look("3999").newest() != nil || s.Look("3998").newest() == nil || s.Look("1").newest() != nil {
		t.Error("another call than the oldest was dropped")
	}
}

// Where the provider has read the last prompt only what is new is hashed, and the hashes are those
// of the whole prompt.
func TestHashesOfAPromptThatCameBackAreTakenOver(t *testing.T) {
	s, _ := clock()
	var messages []string
	for i := range 60 {
		messages = append(messages, fmt.Sprint(i, strings.Repeat(" text", 100)))
		end(s, Ended{Prompt: promptWith(`"s"`, messages...), Cached: 10_000 * int64(min(i, 1))})
	}
	last := s.Look("owner", "session").newest()
	whole := promptWith(`"s"`, messages...)
	if string(last.Client) != string(s.hashes(whole, nil)) {
		t.Error("the hashes are others than those of the whole prompt")
	}
	if n := len(last.Client.confirmed(whole)); n < len(last.Client)-10*hashBytes || n >= len(last.Client)-2*hashBytes {
		t.Errorf("%d of %d bytes of hashes are taken over", n, len(last.Client))
	}
	// A change at the end is too small for the provider's count.
	messages[59] = "59 other text"
	end(s, Ended{Prompt: promptWith(`"s"`, messages...), Cached: 9_900})
	if last, whole = s.Look("owner", "session").newest(), promptWith(`"s"`, messages...); string(last.Client) != string(s.hashes(whole, nil)) {
		t.Error("a change at the end keeps the hashes of what was there before")
	}
}
