package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

func sum(text string) string {
	d := sha256.Sum256([]byte(text))
	return hex.EncodeToString(d[:])
}

// addLiteLLM adds the row of a key of LiteLLM, as a takeover does, and returns its id.
func (h *keyDatabase) addLiteLLM(t testing.TB, text, userID string) (id string) {
	t.Helper()
	id = keyIDPrefix + rand.Text()
	key := &models.Key{ID: id, UserID: userID, Name: "n", Hash: models.LiteLLMHash + sum(text), Prefix: "sk-..." + text[len(text)-4:], CreatedAt: 1}
	if err := h.Store.CreateKey(t.Context(), key, keysPerUser); err != nil {
		t.Fatal(err)
	}
	return id
}

// takeOver is addLiteLLM, and what a takeover remembers of it.
func (h *keyDatabase) takeOver(t testing.TB, text, userID string) (id string) {
	t.Helper()
	id = h.addLiteLLM(t, text, userID)
	h.Query(t, "INSERT INTO takeovers (kind, foreign_id, id, taken) VALUES ('key', '"+sum(text)+"', '"+id+"', '{}')")
	return id
}

// Nothing but the very text of a key of LiteLLM opens its row, and nothing of LiteLLM's form opens a row of ours.
func TestOnlyTheTextOfAKeyOfLiteLLMOpensIt(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		const text = "sk-Abcdefghij.klm!~012"
		long := "sk-" + strings.Repeat("a", longestLiteLLM-len("sk-"))
		short, short15, chosen := "sk-0123456789abc", "sk-0123456789ab", "team-key-chosen-by-an-administrator"
		for _, theirs := range []string{text, long, long + "a", short, short15, chosen, "SK-0123456789abcdef", "sk-with a space in it", "sk-with-ünicode-in-it"} {
			h.takeOver(t, theirs, "ada")
		}
		_, ours := createKey(t, k, "ada")
		random := ours[len(keyPrefix):keyBody]
		digest := keyDigest(ours)
		for _, good := range []string{text, long, short, ours} {
			if !keyOpens(k, good) {
				t.Errorf("%.60s: refused", good)
			}
		}
		asked := map[string]bool{}
		ask := k.keyByHash
		var mu sync.Mutex
		k.keyByHash = func(ctx context.Context, hash string) (*models.KeyWithOwners, error) {
			mu.Lock()
			asked[hash] = true
			mu.Unlock()
			return ask(ctx, hash)
		}
		// By its form each of these is no credential at all.
		for _, bad := range []string{
			"", "sk-", sum(text), models.LiteLLMHash + sum(text), models.LiteLLMHash + hex.EncodeToString(digest[:]), hex.EncodeToString(digest[:]),
			random, long + "a", short15, chosen, "SK-0123456789abcdef", strings.ToUpper(text), "sk-with a space in it", "sk-with-ünicode-in-it",
			text + " ", " " + text, text + "\n", text + "\x00", text + "\x7f", text + "\xff", "Bearer " + text, "sk_" + text[3:], "mgw_" + text[3:],
			"mgwa_" + text[3:], text[3:], "sk-" + strings.Repeat("a", 8<<20),
		} {
			if _, err := k.Authenticate(t.Context(), bad); !refusedKey(err) {
				t.Errorf("%.60q: %v", bad, err)
			}
		}
		if len(asked) != 0 {
			t.Errorf("looked up: %v", asked)
		}
		// These have its form, and are looked up among keys of LiteLLM only.
		for _, bad := range []string{
			"sk-" + sum(text), "sk-" + models.LiteLLMHash + sum(text), "sk-" + random, "sk-" + ours, "sk-" + hex.EncodeToString(digest[:]),
			text[:len(text)-1], text + "3", "sk-" + text, "sk-" + strings.ToUpper(text[3:]), strings.ToLower(text), "sk-%", "sk-' OR hash LIKE '%' --x",
			"sk-'OR(hash)LIKE'litellm:%'--",
		} {
			if _, err := k.Authenticate(t.Context(), bad); !refusedKey(err) {
				t.Errorf("%.60q: %v", bad, err)
			}
		}
		for hash := range asked {
			if !strings.HasPrefix(hash, models.LiteLLMHash) {
				t.Errorf("looked up as a key of ours: %s", hash)
			}
		}
		if len(asked) != 11 {
			t.Errorf("looked up: %v", asked)
		}
	})
}

