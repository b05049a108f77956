package ledger

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"modelgateway/models"
)

const (
	refusalsEvery  = time.Second          // between the first refusal and its transaction, and between two tries
	refusalsKept   = 30 * 24 * time.Hour  // rows
	refusalsSummed = 400 * 24 * time.Hour // counts: for a year of usage
	mostRefusals   = 2000                 // rows that wait, some 2 MB
	mostCounted    = 10_000               // keys with a reason and a quarter of an hour that wait, some 2 MB
)

// Refusals counts the calls that the gateway refuses by key and reason, and keeps some rows of them. They wait
// in bounded memory until Run writes them: a refusal never waits for the database.
type Refusals struct {
	store *models.Store
	log   *slog.Logger
	now   func() time.Time
	first chan struct{} // something waits

	mu      sync.Mutex
	minute  int64          // of the last refusal
	rows    map[string]int // of each key in this minute
	waiting refusalBatch
	lost    int64 // refusals that are not counted, since the last log line
}

// refusalBatch is what one transaction writes. Keys of counts have no number.
type refusalBatch struct {
	rows   []models.Refusal // the oldest first
	counts map[models.RefusalCount]int64
}

// NewRefusals makes a Refusals. It writes while Run runs.
func NewRefusals(store *models.Store, log *slog.Logger, now func() time.Time) *Refusals {
	return &Refusals{
		store: store, log: log, now: now, first: make(chan struct{}, 1), waiting: refusalBatch{counts: map[models.RefusalCount]int64{}},
	}
}

// Add counts a refusal, which has no id yet, and keeps its row unless its key has enough of this minute.
func (w *Refusals) Add(r models.Refusal) {
	of := models.RefusalCount{
		Begins: time.UnixMicro(r.At).Truncate(quarter).Unix(), KeyID: r.KeyID, UserID: r.UserID, TeamID: r.TeamID, Reason: r.Reason,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count(of, 1)
	signal(w.first)
	if minute := r.At / time.Minute.Microseconds(); minute != w.minute {
		w.minute, w.rows = minute, map[string]int{}
	}
	if w.rows[r.KeyID] >= models.RefusalsPerMinute || len(w.waiting.rows) >= mostRefusals {
		return
	}
	if r.ID = w.store.NewCallID(time.UnixMicro(r.At)); r.ID == "" {
		return // the database has never been reached
	}
	r.Clean()
	w.rows[r.KeyID]++
	w.waiting.rows = append(w.waiting.rows, r)
}

func (w *Refusals) count(of models.RefusalCount, n int64) {
	if _, known := w.waiting.counts[of]; !known && len(w.waiting.counts) >= mostCounted {
		w.lost += n
		return
	}
	w.waiting.counts[of] += n
}

// Run writes what was added until ctx ends, and once more then. It also deletes what is too old.
func (w *Refusals) Run(ctx context.Context) {
	var sweeping sync.WaitGroup
	sweeping.Go(func() { w.deleteOld(ctx) })
	defer sweeping.Wait()
	failing := false
	for ctx.Err() == nil {
		select {
		case <-w.first:
		case <-ctx.Done():
		}
		waited(ctx, refusalsEvery)
		working, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerLastWrite)
		err := w.write(working)
		cancel()
		if err != nil && !failing {
			w.log.Warn("refused calls could not be counted in the database: the gateway tries again", "error", err)
		}
		failing = err != nil
	}
}

// write writes what waits. What the database could not take waits again.
func (w *Refusals) write(ctx context.Context) error {
	w.mu.Lock()
	batch, lost := w.waiting, w.lost
	w.waiting, w.lost = refusalBatch{counts: map[models.RefusalCount]int64{}}, 0
	w.mu.Unlock()
	if lost > 0 {
		w.log.Warn("refused calls were not counted: too many of them wait for the database", "calls", lost)
	}
	if len(batch.counts) == 0 {
		return nil
	}
	counts := make([]models.RefusalCount, 0, len(batch.counts))
	for of, n := range batch.counts {
		of.Refused = n
		counts = append(counts, of)
	}
	slices.SortFunc(counts, func(a, b models.RefusalCount) int {
		return cmp.Or(cmp.Compare(a.Begins, b.Begins), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Reason, b.Reason))
	})
	err := w.store.WriteRefusals(ctx, batch.rows, counts)
	if err == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(err, models.ErrRefused) { // it would be refused again
		for _, n := range batch.counts {
			w.lost += n
		}
		return err
	}
	for of, n := range batch.counts {
		w.count(of, n)
	}
	w.waiting.rows = append(batch.rows, w.waiting.rows[:min(len(w.waiting.rows), mostRefusals-len(batch.rows))]...)
	signal(w.first)
	return err
}

// deleteOld deletes rows and counts that are too old, until ctx ends.
func (w *Refusals) deleteOld(ctx context.Context) {
	for wait := ledgerLogEvery; waited(ctx, wait); {
		wait = sweepEvery
		for more := true; more; {
			began, now := time.Now(), w.now()
			n, err := w.store.DeleteRefusals(ctx, now.Add(-refusalsKept), now.Add(-refusalsSummed), sweepBatch)
			more = err == nil && n == sweepBatch && paused(ctx, began)
			if err != nil && ctx.Err() == nil {
				wait = sweepRetry
				w.log.Warn("old rows of refused calls could not be deleted: the gateway tries again in a minute", "error", err)
			}
		}
	}
}
