package models_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/servertest"
)

// BenchmarkWriteCalls writes batches as the ledger does under load, of one key
// and of a hundred. It reports the cost of a row: time, and the processor time
// of this process, which is all of SQLite and the client's part of PostgreSQL.
func BenchmarkWriteCalls(b *testing.B) {
	for _, database := range []struct {
		name    string
		address func(b *testing.B) string
	}{
		{"sqlite", func(b *testing.B) string { return "sqlite:" + filepath.Join(b.TempDir(), "gateway.db") }},
		{"postgres", func(b *testing.B) string { return servertest.Postgres(b) }},
	} {
		for _, keys := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/keys=%d", database.name, keys), func(b *testing.B) {
				benchmarkWriteCalls(b, database.address(b), keys)
			})
		}
	}
}

func benchmarkWriteCalls(b *testing.B, address string, keys int) {
	store, err := models.Open(address)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if err := store.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	const rows = 2000 // of the ledger's largest batch
	calls := make([]models.Call, rows)
	written, spent := 0, time.Duration(0)
	for b.Loop() {
		b.StopTimer()
		for i := range calls {
			calls[i] = benchmarkCall(written+i, fmt.Sprint("key_", i%keys))
		}
		before := processorTime(b)
		b.StartTimer()
		if err := store.WriteCalls(b.Context(), "r1", calls); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		spent += processorTime(b) - before
		written += rows
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(written), "ns/row")
	b.ReportMetric(float64(spent.Nanoseconds())/float64(written), "cpu-ns/row")
}

// benchmarkCall differs from the call before it in what differs under load:
// ids, tokens, cost and times.
func benchmarkCall(n int, key string) models.Call {
	at := noon.Add(time.Duration(n) * 125 * time.Microsecond)
	c := call(fmt.Sprintf("%013d", n), key, at)
	c.RequestID = fmt.Sprintf("req_%026d", n)
	c.UserID, c.Model, c.Served = "usr_7KZL3XW5VHYB4F2Q", "claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001"
	c.ErrorCode, c.CachedTokens, c.CacheWriteTokens, c.ReasoningTokens, c.Estimated = "", 0, 0, 0, false
	c.InputTokens, c.OutputTokens, c.Cost = int64(100+n%900), int64(20+n%480), int64(200+n%3000)
	c.FirstTokenUS, c.DurationUS, c.OverheadUS = int64(300_000+n%70_000), int64(900_000+n%170_000), int64(90+n%160)
	c.Session, c.AgentID, c.ParentAgentID, c.Project, c.Account, c.CacheMiss, c.Detail = "", "", "", "", "", 0, "" // as most calls
	c.CacheWriteHourTokens, c.Searches, c.Requests, c.Images, c.Seconds, c.Characters = 0, 0, 0, 0, 0, 0
	return c
}

// processorTime is what the process has used so far, of all processors.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
