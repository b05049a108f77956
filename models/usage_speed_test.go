//go:build !race

package models_test

import (
	"path/filepath"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/services/ledger"
)

// BenchmarkUsageOfDays reports 30 days of 27,000 calls in a time zone: every day has to be
// divided.
func BenchmarkUsageOfDays(b *testing.B) {
	store, err := models.Open("sqlite:" + filepath.Join(b.TempDir(), "gateway.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if err := store.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	now := time.Date(2026, 11, 22, 16, 7, 23, 0, time.UTC)
	y := newYear(now)
	for before := 40; before > 8; before-- {
		if err := store.SumCalls(b.Context(), y.day(before, 27_000)); err != nil {
			b.Fatal(err)
		}
	}
	for more := true; more; {
		if more, err = store.MergeUsage(b.Context(), now); err != nil {
			b.Fatal(err)
		}
	}
	u := ledger.NewUsage(store, func() time.Time { return now })
	for b.Loop() {
		_, err := u.All(b.Context(), ledger.UsageRequest{From: "2026-10-15", To: "2026-11-13", Step: "1d", TimeZone: "Europe/Berlin", GroupBy: "key"})
		if err != nil {
			b.Fatal(err)
		}
	}
}
