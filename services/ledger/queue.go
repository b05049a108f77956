package ledger

import (
	"slices"
	"sync"

	"modelgateway/models"
)

// queue holds rows in batches, so that it grows without copying and the
// writer takes what is already together.
type queue struct {
	room int

	mu      sync.Mutex
	full    [][]models.Call // the oldest first
	last    []models.Call   // that is being filled
	spare   []models.Call   // the memory of one that was written: more than one is never filled at a time
	rows    int             // those that are being written included
	dropped int64
	closed  bool
}

// add says whether a batch has become full with this row.
func (q *queue) add(call *models.Call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.rows >= q.room || q.closed {
		q.dropped++
		return false
	}
	q.rows++
	q.last = append(q.last, *call)
	if len(q.last) < ledgerBatch {
		return false
	}
	q.full = append(q.full, q.begin())
	return true
}

// begin begins another batch and returns the last. The queue is locked.
func (q *queue) begin() (last []models.Call) {
	last, q.last, q.spare = q.last, q.spare, nil
	return last
}

// take is the oldest batch, which may be one that is only begun if that is
// wanted; empty when nothing waits. It stays in the count of rows until done.
func (q *queue) take(begun bool) []models.Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.full) > 0 {
		oldest := q.full[0]
		q.full = slices.Delete(q.full, 0, 1)
		return oldest
	}
	if len(q.last) == 0 || !begun {
		return nil
	}
	return q.begin()
}

func (q *queue) done(rows int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rows -= rows
}

// reuse takes the memory of a batch that was taken.
func (q *queue) reuse(batch []models.Call) {
	clear(batch)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = batch[:0]
}

func (q *queue) stands() (rows int, dropped int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rows, q.dropped
}

// close refuses rows from now on and says how many were not written.
func (q *queue) close() (left int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return q.rows
}
