package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"modelgateway/models/api"
)

// hashQueue limits the hashing of passwords, which is expensive: a few callers
// hash at once, some more wait in their order, and the rest is refused at once.
type hashQueue struct {
	places  *semaphore.Weighted // held by callers that wait or hash
	workers *semaphore.Weighted // held by callers that hash
}

var errQueueFull = errors.New("the queue for hashing passwords is full")

// queueDuration is about how long a full queue takes.
const queueDuration = 2 * time.Second

func newHashQueue(places, workers int64) *hashQueue {
	return &hashQueue{places: semaphore.NewWeighted(places), workers: semaphore.NewWeighted(workers)}
}

// join takes a place in the queue, to be released with leave.
func (q *hashQueue) join() (leave func(), err error) {
	if q.places.TryAcquire(1) {
		return func() { q.places.Release(1) }, nil
	}
	e := api.Unavailable(errQueueFull)
	e.RetryAfter = queueDuration
	e.Message = "too many log in or register at once; try again in " + wholeSeconds(e)
	return nil, e
}

// acquire waits until a caller with a place may hash, which ends with release.
func (q *hashQueue) acquire(ctx context.Context) (release func(), err error) {
	if err := q.workers.Acquire(ctx, 1); err != nil {
		return nil, api.Unavailable(err)
	}
	return func() { q.workers.Release(1) }, nil
}

// wholeSeconds returns the error's Retry-After in words.
func wholeSeconds(e *api.Error) string {
	if n := e.RetryAfterSeconds(); n != 1 {
		return fmt.Sprintf("%d seconds", n)
	}
	return "1 second"
}
