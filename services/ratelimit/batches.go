package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// A job waits for Redis for so many ticks: 40 ms, which stays below the 50 ms
	// that a Redis in trouble may cost. In a process that is short of processors the
	// ticks come late too, and the wait grows with them: otherwise a burst of
	// requests would make its own Redis look dead just when the limit is needed.
	redisTick  = 5 * time.Millisecond
	redisTicks = 8

	// redisTimeout bounds a command of Redis that no job waits for any more. A late
	// answer is still read: a connection that is closed has to be opened again.
	redisTimeout = 500 * time.Millisecond
)

var errRedisLate = errors.New("no answer from Redis in time")

// batcher sends the jobs of accounts to Redis, and decides when Redis counts as
// unavailable. Requests and Quotas each have one.
//
// An account has one batch under way at a time. The jobs that arrive meanwhile
// form the next batch. So a burst of any size costs two round trips, and
// neither Redis nor the pool of connections delays it.
//
// A job waits for Redis for 40 ms. After a failure the circuit is open: each job
// is refused at once, and its caller decides with what this process knows. After
// a pause one job at a time tests whether Redis is back.
type batcher[J any] struct {
	limit   string // its name in the log
	circuit *gobreaker.TwoStepCircuitBreaker[any]
	log     *slog.Logger
	prepare func(account string, jobs []J) (send func(context.Context) error, finish func(error))

	recovered atomic.Bool // the circuit has closed again; the owner resets it
	cause     error       // of the last failure; the circuit's lock guards it

	mu     sync.Mutex
	ticks  int // that a job waits
	latest map[string]*batch[J]
}

// batch is the jobs of one account that are sent together.
type batch[J any] struct {
	jobs    []J
	reports []func(error) // one of each job, for the circuit
	sealed  bool          // no further job may join

	done chan struct{} // closed when err is set and the batch is finished
	err  error
}

// newBatcher makes a batcher which leaves Redis alone for the pause after each
// failure. When a batch is sent, prepare makes its two steps: send runs in a
// goroutine of its own, which may end after the batch has failed; finish applies
// the answer or learns why there is none, before the account's next batch is
// prepared.
func newBatcher[J any](limit string, pause time.Duration, log *slog.Logger,
	prepare func(account string, jobs []J) (send func(context.Context) error, finish func(error)),
) *batcher[J] {
	b := &batcher[J]{limit: limit, log: log, prepare: prepare, ticks: redisTicks, latest: map[string]*batch[J]{}}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Name:        limit,
		Timeout:     pause,
		ReadyToTrip: func(gobreaker.Counts) bool { return true }, // the first failure opens the circuit
		// gobreaker does not pass the error to OnStateChange, which it calls next and under the same lock.
		IsSuccessful:  func(err error) bool { b.cause = err; return err == nil },
		OnStateChange: func(_ string, from, to gobreaker.State) { b.changed(from, to) },
	})
	return b
}

// changed runs under the circuit's lock.
func (b *batcher[J]) changed(from, to gobreaker.State) {
	switch {
	case from == gobreaker.StateClosed:
		// The text only: a fault of ulule/limiter prints a stack.
		b.log.Warn("Redis failed: each replica counts this limit by itself", "limit", b.limit, "error", b.cause.Error())
	case to == gobreaker.StateClosed:
		b.recovered.Store(true)
		b.log.Info("Redis works again: the replicas share this limit", "limit", b.limit)
	}
}

// shared reports whether the last answer of Redis came in time.
func (b *batcher[J]) shared() bool { return b.circuit.State() == gobreaker.StateClosed }

// do sends a job and waits until the answer is applied. It returns false when
// Redis is unavailable. The job may have reached Redis all the same.
func (b *batcher[J]) do(ctx context.Context, account string, job J) bool {
	report, err := b.circuit.Allow()
	if err != nil {
		return false
	}
	b.mu.Lock()
	previous := b.latest[account]
	if previous != nil && !previous.sealed {
		current := previous
		current.jobs = append(current.jobs, job)
		current.reports = append(current.reports, report)
		b.mu.Unlock()
		<-current.done // its first job came before this one, and waits no longer than this one may
		return current.err == nil
	}
	current := &batch[J]{jobs: []J{job}, reports: []func(error){report}, done: make(chan struct{})}
	b.latest[account] = current
	ticks := b.ticks
	b.mu.Unlock()

	err = wait(&ticks, previous)
	b.seal(current)
	finish := func(error) {}
	if err == nil {
		var send func(context.Context) error
		send, finish = b.prepare(account, current.jobs)
		err = within(ctx, &ticks, send)
	}
	for _, report := range current.reports {
		report(err)
	}
	finish(err)
	b.end(account, current, err)
	return err == nil
}

// wait waits for the account's previous batch, if there is one.
func wait[J any](ticks *int, previous *batch[J]) error {
	switch {
	case previous == nil:
		return nil
	case !closesWithin(ticks, previous.done):
		return errRedisLate
	}
	return previous.err
}

func (b *batcher[J]) seal(current *batch[J]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	current.sealed = true
}

// end wakes the jobs of a batch.
func (b *batcher[J]) end(account string, current *batch[J], err error) {
	b.mu.Lock()
	if b.latest[account] == current {
		delete(b.latest, account)
	}
	b.mu.Unlock()
	current.err = err
	close(current.done)
}

// sendAlone sends a command that belongs to no account, with the bounds of a job.
func (b *batcher[J]) sendAlone(ctx context.Context, send func(context.Context) error) error {
	report, err := b.circuit.Allow()
	if err != nil {
		return err
	}
	b.mu.Lock()
	ticks := b.ticks
	b.mu.Unlock()
	err = within(ctx, &ticks, send)
	report(err)
	return err
}

// within runs send in a goroutine and waits for it until the ticks are used up.
func within(ctx context.Context, ticks *int, send func(context.Context) error) error {
	// The client may leave, while the other jobs of the batch still wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTimeout)
	var err error
	answered := make(chan struct{})
	go func() { // ends with its context
		defer cancel()
		defer close(answered)
		err = send(ctx)
	}()
	if !closesWithin(ticks, answered) {
		return errRedisLate
	}
	return err
}

// closesWithin reports whether done is closed before the ticks are used up.
func closesWithin(ticks *int, done <-chan struct{}) bool {
	for ; *ticks > 0; *ticks-- {
		select {
		case <-done:
			return true
		case <-time.After(redisTick):
			// A goroutine that a timer wakes runs before those that the network has woken.
			// It queues up behind them (runtime.Gosched of Go 1.26), so that it sees an answer that has come.
			runtime.Gosched()
		}
	}
	return false
}
