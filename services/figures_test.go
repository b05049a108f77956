package services

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"

	"modelgateway/models/catalog"
)

func TestCircuitsOpenIsTheShareOfTheKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a", "b").play("a", fails(providerFault(500)))
		chat := fleet(t, q)
		chat.Retries = 0
		expect := func(open, up float64) {
			t.Helper()
			if got, want := chat.CircuitsOpen(), map[string]float64{catalog.Anthropic: open}; !maps.Equal(got, want) {
				t.Errorf("circuits: %v, want %v", got, want)
			}
			if got, want := chat.ProvidersUp(), map[string]float64{catalog.Anthropic: up, catalog.OpenAI: 0, catalog.Gemini: 0}; !maps.Equal(got, want) {
				t.Errorf("providers: %v, want %v", got, want)
			}
		}
		expect(0, 1)
		for range 3 * circuitCalls {
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
		}
		expect(0.5, 0.5)
		q.play("b", fails(providerFault(500)))
		for range 10 * circuitCalls {
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
		}
		expect(1, 0)
	})
}

func TestPartsAreUpWhenTheLastProbeSaidSo(t *testing.T) {
	var database, cache error
	h := &Health{
		Database: func(context.Context) error { return database },
		Cache:    func(context.Context) error { return cache },
		Log:      slog.New(slog.DiscardHandler),
	}
	expect := func(when string, d, c float64) {
		t.Helper()
		if h.DatabaseUp() != d || h.CacheUp() != c {
			t.Errorf("%s: database %v, cache %v", when, h.DatabaseUp(), h.CacheUp())
		}
	}
	expect("before the first probe", 0, 0)
	h.Probe(t.Context())
	expect("both are there", 1, 1)
	cache = errors.New("gone")
	expect("not probed again", 1, 1)
	h.Probe(t.Context())
	expect("the cache is gone", 1, 0)
	database, cache = errors.New("gone"), nil
	h.Probe(t.Context())
	expect("the database is gone", 0, 1)
}

func TestRememberedCountsGoodAndRefusedKeys(t *testing.T) {
	eachKeyHouse(t, func(t *testing.T, h *keyHouse) {
		k := h.keyReplica()
		before := k.Remembered()
		_, text := createKey(t, k, "ada")
		keyOpens(k, text)
		revoked, gone := createKey(t, k, "ada")
		if err := k.Revoke(t.Context(), "ada", revoked.ID); err != nil {
			t.Fatal(err)
		}
		keyOpens(k, gone)
		good, refused := cachedCount(k)
		if got := k.Remembered() - before; good != 1 || refused != 1 || got != 2 {
			t.Errorf("%d good, %d refused, %d remembered", good, refused, got)
		}
	})
}
