//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/ledger"
)

// groupDays is of how many days every key of the loaded store has a call.
const groupDays = 7

// groups measures the sums of usage where every key of the loaded store makes calls on every
// day: each key has a sum of its own.
func (s *system) groups(ctx context.Context, to *section, ids []string) error {
	// Longer than a gateway waits by default, so that a step that takes too long is measured.
	database, err := models.Open(s.postgres.URL + "&statement_timeout=120000")
	if err != nil {
		return err
	}
	defer func() { _ = database.Close() }()
	now := time.Now().UTC()
	written, err := writeGroups(ctx, database, ids, now)
	if err != nil {
		return err
	}
	merged, err := mergeAll(ctx, database, now)
	if err != nil {
		return err
	}
	var sums, days int64
	err = s.admin.QueryRow(ctx, "SELECT pg_total_relation_size('usage_sums'), pg_total_relation_size('usage_days')").Scan(&sums, &days)
	if err != nil {
		return err
	}
	t := to.add(
		fmt.Sprintf("The sums of usage, where each of %s keys has a call on each of %d days:", thousands(int64(len(ids))), groupDays), "", "")
	t.row("rows/s inserted", figure(written))
	t.row("s of the longest transaction that merges sums", merged.Seconds())
	t.row("bytes of usage_sums for a key and day", float64(sums)/float64(len(ids)*groupDays))
	t.row("bytes of usage_days for a key and day", float64(days)/float64(len(ids)*groupDays))
	u := ledger.NewUsage(database, func() time.Time { return now })
	for _, group := range []string{"model", "user", "key"} {
		took, err := reportTime(ctx, u, ledger.UsageRequest{
			From: now.AddDate(0, 0, -groupDays).Format(time.RFC3339), Step: "2h", TimeZone: "Europe/Berlin",
			GroupBy: group, Previous: "true",
		})
		name := fmt.Sprintf("ms: usage of %d days by 2 hours and %s", groupDays, group)
		if err != nil && api.AsError(err).Code == api.CodeInvalidValue {
			t.row(name, "refused: "+api.AsError(err).Message)
			continue
		}
		if err != nil {
			return fmt.Errorf("usage by %s: %w", group, err)
		}
		t.row(name, milliseconds(took))
	}
	return nil
}

// writeGroups writes a call of every key on every day, and returns how many rows a second.
func writeGroups(ctx context.Context, database *models.Store, ids []string, now time.Time) (float64, error) {
	rows, began := 0, time.Now()
	for day := groupDays; day > 0; day-- {
		for from := 0; from < len(ids); from += batchRows {
			batch := make([]models.Call, 0, batchRows)
			for i := from; i < min(len(ids), from+batchRows); i++ {
				at := now.AddDate(0, 0, -day).Add(24 * time.Hour * time.Duration(i) / time.Duration(len(ids)))
				batch = append(batch, models.Call{
					ID: models.CallID(at, fmt.Sprintf("s%d", i)), KeyID: ids[i], UserID: fmt.Sprintf("usr_SCALE%021d", i%1000),
					Model: modelName, Served: modelName, Provider: "openai", Outcome: models.OutcomeOK, Status: 200, Attempts: 1, Priced: true,
					InputTokens: inputTokens, OutputTokens: outputTokens, Cost: callCost,
					BeganAt: at.UnixMicro(), DurationUS: 900_000, FirstTokenUS: 300_000,
				})
			}
			if err := database.WriteCalls(ctx, "scale", batch); err != nil {
				return 0, fmt.Errorf("calls of all keys: %w", err)
			}
			rows += len(batch)
		}
	}
	return float64(rows) / time.Since(began).Seconds(), nil
}

// mergeAll merges the sums as the gateway does, and returns how long the longest step took.
func mergeAll(ctx context.Context, database *models.Store, now time.Time) (longest time.Duration, err error) {
	for more := true; more; {
		began := time.Now()
		if more, err = database.MergeUsage(ctx, now); err != nil {
			return longest, fmt.Errorf("merge usage: %w", err)
		}
		longest = max(longest, time.Since(began))
	}
	return longest, nil
}
