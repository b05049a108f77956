package ledger

import (
	"slices"
	"sync"

	"modelgateway/models"
)

// queue is a bounded queue of rows. It keeps them in batches, so that it grows
// without copying and the writer takes whole batches.
type queue struct {
	capacity int // in rows

	mu      sync.Mutex
	full    [][]models.Call // the oldest first
	partial []models.Call   // the batch that is being filled
	spare   []models.Call   // the memory of a batch that was written: only one batch is filled at a time
	rows    int             // with those that are being written
	dropped int64
	closed  bool
}

// add reports whether this row has filled a batch, and whether it is the first of one.
func (q *queue) add(call *models.Call) (full, first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.rows >= q.capacity || q.closed {
		q.dropped++
		return false, false
	}
	q.rows++
	q.partial = append(q.partial, *call)
	first = len(q.partial) == 1
	if len(q.partial) < ledgerBatch {
		return false, first
	}
	q.full = append(q.full, q.rotate())
	return true, first
}

// rotate begins another batch and returns the former one. The queue is locked.
func (q *queue) rotate() (former []models.Call) {
	former, q.partial, q.spare = q.partial, q.spare, nil
	return former
}

// take removes the oldest full batch; with partial also one that is not full. It
// is empty when there is none. The rows stay in the count until done.
func (q *queue) take(partial bool) []models.Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.full) > 0 {
		oldest := q.full[0]
		q.full = slices.Delete(q.full, 0, 1)
		return oldest
	}
	if len(q.partial) == 0 || !partial {
		return nil
	}
	return q.rotate()
}

func (q *queue) done(rows int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rows -= rows
}

// reuse keeps the memory of a batch that was taken for the next batch.
func (q *queue) reuse(batch []models.Call) {
	clear(batch)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = batch[:0]
}

func (q *queue) counts() (rows int, dropped int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rows, q.dropped
}

// close refuses rows from now on, and returns how many are not written.
func (q *queue) close() (unwritten int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return q.rows
}