// A row of ours whose hash a key of LiteLLM has, and the other way round, is of another kind.
func TestARowOfTheOtherKindIsNotFound(t *testing.T) {
	h := sqliteKeys(t)
	k := h.keyReplica()
	h.takeOver(t, "sk-some-other-key-of-LiteLLM", "ada")
	const text = "sk-0123456789abcdef"
	ours := newKey()
	digest := keyDigest(ours)
	swapped := []models.Key{{Hash: sum(text)}, {Hash: models.LiteLLMHash + hex.EncodeToString(digest[:])}}
	for i := range swapped {
		key := &swapped[i]
		key.ID, key.UserID, key.Name = keyIDPrefix+rand.Text(), "ada", "n"
		if err := h.Store.CreateKey(t.Context(), key, keysPerUser); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{text, ours} {
		if _, err := k.Authenticate(t.Context(), bad); !refusedKey(err) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestKeysOfLiteLLMAreLookedUpOnlyAfterATakeover(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		runKeys(t, k)
		var load countKeyQueries
		load.watch(k)
		const text = "sk-0123456789abcdef"
		h.addLiteLLM(t, text, "ada")
		h.Query(t, "INSERT INTO takeovers (kind, foreign_id, id, taken) VALUES ('team', 'x', 'y', '{}')")
		for range 10 {
			_, err := k.Authenticate(t.Context(), text)
			if !refusedKey(err) || body(t, err) != body(t, notOurKey(text)) {
				t.Fatal(err)
			}
		}
		if there, err := k.TakenOver(t.Context()); there || err != nil || load.total.Load() != 0 {
			t.Errorf("%v %v, %d queries", there, err, load.total.Load())
		}
		h.Query(t, "INSERT INTO takeovers (kind, foreign_id, id, taken) VALUES ('key', 'x', 'y', '{}')")
		storetest.Until(t, "it opens", func() bool { return keyOpens(k, text) })
		h.Query(t, "DELETE FROM takeovers WHERE kind = 'key'")
		storetest.Until(t, "it does not open any more", func() bool { return !keyOpens(k, text) })
	})
}

func TestWithoutTheDatabaseAKeyOfLiteLLMIs503(t *testing.T) {
	h := sqliteKeys(t)
	const text = "sk-0123456789abcdef"
	h.takeOver(t, text, "ada")
	known, unknown := h.keyReplica(), h.keyReplica()
	if there, err := known.TakenOver(t.Context()); !there || err != nil {
		t.Fatal(there, err)
	}
	_ = h.Store.Close()
	for _, k := range []*Keys{known, unknown} {
		if _, err := k.Authenticate(t.Context(), text); api.AsError(err).Status != http.StatusServiceUnavailable {
			t.Error(err)
		}
		if k.KnowsLiteLLM(t.Context(), text) {
			t.Error("known without an answer")
		}
	}
	known.refreshTakenOver(t.Context())
	if there, err := known.TakenOver(t.Context()); !there || err != nil {
		t.Error("forgotten while the database fails", there, err)
	}
}

func TestARevokedKeyOfLiteLLMIsPublishedToOtherReplicas(t *testing.T) {
	t.Parallel()
	h, address := sqliteKeys(t), servertest.Redis(t)
	here := h.connected(dialRedis(t, address))
	there := h.stopped(t, address)
	const text = "sk-0123456789abcdef"
	id := h.takeOver(t, text, "ada")
	if !keyOpens(here, text) || !keyOpens(there, text) {
		t.Fatal("refused")
	}
	if err := here.Revoke(t.Context(), "ada", id); err != nil {
		t.Fatal(err)
	}
	if keyOpens(here, text) {
		t.Error("open where it was revoked")
	}
	storetest.Until(t, "refused elsewhere", func() bool { return !keyOpens(there, text) })
}

func TestAKeyOfLiteLLMIsRotatedToOneOfOurs(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		c := &clock{november}
		k := NewKeys(KeyOptions{Store: h.Store, Log: slog.New(slog.DiscardHandler), Now: c.now})
		const text = "sk-0123456789abcdef"
		id := h.takeOver(t, text, "ada")
		if !keyOpens(k, text) {
			t.Fatal("refused")
		}
		key, second := rotateKey(t, k, id, 60)
		if !keyOpens(k, text) || !keyOpens(k, second) || key.Origin() != "litellm" || key.Prefix != second[:keyShown] {
			t.Errorf("in the overlap: %v, %v, %+v", keyOpens(k, text), keyOpens(k, second), key)
		}
		c.at = c.at.Add(61 * time.Second)
		caller, err := k.Authenticate(t.Context(), text)
		if !refusedKey(err) || caller == nil || caller.KeyID != id || !keyOpens(k, second) {
			t.Errorf("after the overlap: %+v, %v", caller, err)
		}
		key, third := rotateKey(t, k, id, 0)
		if keyOpens(k, text) || keyOpens(k, second) || !keyOpens(k, third) || key.Origin() != "" {
			t.Errorf("after another rotation: %+v", key)
		}
	})
}

func BenchmarkAuthenticateKeyOfLiteLLM(b *testing.B) {
	h := sqliteKeys(b)
	k := h.keyReplica()
	const text = "sk-0123456789abcdef"
	h.takeOver(b, text, "ada")
	runKeys(b, k)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Authenticate(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}
