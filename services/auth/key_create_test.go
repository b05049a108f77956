package auth

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

func TestTheDatabaseHoldsNoUsableKey(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		key, text := createKey(t, k, "ada")
		if !keyOpens(k, text) {
			t.Fatal("a new key opens nothing")
		}
		for _, table := range []string{"users", "api_keys", "identities", "probes"} {
			if mentionsKey(h.Query(t, "SELECT * FROM "+table), text) {
				t.Errorf("%s holds a key", table)
			}
		}
		kept := h.Query(t, "SELECT hash FROM api_keys")
		if len(kept) != 1 || kept[0] != key.Hash || len(kept[0]) != 64 {
			t.Fatalf("kept: %q", kept)
		}
		for _, stolen := range []string{kept[0], keyPrefix + kept[0], key.ID, key.Prefix, keyPrefix + kept[0][:49]} {
			if keyOpens(k, stolen) {
				t.Errorf("%s opens the gateway", stolen)
			}
		}
	})
}

func TestAKeyIsShownOnceAndListedWithoutItsText(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		before := time.Now().UnixMicro()
		first, text, err := k.Create(t.Context(), "ada", api.NewKey{Name: "  laptop "})
		if err != nil {
			t.Fatal(err)
		}
		second, _ := createKey(t, k, "ada")
		_, _ = createKey(t, k, "bob")
		keys, err := k.Find(t.Context(), models.KeyFilter{UserID: "ada"})
		if err != nil || len(keys) != 2 || keys[0].ID != second.ID || keys[1].ID != first.ID {
			t.Fatalf("%+v %v", keys, err)
		}
		got := keys[1]
		switch {
		case got.Name != "laptop", got.Prefix != text[:8], got.CreatedAt < before, got.LastUsedAt != 0:
			t.Errorf("%+v", got)
		case mentionsKey([]string{got.ID, got.Name, got.Prefix}, text):
			t.Error("the list shows a key")
		}
		if !strings.HasPrefix(got.ID, "key_") || len(got.ID) < 4+26 || got.ID[4:] == second.ID[4:] {
			t.Errorf("id %s", got.ID)
		}
	})
}

func TestNamesThatAreRefused(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		for name, want := range map[string]string{
			"": api.CodeMissingField, " \t\r\n ": api.CodeMissingField, "\u00a0": api.CodeMissingField,
			strings.Repeat("x", 10<<10): api.CodeInvalidValue, strings.Repeat("é", 201): api.CodeInvalidValue,
			"a\r\nSet-Cookie: x": api.CodeInvalidValue, "a\nb": api.CodeInvalidValue, "a\x00b": api.CodeInvalidValue, "\x00": api.CodeInvalidValue,
			"a\x1b[31mb": api.CodeInvalidValue, "a\x7fb": api.CodeInvalidValue, "a\u0085b": api.CodeInvalidValue,
			"a\u202eb": api.CodeInvalidValue, "a\u2066b": api.CodeInvalidValue, "a\u200fb": api.CodeInvalidValue, "\ufeffa": api.CodeInvalidValue,
			"a\u200bb": api.CodeInvalidValue, "a\u2028b": api.CodeInvalidValue, "a\xffb": api.CodeInvalidValue, "a\xed\xa0\x80b": api.CodeInvalidValue,
		} {
			_, _, err := k.Create(t.Context(), "ada", api.NewKey{Name: name})
			if e := api.AsError(err); err == nil || e.Status != http.StatusBadRequest || e.Code != want || e.Param != "name" {
				t.Errorf("%.40q: %v", name, err)
			}
		}
		if keys, err := k.Find(t.Context(), models.KeyFilter{UserID: "ada"}); err != nil || len(keys) != 0 {
			t.Errorf("%v %v", keys, err)
		}
	})
}

func TestNamesThatAreKeptAsTheyAre(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		for _, name := range []string{
			"=cmd()|'/C calc'!A1", "<script>alert(1)</script>", "'; DROP TABLE api_keys; --", "Müller's \"key\" \\", "鍵", "👩\u200d💻 laptop", "نامه\u200cها", strings.Repeat("é", 200),
		} {
			key, _, err := k.Create(t.Context(), "ada", api.NewKey{Name: name})
			if err != nil || key.Name != name {
				t.Fatalf("%q: %+v %v", name, key, err)
			}
			keys, err := k.Find(t.Context(), models.KeyFilter{UserID: "ada"})
			if err != nil || keys[0].Name != name {
				t.Errorf("%q was kept as %q: %v", name, keys[0].Name, err)
			}
		}
	})
}

func TestTheLimitOfKeysIsExactUnderParallelCreates(t *testing.T) {
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k, other := h.keyReplica(), h.keyReplica()
		for range keysPerUser - 1 {
			_, _ = createKey(t, k, "ada")
		}
		var made atomic.Int64
		var all sync.WaitGroup
		for i := range 50 {
			replica := []*Keys{k, other}[i%2]
			all.Go(func() {
				_, _, err := replica.Create(t.Context(), "ada", api.NewKey{Name: "one of fifty"})
				if err == nil {
					made.Add(1)
				} else if e := api.AsError(err); e.Status != http.StatusConflict || e.Type != api.TypeInvalidRequest || e.Code != api.CodeTooManyKeys {
					t.Error(err)
				}
			})
		}
		all.Wait()
		keys, err := k.Find(t.Context(), models.KeyFilter{UserID: "ada"})
		if made.Load() != 1 || err != nil || len(keys) != keysPerUser {
			t.Fatalf("%d made, %d there: %v", made.Load(), len(keys), err)
		}
		_, _ = createKey(t, k, "bob") // who has keys left
		if err := k.Revoke(t.Context(), "ada", keys[7].ID); err != nil {
			t.Fatal(err)
		}
		_, _ = createKey(t, k, "ada")
	})
}

func TestAKeyForAnUnknownUserIsRefused(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		_, _, err := h.keyReplica().Create(t.Context(), "unknown", api.NewKey{Name: "a key"})
		if e := api.AsError(err); err == nil || e.Status != http.StatusUnauthorized || e.Code != api.CodeInvalidToken {
			t.Error(err)
		}
	})
}
