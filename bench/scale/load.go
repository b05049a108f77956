//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load is calls with random keys of these on all replicas in turn.
type load struct {
	keys    []string
	rate    int // calls a second; 0: as many as can be
	callers int // at once
	window  time.Duration
}

// figures are the results of a load in its window.
type figures struct {
	calls     int64
	elapsed   time.Duration
	used      usage
	latencies []time.Duration // sorted
}

// warmUp is before each window: connections are made and keys cached in it.
func (o *options) warmUp() time.Duration {
	if o.quick {
		return 200 * time.Millisecond
	}
	return time.Second
}

// perCall is a part of the processor time in microseconds a call.
func (f figures) perCall(part time.Duration) float64 {
	return float64(part.Microseconds()) / float64(f.calls)
}

func (f figures) rate() float64 { return float64(f.calls) / f.elapsed.Seconds() }

// quantile is that of the latencies, in milliseconds.
func (f figures) quantile(q float64) float64 {
	if len(f.latencies) == 0 {
		return 0
	}
	return float64(f.latencies[int(q*float64(len(f.latencies)-1))].Microseconds()) / 1000
}

// share is a part of the time of all processors.
func (f figures) share(part time.Duration) float64 {
	return part.Seconds() / (f.used.machine + f.used.idle).Seconds()
}

// measure makes a load for its warm-up and its window. One failed call fails it.
func (s *system) measure(ctx context.Context, l load) (f figures, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run := &running{load: l, system: s, began: time.Now()}
	var callers sync.WaitGroup
	ending := make(chan struct{})
	for range l.callers {
		callers.Go(func() {
			if err := run.work(ctx, ending); err != nil {
				cancel(err)
			}
		})
	}
	f, err = run.watch(ctx)
	close(ending)
	callers.Wait()
	f.latencies = run.latencies
	slices.Sort(f.latencies)
	return f, errors.Join(err, context.Cause(ctx))
}

// running is a load that is being made.
type running struct {
	load
	system *system
	began  time.Time
	next   atomic.Int64 // number of the next call
	done   atomic.Int64
	inside atomic.Bool // the window is open

	mu        sync.Mutex
	latencies []time.Duration // of the calls in the window
}

// watch reads what is used at both ends of the window.
func (r *running) watch(ctx context.Context) (f figures, err error) {
	if err := sleep(ctx, r.system.warmUp()); err != nil {
		return f, err
	}
	before, err := r.system.usage(ctx)
	if err != nil {
		return f, err
	}
	calls := r.done.Load()
	r.inside.Store(true)
	const patience = time.Minute // a slow machine may answer nothing in a short window
	for opened := time.Now(); r.done.Load() == calls && time.Since(opened) < max(patience, r.window); {
		if err := sleep(ctx, r.window); err != nil {
			return f, err
		}
	}
	r.inside.Store(false)
	f.calls = r.done.Load() - calls
	after, err := r.system.usage(ctx)
	if err != nil {
		return f, err
	}
	f.used, f.elapsed = after.sub(before), after.at.Sub(before.at)
	if f.calls == 0 {
		return f, errors.New("no call was answered in the window")
	}
	return f, nil
}

// work makes call after call until ending is closed. At a rate each call has its time, and
// a caller that is late does not wait.
func (r *running) work(ctx context.Context, ending <-chan struct{}) error {
	for {
		n := r.next.Add(1) - 1
		due := time.Now()
		if r.rate > 0 {
			due = r.began.Add(time.Duration(float64(n) / float64(r.rate) * float64(time.Second)))
		}
		select {
		case <-ending:
			return nil
		case <-ctx.Done():
			return nil // measure has the cause
		case <-time.After(time.Until(due)):
		}
		at := r.system.replicas[int(n)%len(r.system.replicas)]
		status, said, err := r.system.call(ctx, at, r.keys[rand.IntN(len(r.keys))])
		if err == nil && (status != http.StatusOK || !bytes.Contains(said, []byte(answerText))) {
			err = fmt.Errorf("a call was answered with %d: %.300s", status, said)
		}
		if err != nil {
			return err
		}
		r.done.Add(1)
		if r.inside.Load() {
			r.mu.Lock()
			r.latencies = append(r.latencies, time.Since(due))
			r.mu.Unlock()
		}
	}
}

// call makes one call on a replica. A machine that is busy with something else may keep a
// replica from its database for too long: then the call is repeated, as the answer says, and
// counted.
func (s *system) call(ctx context.Context, at *process, key string) (status int, body []byte, err error) {
	for end := time.Now().Add(10 * time.Second); ; {
		status, body, err = s.callOnce(ctx, at, key)
		if err != nil || status != http.StatusServiceUnavailable || time.Now().After(end) {
			return status, body, err
		}
		s.repeated.Add(1)
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return status, body, err
		}
	}
}

func (s *system) callOnce(ctx context.Context, at *process, key string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at.addr+"/v1/chat/completions", strings.NewReader(request))
	if err != nil {
		return 0, nil, err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key}}
	resp, err := s.transport.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
