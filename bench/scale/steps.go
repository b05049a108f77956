//go:build unix

package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"modelgateway/models"
	"modelgateway/services/auth"
	"modelgateway/services/inflight"
)

// steps measures the steps of a call that take a lock of all callers, alone: how many of them
// a second one goroutine makes, and as many as may run at once.
func (s *system) steps(ctx context.Context, to *section, key string) error {
	database, err := models.Open(s.postgres.URL)
	if err != nil {
		return err
	}
	defer func() { _ = database.Close() }()
	revisions := auth.NewRevisions(database, time.Now)
	keys := auth.NewKeys(auth.KeyOptions{Store: database, Now: time.Now, Revisions: revisions, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(ctx)
	var polls sync.WaitGroup
	polls.Go(func() { revisions.Run(ctx) })
	defer polls.Wait()
	defer cancel()
	slots := inflight.New(1000, 1000, 1<<30)
	t := to.add("The steps of a call with a lock that all callers share, alone and without pause. A replica makes one of each for a call:",
		"step", "one at a time, 1/s", "64 at once, 1/s")
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"look up a cached key", func() error { _, err := keys.Authenticate(ctx, key); return err }},
		{"take and free a slot of the calls in flight", func() error {
			slot, err := slots.Acquire(auth.Caller{})
			if err == nil {
				slot.Release()
			}
			return err
		}},
	} {
		one, err := repeat(1, s.window/4, step.do)
		many, errMany := repeat(callers, s.window/4, step.do)
		if err := errors.Join(err, errMany); err != nil {
			return err
		}
		t.row(step.name, one, many)
	}
	return nil
}

// repeat does something in so many goroutines for a time, and returns how often a second.
func repeat(goroutines int, window time.Duration, do func() error) (float64, error) {
	var all sync.WaitGroup
	var done atomic.Int64
	faults := make(chan error, goroutines)
	began := time.Now()
	for range goroutines {
		all.Go(func() {
			for n := int64(0); ; n++ {
				if n%64 == 0 && time.Since(began) > window {
					done.Add(n)
					return
				}
				if err := do(); err != nil {
					faults <- err
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	select {
	case err := <-faults:
		return 0, err
	default:
		return float64(done.Load()) / took.Seconds(), nil
	}
}
