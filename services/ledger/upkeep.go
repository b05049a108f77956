package ledger

import (
	"context"
	"time"

	"modelgateway/models"
)

const (
	upkeepFirst = time.Second
	upkeepEvery = time.Minute
	fillBatch   = 5000 // rows of a former release that one transaction sums, some 3 MB
	spendBatch  = 1000 // rows of what sessions have spent that one transaction deletes
	moveBatch   = 250  // rows of the former release that one transaction moves

	sessionSpendKept = 30 * 24 * time.Hour // after the last call of a session
)

// keepSums merges what the ledger adds to the sums of minutes and quarter hours, sums and moves the
// rows of former releases, and deletes old sums, until ctx ends.
func (l *Writer) keepSums(ctx context.Context) {
	failing := false
	for wait := l.upkeepFirst; waited(ctx, wait); {
		wait = l.upkeepEvery
		err := l.runTasks(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			l.opts.Log.Warn("the sums of usage could not be merged: the gateway tries again in a minute", "error", err)
		}
		failing = err != nil
	}
}

// runTasks does each of the tasks once. It pauses between transactions to spare the database. Several
// replicas may try at once: the database lets one of them.
func (l *Writer) runTasks(ctx context.Context) error {
	now := l.opts.Now()
	if err := l.opts.Store.UseCallIDs(ctx, now); err != nil {
		return err
	}
	for _, task := range []func() (more bool, err error){
		func() (bool, error) { return l.opts.Store.FillUsage(ctx, now, fillBatch) },
		func() (bool, error) { return l.opts.Store.MergeUsage(ctx, now) },
		func() (bool, error) { return l.opts.Store.MoveCalls(ctx, now, moveBatch) },
		func() (bool, error) {
			n, err := l.opts.Store.DeleteSessionSpend(ctx, now.Add(-sessionSpendKept), spendBatch)
			return n == spendBatch, err
		},
		func() (bool, error) {
			return false, l.opts.Store.DeleteUsageBefore(ctx, now.Add(-models.UsageQuartersKept))
		},
	} {
		for more := true; more; {
			began := time.Now()
			var err error
			if more, err = task(); err != nil {
				return err
			}
			if more && !paused(ctx, began) {
				return ctx.Err()
			}
		}
	}
	return nil
}
