package conversation

import (
	"bytes"
	"crypto/sha256"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// made is a Handles with a secret of this byte.
func made(secret byte) *Handles {
	h := NewHandles(nil, time.Now)
	h.secret.Store((*[sha256.Size]byte)(bytes.Repeat([]byte{secret}, sha256.Size)))
	return h
}

type place struct{ provider, key string }

func places(all ...place) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, p := range all {
			if !yield(p.provider, []byte(p.key)) {
				return
			}
		}
	}
}

// of is an owner with a key that is in no team.
func of(owner string) models.KeptFor { return models.KeptFor{Owner: owner} }

// before is a handle as they were before they had a team.
func (h *Handles) before(by models.KeptFor, kept llm.Kept) string {
	return kept.ID + tagMark + encoding.EncodeToString(h.tag(by.Owner, kept.Provider, kept.Key, kept.ID))
}

const id = "resp_68af4030592c81938ec0a5fbab4a3e9f"

func TestHandleLeadsToItsProviderKeyAndID(t *testing.T) {
	h := made(1)
	everywhere := places(place{"anthropic", "a"}, place{"openai", "a"}, place{"openai", "b"}, place{"proxy", "b"})
	for _, p := range []place{{"openai", "a"}, {"openai", "b"}, {"proxy", "b"}} {
		handle := h.Make(of("user:ada"), p.provider, []byte(p.key), id)
		if !strings.HasPrefix(handle, id+"_mgw") || len(handle) != len(id)+42 || strings.Trim(handle, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") != "" {
			t.Errorf("%s", handle)
		}
		if again := h.Make(of("user:ada"), p.provider, []byte(p.key), id); again != handle {
			t.Errorf("%s, then %s", handle, again)
		}
		if got, ok := h.Read(of("user:ada"), handle, everywhere); !ok || got.Provider != p.provider || string(got.Key) != p.key || got.ID != id {
			t.Errorf("%+v: %+v, %t", p, got, ok)
		}
	}
}

