package login

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"modelgateway/internal/panics"
	"modelgateway/providers"
)

const (
	early  = 5 * time.Minute  // before its end a value is renewed
	margin = 10 * time.Second // before its end a value is used no more: a call takes time to arrive
	pause  = time.Second      // after a failed renewal
)

// renewing keeps a credential that ends. It is renewed by the calls that use it, of which none
// waits while the old one is valid, and by one request however many wait.
type renewing[T any] struct {
	// fetch returns a new value, and when it ends; a zero time is never.
	fetch    func(context.Context) (T, time.Time, error)
	settings string // to look at where none comes in time

	mu      sync.Mutex
	valid   *renewal[T] // the last that succeeded, until end
	end     time.Time
	last    *renewal[T] // in progress, or the last one
	running bool
	due     time.Time // for the next renewal
}

// renewal is in progress until done is closed.
type renewal[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// get returns a valid value, and waits for it only where there is none.
func (r *renewing[T]) get(ctx context.Context) (T, error) {
	from := r.current(ctx)
	select {
	case <-from.done:
		return from.value, from.err
	case <-ctx.Done():
		var none T
		return none, &providers.LogInError{Settings: r.settings, Cause: fmt.Errorf("no credential came in time: %w", context.Cause(ctx))}
	}
}

// current is the renewal that gives the value. It starts one where it is due.
func (r *renewing[T]) current(ctx context.Context) *renewal[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if !r.running && !now.Before(r.due) {
		r.running, r.last = true, &renewal[T]{done: make(chan struct{})}
		go r.renew(ctx, r.last)
	}
	if now.Before(r.end) {
		return r.valid
	}
	return r.last
}

// renew does not end with the call that started it, for which others wait as well.
func (r *renewing[T]) renew(ctx context.Context, n *renewal[T]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTime)
	defer cancel()
	var end time.Time
	n.value, end, n.err = r.fetched(ctx)

	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.running = false; n.err != nil {
		r.due = now.Add(pause)
	} else {
		r.valid = n
		r.end, r.due = lifetime(now, end)
	}
	close(n.done)
}

// fetched is fetch, of which a panic is an error.
func (r *renewing[T]) fetched(ctx context.Context) (value T, end time.Time, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errors.New("the log-in failed: " + panics.Text(v))
		}
	}()
	return r.fetch(ctx)
}

// lifetime is until when a value is used, and when it is renewed: of a short one after half its
// time, as a metadata server may return the same value until shortly before its end.
func lifetime(now, end time.Time) (until, due time.Time) {
	if end.IsZero() {
		end = now.AddDate(100, 0, 0)
	}
	// Without the monotonic clock, which stands still while a machine sleeps.
	now, end = now.Round(0), end.Round(0)
	left := max(end.Sub(now)-margin, pause) // one that is over already is sent once: its cloud says so
	wait := left - (early - margin)
	return now.Add(left), now.Add(max(wait, left/2))
}
