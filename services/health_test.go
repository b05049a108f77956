package services

import (
	"context"
	"errors"
	"log/slog"
	"testing"
)

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