func TestHandleOfAnotherOneIsNotAccepted(t *testing.T) {
	h := made(1)
	handle := h.Make(of("user:ada"), "openai", []byte("a"), id)
	here := places(place{"openai", "a"})
	for name, read := range map[string]func() (llm.Kept, bool){
		"another owner":              func() (llm.Kept, bool) { return h.Read(of("user:bob"), handle, here) },
		"a key of that name":         func() (llm.Kept, bool) { return h.Read(of("key:ada"), handle, here) },
		"no owner":                   func() (llm.Kept, bool) { return h.Read(of(""), handle, here) },
		"another provider":           func() (llm.Kept, bool) { return h.Read(of("user:ada"), handle, places(place{"proxy", "a"})) },
		"another key":                func() (llm.Kept, bool) { return h.Read(of("user:ada"), handle, places(place{"openai", "b"})) },
		"no key":                     func() (llm.Kept, bool) { return h.Read(of("user:ada"), handle, places()) },
		"another gateway":            func() (llm.Kept, bool) { return made(2).Read(of("user:ada"), handle, here) },
		"a gateway without a secret": func() (llm.Kept, bool) { return NewHandles(nil, time.Now).Read(of("user:ada"), handle, here) },
		"no gateway":                 func() (llm.Kept, bool) { return (*Handles)(nil).Read(of("user:ada"), handle, here) },
		"the provider's own id":      func() (llm.Kept, bool) { return h.Read(of("user:ada"), id, here) },
		"the tag of another id":      func() (llm.Kept, bool) { return h.Read(of("user:ada"), "resp_1"+strings.TrimPrefix(handle, id), here) },
		"a tag alone":                func() (llm.Kept, bool) { return h.Read(of("user:ada"), strings.TrimPrefix(handle, id), here) },
		"a handle as the id":         func() (llm.Kept, bool) { return h.Read(of("user:ada"), handle+strings.TrimPrefix(handle, id), here) },
		"the mark in other letters": func() (llm.Kept, bool) {
			return h.Read(of("user:ada"), strings.Replace(handle, "_mgw", "_MGW", 1), here)
		},
		"an end of line in the tag":   func() (llm.Kept, bool) { return h.Read(of("user:ada"), handle[:len(handle)-1]+"\n", here) },
		"an end of line after it":     func() (llm.Kept, bool) { return h.Read(of("user:ada"), handle+"\n", here) },
		"an empty text":               func() (llm.Kept, bool) { return h.Read(of("user:ada"), "", here) },
		"owner and provider shifted":  func() (llm.Kept, bool) { return h.Read(of("user:adao"), handle, places(place{"penai", "a"})) },
		"provider and key shifted":    func() (llm.Kept, bool) { return h.Read(of("user:ada"), handle, places(place{"openaia", ""})) },
		"one that is made of nothing": func() (llm.Kept, bool) { return h.Read(of("user:ada"), id+"_mgw"+strings.Repeat("A", 27), here) },
	} {
		if got, ok := read(); ok || got.ID != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A manager may hold a key that a member has in the team.
func TestAKeyOpensWhatKeysOfTheSameTeamHaveMade(t *testing.T) {
	h, here := made(1), places(place{"openai", "a"})
	by := map[string]models.KeptFor{
		"none": of("user:ada"), "team": {Owner: "user:ada", TeamID: "t"}, "other": {Owner: "user:ada", TeamID: "u"},
		"logged in": {Owner: "user:ada", All: true}, "another": {Owner: "user:bob", TeamID: "t", All: true},
	}
	handles := map[string]string{"before": h.before(of("user:ada"), llm.Kept{Provider: "openai", Key: []byte("a"), ID: id})}
	for _, maker := range []string{"none", "team", "other", "logged in"} {
		handles[maker] = h.Make(by[maker], "openai", []byte("a"), id)
	}
	for reader, opens := range map[string]string{
		"none": "none, logged in, before", "team": "team", "other": "other", "logged in": "none, team, other, logged in, before", "another": "",
	} {
		for maker, handle := range handles {
			if _, ok := h.Read(by[reader], handle, here); ok != slices.Contains(strings.Split(opens, ", "), maker) {
				t.Errorf("%s opens what %s has made: %t", reader, maker, ok)
			}
		}
	}
}

func TestEachChangeOfAHandleMakesItUnknown(t *testing.T) {
	h, here := made(1), places(place{"openai", "a"})
	handle := h.Make(of("user:ada"), "openai", []byte("a"), id)
	for i := range len(handle) {
		if _, ok := h.Read(of("user:ada"), handle[:i], here); ok {
			t.Errorf("its first %d bytes are accepted", i)
		}
		for _, other := range []byte("_Aa0-\x00\xff") {
			changed := handle[:i] + string([]byte{other}) + handle[i+1:]
			if _, ok := h.Read(of("user:ada"), changed, here); ok != (changed == handle) {
				t.Errorf("%q: %t", changed, ok)
			}
		}
	}
	last := handle[len(handle)-1]
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") { // of which some differ in bits that are not used
		if _, ok := h.Read(of("user:ada"), handle[:len(handle)-1]+string(c), here); ok != (c == last) {
			t.Errorf("%q in place of %q: %t", c, last, ok)
		}
	}
}

func TestHandleOfAnIDThatLooksLikeOne(t *testing.T) {
	h, here := made(1), places(place{"openai", "a"})
	inner := made(2).Make(of("user:x"), "openai", []byte("z"), id) // the upstream is a gateway too
	for _, id := range []string{inner, "_mgw", "x_mgw", "resp_1_mgw" + strings.Repeat("_mgw", 9), "é", `"`} {
		if got, ok := h.Read(of("user:ada"), h.Make(of("user:ada"), "openai", []byte("a"), id), here); !ok || got.ID != id {
			t.Errorf("%q: %+v", id, got)
		}
	}
}

func TestReplicasReadEachOthersHandles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		one, two := NewHandles(d.Store, time.Now), NewHandles(d.Open(t), time.Now)
		if one.Ready() {
			t.Error("it is ready without a secret")
		}
		for _, h := range []*Handles{one, two} {
			if err := h.Load(t.Context()); err != nil || !h.Ready() {
				t.Fatal(err)
			}
		}
		handle := one.Make(of("user:ada"), "openai", []byte("a"), id)
		if got, ok := two.Read(of("user:ada"), handle, places(place{"openai", "a"})); !ok || got.ID != id {
			t.Errorf("%+v", got)
		}
		d.Query(t, "DELETE FROM secrets")
		d.Query(t, "INSERT INTO secrets (name, value, created_at) VALUES ('response_ids', 'unreadable', 1)")
		three := NewHandles(d.Store, time.Now)
		if err := three.Load(t.Context()); err == nil || three.Ready() {
			t.Error("a secret that cannot be read is used")
		}
	})
}

// FuzzReadHandle: what is read is what was made, for all inputs.
func FuzzReadHandle(f *testing.F) {
	h, here := made(1), places(place{"openai", "a"}, place{"openai", "b"}, place{"proxy", "a"})
	for _, text := range []string{"", id, "_mgw", h.Make(of("o"), "openai", []byte("a"), id), h.Make(of("o"), "proxy", []byte("a"), ""), h.Make(of("other"), "openai", []byte("b"), id)} {
		f.Add("o", text)
	}
	f.Fuzz(func(t *testing.T, owner, handle string) {
		kept, ok := h.Read(of(owner), handle, here)
		if again := h.Make(of(owner), kept.Provider, kept.Key, kept.ID); ok && again != handle && h.before(of(owner), kept) != handle {
			t.Errorf("%q of %q is read as %+v, which is %q", handle, owner, kept, again)
		}
		if handle == "" {
			return // of no id no handle is made
		}
		if got, ok := h.Read(of(owner), h.Make(of(owner), "openai", []byte("b"), handle), here); !ok || got.Provider != "openai" || string(got.Key) != "b" || got.ID != handle {
			t.Errorf("the handle of %q is read as %+v", handle, got)
		}
	})
}
