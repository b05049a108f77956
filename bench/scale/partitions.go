//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"modelgateway/models"
)

// partitions copies the ledger into a table that is divided by month, and compares both. The
// ids of calls begin with their time, so that a range of ids is a range of time, and the
// primary key stays what it is.
func (b *books) partitions(ctx context.Context, to *section) error {
	plain, err := b.compare(ctx, b.deleteMonth)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := b.divide(ctx); err != nil {
		return err
	}
	copied := time.Since(began)
	divided, err := b.compare(ctx, b.dropMonth)
	if err != nil {
		return err
	}
	t := to.add("", "", "one table", "a partition for each month")
	for i := range plain {
		t.row(plain[i][0], plain[i][1], divided[i][1])
	}
	to.say("The rows were copied from the one to the other in %s.", copied.Round(time.Second))
	return b.execute(ctx, "DROP TABLE calls", "ALTER TABLE calls_whole RENAME TO calls")
}

func (b *books) execute(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := b.conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.80s: %w", statement, err)
		}
	}
	return nil
}

// divide makes calls a table with partitions, and calls_whole the former one.
func (b *books) divide(ctx context.Context) error {
	err := b.execute(ctx, "ALTER TABLE calls RENAME TO calls_whole",
		"CREATE TABLE calls (LIKE calls_whole INCLUDING DEFAULTS) PARTITION BY RANGE (id)")
	if err != nil {
		return err
	}
	month := firstOfMonth(b.years.end.Add(-historyTime))
	for i := 0; !month.After(b.years.end.AddDate(0, 1, 0)); i++ {
		next := month.AddDate(0, 1, 0)
		err := b.execute(ctx, fmt.Sprintf("CREATE TABLE calls_%d PARTITION OF calls FOR VALUES FROM ('%s') TO ('%s')", i,
			models.CallID(month, ""), models.CallID(next, "")))
		if err != nil {
			return err
		}
		month = next
	}
	return b.execute(ctx, "INSERT INTO calls SELECT * FROM calls_whole ORDER BY id", "ALTER TABLE calls ADD PRIMARY KEY (id)",
		"CREATE INDEX calls_parts_user ON calls (user_id, began_at) WHERE user_id <> ''",
		"CREATE INDEX calls_parts_team ON calls (team_id, began_at) WHERE team_id <> ''", "VACUUM (ANALYZE) calls")
}

func firstOfMonth(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// compare measures what the ledger is used for. remove removes its oldest month.
func (b *books) compare(ctx context.Context, remove func(context.Context) (time.Duration, error)) (rows [][2]string, err error) {
	rows, err = b.pages(ctx)
	if err != nil {
		return nil, err
	}
	own, server, rate, err := b.insertMore(ctx)
	if err != nil {
		return nil, err
	}
	rows = append(rows, [2]string{"rows/s inserted", figure(rate)}, [2]string{"µs of a row: the gateway's side", figure(own)},
		[2]string{"µs of a row: PostgreSQL", figure(server)})
	before, err := b.size(ctx)
	if err != nil {
		return nil, err
	}
	took, err := remove(ctx)
	if err != nil {
		return nil, err
	}
	after, err := b.size(ctx)
	if err != nil {
		return nil, err
	}
	return append(rows, [2]string{"s to remove a month", figure(took.Seconds())},
		[2]string{"MB that the disk gets back", figure(float64(before-after) / 1e6)}), nil
}

// insertMore writes calls of now, batch after batch.
func (b *books) insertMore(ctx context.Context) (own, server, rate float64, err error) {
	batches := max(1, b.rows/100/batchRows)
	all := make([][]models.Call, batches)
	for i := range all {
		for range batchRows {
			all[i] = append(all[i], b.years.call(b.years.end))
		}
	}
	ownBefore, serverBefore, err := b.spent()
	if err != nil {
		return 0, 0, 0, err
	}
	began := time.Now()
	for _, batch := range all {
		if err := b.store.WriteCalls(ctx, "scale", batch); err != nil {
			return 0, 0, 0, err
		}
	}
	took := time.Since(began)
	ownAfter, serverAfter, err := b.spent()
	if err != nil {
		return 0, 0, 0, err
	}
	n := float64(batches * batchRows)
	own, server = float64((ownAfter-ownBefore).Microseconds())/n, float64((serverAfter-serverBefore).Microseconds())/n
	return own, server, n / took.Seconds(), nil
}

// oldMonth is the end of the second month of the history: retention has deleted the first.
func (b *books) oldMonth() time.Time {
	return firstOfMonth(b.years.end.Add(-historyTime)).AddDate(0, 2, 0)
}

// deleteMonth deletes the oldest month row by row, as the gateway does, and vacuums, as
// PostgreSQL does by itself.
func (b *books) deleteMonth(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if _, _, err := b.sweep(ctx, b.oldMonth()); err != nil {
		return 0, err
	}
	err := b.execute(ctx, "VACUUM calls")
	return time.Since(began), err
}

// dropMonth drops the partitions of the months that are left of the oldest ones.
func (b *books) dropMonth(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	// The next month after the one that deleteMonth has deleted: it has all its rows.
	err := b.execute(ctx, "DROP TABLE calls_2")
	return time.Since(began), err
}
