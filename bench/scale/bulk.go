//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgateway/models"
)

// bulk fills the ledger of PostgreSQL with the rows of years before, by COPY, until it has
// the size that the flags allow, and measures it again.
func (b *books) bulk(ctx context.Context, to *section) error {
	rows, size, err := b.counted(ctx)
	if err != nil {
		return err
	}
	perRow := float64(size) / float64(rows)
	wanted := min(int64(float64(b.bulkBytes-size)/perRow), 10*int64(b.rows)-rows)
	if wanted <= 0 {
		to.say("Nothing was loaded: the ledger has the size already.")
		return nil
	}
	indexes, err := b.dropIndexes(ctx)
	if err != nil {
		return err
	}
	copied, took, err := b.fill(ctx, wanted)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := b.execute(ctx, indexes...); err != nil {
		return err
	}
	indexed := time.Since(began)
	if err := b.execute(ctx, "VACUUM (ANALYZE) calls"); err != nil {
		return err
	}
	if size, err = b.size(ctx); err != nil {
		return err
	}
	t := to.add("", "", "PostgreSQL")
	t.row("rows", thousands(rows+copied))
	t.row("GB of calls with indexes", float64(size)/1e9)
	t.row("rows/s loaded by COPY, with the primary key alone", thousands(int64(float64(copied)/took.Seconds())))
	t.row("s to make the other indexes", indexed.Seconds())
	reports, err := b.reports(ctx)
	if err != nil {
		return err
	}
	table, err := b.compare(ctx, b.sweepOldest)
	if err != nil {
		return err
	}
	for _, row := range append(reports, table[:len(table)-2]...) { // the last two are of a whole month
		t.row(row[0], row[1])
	}
	t.row("rows/s deleted without pauses", b.swept)
	return nil
}

// dropIndexes drops the indexes of calls but for the primary key, and returns the statements
// that make them again: a load takes half as long without them, and they become smaller.
func (b *books) dropIndexes(ctx context.Context) (again []string, err error) {
	rows, err := b.conn.Query(ctx, "SELECT 'DROP INDEX ' || indexname, indexdef FROM pg_indexes "+
		"WHERE tablename = 'calls' AND indexname <> 'calls_pkey'")
	if err != nil {
		return nil, err
	}
	var drop []string
	var one, other string
	if _, err = pgx.ForEachRow(rows, []any{&one, &other}, func() error {
		drop, again = append(drop, one), append(again, other)
		return nil
	}); err != nil {
		return nil, err
	}
	if len(again) == 0 {
		return nil, errors.New("calls has no index but its primary key")
	}
	return again, b.execute(ctx, drop...)
}

func (b *books) counted(ctx context.Context) (rows, size int64, err error) {
	if err := b.conn.QueryRow(ctx, "SELECT count(*) FROM calls").Scan(&rows); err != nil {
		return 0, 0, err
	}
	size, err = b.size(ctx)
	return max(1, rows), size, err
}

// callColumns are the columns of calls that have no default, or that queries read.
func callColumns() []string {
	return []string{
		"id", "request_id", "user_id", "key_id", "team_id", "model", "served", "provider", "stream", "attempts", "status", "outcome",
		"error_code", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "estimated", "priced",
		"cost", "began_at", "first_token_us", "duration_us", "overhead_us", "opened_us", "upstream_request_id", "dialect", "user_agent",
		"upstream_key", "summed",
	}
}

func callValues(c *models.Call) []any {
	return []any{
		c.ID, c.RequestID, c.UserID, c.KeyID, c.TeamID, c.Model, c.Served, c.Provider, c.Stream, c.Attempts, c.Status, c.Outcome,
		c.ErrorCode, c.InputTokens, c.CachedTokens, c.CacheWriteTokens, c.OutputTokens, c.ReasoningTokens, c.Estimated, c.Priced,
		c.Cost, c.BeganAt, c.FirstTokenUS, c.DurationUS, c.OverheadUS, c.OpenedUS, c.UpstreamRequestID, c.Dialect, c.UserAgent,
		c.UpstreamKey, true,
	}
}

// fill loads as many calls before those of the history, as close to each other as these.
func (b *books) fill(ctx context.Context, wanted int64) (copied int64, took time.Duration, err error) {
	const atOnce = 500_000 // rows in a transaction
	apart := historyTime / time.Duration(b.rows)
	at := b.years.end.Add(-historyTime - apart*time.Duration(wanted))
	began := time.Now()
	for copied < wanted && time.Since(began) < b.longest {
		n := min(atOnce, wanted-copied)
		left := n
		some, err := b.conn.CopyFrom(ctx, pgx.Identifier{"calls"}, callColumns(), pgx.CopyFromFunc(func() ([]any, error) {
			if left--; left < 0 {
				return nil, nil
			}
			at = at.Add(apart)
			c := b.years.call(at)
			return callValues(&c), nil
		}))
		if err != nil {
			return copied, 0, fmt.Errorf("COPY after %d rows: %w", copied, err)
		}
		copied += some
	}
	return copied, time.Since(began), nil
}

// sweepOldest deletes the oldest rows for a while.
func (b *books) sweepOldest(ctx context.Context) (time.Duration, error) {
	deleted, took, err := b.sweep(ctx, b.years.end)
	b.swept = float64(deleted) / max(took.Seconds(), 1e-9)
	return took, err
}
