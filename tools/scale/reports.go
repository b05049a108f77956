package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"modelgateway/models"
	"modelgateway/services/ledger"
	"modelgateway/tools/rig"
)

// tries is of how many queries the shortest time is taken: others may use the machine.
const tries = 3

// reports asks for the usage as the console does, each with the period before it.
func (b *books) reports(ctx context.Context) (rows [][2]string, err error) {
	now := b.years.end
	u := ledger.NewUsage(b.store, func() time.Time { return now })
	for _, ask := range []struct {
		name, step, zone string
		from             time.Time
	}{
		{"usage of an hour by minute", "1m", "UTC", now.Add(-time.Hour)},
		{"usage of 24 hours by 30 minutes", "30m", "UTC", now.Add(-24 * time.Hour)},
		{"usage of 7 days by 2 hours", "2h", "Europe/Berlin", now.AddDate(0, 0, -7)},
		{"usage of 30 days by day", "1d", "Europe/Berlin", now.AddDate(0, 0, -30)},
		{"usage of a year by week", "7d", "UTC", now.AddDate(-1, 0, 0)},
	} {
		took, err := shortest(tries, func() error {
			report, err := u.All(ctx, ledger.UsageRequest{
				From: ask.from.Format(time.RFC3339), Step: ask.step, TimeZone: ask.zone, GroupBy: "key", Previous: "true",
			})
			if err != nil {
				return err
			}
			_, err = json.Marshal(report.Show())
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ask.name, err)
		}
		rows = append(rows, [2]string{"ms: " + ask.name, rig.Figure(rig.Milliseconds(took))})
	}
	return rows, nil
}

// pages asks for pages of calls as the console does.
func (b *books) pages(ctx context.Context) (rows [][2]string, err error) {
	const perPage = 50
	for _, ask := range []struct {
		name string
		of   models.CallFilter
	}{
		{"first page of calls", models.CallFilter{}},
		{"calls of a user", models.CallFilter{UserID: historyID("usr", 7)}},
		{"calls of a team", models.CallFilter{TeamID: historyID("team", 7)}},
		{"calls of a user half a year ago", models.CallFilter{
			UserID: historyID("usr", 7), To: b.years.end.Add(-historyTime / 2).UnixMicro(),
		}},
		{"failed calls", models.CallFilter{Failed: true}},
		{"a filter that matches nothing", models.CallFilter{Provider: "none"}},
	} {
		took, err := shortest(tries, func() error {
			_, err := b.store.Calls(ctx, ask.of, models.Page{Limit: perPage})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ask.name, err)
		}
		rows = append(rows, [2]string{"ms: " + ask.name, rig.Figure(rig.Milliseconds(took))})
	}
	return rows, nil
}

const (
	sweepRows = 1000 // that the gateway deletes in one transaction
	sweepRest = 4    // how many times as long it pauses afterwards
)

// retention deletes the oldest twelfth, as the gateway does but without its pauses.
func (b *books) retention(ctx context.Context) (rows [][2]string, err error) {
	before := b.years.end.Add(-historyTime + historyTime/12)
	deleted, took, err := b.sweep(ctx, before)
	if err != nil {
		return nil, fmt.Errorf("retention: %w", err)
	}
	rate := float64(deleted) / took.Seconds()
	return [][2]string{
		{"rows that retention deleted", rig.Thousands(deleted)},
		{"rows/s deleted without pauses", rig.Figure(rate)},
		{"rows/s deleted by one replica with its pauses", rig.Figure(rate / (1 + sweepRest))},
	}, nil
}

// sweep deletes the calls before a time, for a fifteenth of the longest time at most.
func (b *books) sweep(ctx context.Context, before time.Time) (deleted int64, took time.Duration, err error) {
	began := time.Now()
	for time.Since(began) < b.longest/15 {
		n, err := b.store.DeleteCallsBefore(ctx, before, sweepRows)
		if err != nil {
			return deleted, time.Since(began), err
		}
		deleted += n
		if n < sweepRows {
			break
		}
	}
	return deleted, time.Since(began), nil
}
