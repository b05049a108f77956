package account

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"modelgateway/api"
	"modelgateway/services/auth"
)

// hashQueue limits the hashing of passwords, which is expensive: a few callers
// hash at once, some more wait in their order, and the rest is refused at once. One
// network has a part of the places only, so that it cannot keep out the others.
type hashQueue struct {
	places  *semaphore.Weighted // held by callers that wait or hash
	workers *semaphore.Weighted // held by callers that hash

	mu        sync.Mutex
	share     int64            // places of one network at most
	byNetwork map[string]int64 // places that are held
}

var errQueueFull = errors.New("the queue for hashing passwords is full")

// queueDuration is about how long a full queue takes.
const queueDuration = 2 * time.Second

func newHashQueue(places, workers int64) *hashQueue {
	const part = 4
	return &hashQueue{
		places: semaphore.NewWeighted(places), workers: semaphore.NewWeighted(workers),
		share: max(places/part, 1), byNetwork: map[string]int64{},
	}
}

// join takes a place in the queue for a client at an address, to be released with
// leave.
func (q *hashQueue) join(address string) (leave func(), err error) {
	network := auth.Network(address)
	if !q.enter(network) {
		return nil, tooMany("too many logins and registrations at once from this network", queueDuration)
	}
	if q.places.TryAcquire(1) {
		return func() {
			q.places.Release(1)
			q.exit(network)
		}, nil
	}
	q.exit(network)
	e := api.Unavailable(errQueueFull)
	e.RetryAfter = queueDuration
	e.Message = fmt.Sprintf("too many logins and registrations at once: try again in %ds", e.RetryAfterSeconds())
	return nil, e
}

func (q *hashQueue) enter(network string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byNetwork[network] >= q.share {
		return false
	}
	q.byNetwork[network]++
	return true
}

func (q *hashQueue) exit(network string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byNetwork[network]--; q.byNetwork[network] == 0 {
		delete(q.byNetwork, network)
	}
}

// acquire waits until a caller with a place may hash, which ends with release.
func (q *hashQueue) acquire(ctx context.Context) (release func(), err error) {
	if err := q.workers.Acquire(ctx, 1); err != nil {
		return nil, api.Unavailable(err)
	}
	return func() { q.workers.Release(1) }, nil
}
