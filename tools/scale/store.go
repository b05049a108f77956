package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"modelgateway/tools/rig"
)

// store measures calls with a few keys and with many, on a store of many keys.
func store(ctx context.Context, s *system, to *rig.Section) error {
	const replicas = 2
	rate := s.rates[0] // more would take all of a small machine where each call asks the database
	few, err := s.firstKeys(ctx)
	if err != nil {
		return err
	}
	t := to.Table(fmt.Sprintf("%d replicas, %d calls a second:", replicas, rate),
		"keys in use", "gateway µs/call", "PostgreSQL µs/call", "Redis µs/call", "transactions/call", "Redis commands/call",
		"p50 ms", "p99 ms")
	measure := func(what string, keys []string) error {
		f, err := s.measure(ctx, keys, rate, s.window)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		t.Row(what, f.perCall(f.used.gateway), f.perCall(f.used.postgres), f.perCall(f.used.redis),
			float64(f.used.transactions)/float64(f.Calls), float64(f.used.commands)/float64(f.Calls), f.Quantile(0.5), f.Quantile(0.99))
		return nil
	}
	if err := s.run(ctx, replicas); err != nil {
		return err
	}
	if err := measure(fmt.Sprintf("%d of %d in the store", len(few), len(few)), few); err != nil {
		return err
	}
	all, err := s.seed(ctx)
	if err != nil {
		return err
	}
	if err := measure(fmt.Sprintf("%d of %s in the store", len(few), rig.Thousands(int64(s.keys+len(few)))), few); err != nil {
		return err
	}
	if err := measure(fmt.Sprintf("%s, each one rarely", rig.Thousands(int64(len(all.plain)))), all.plain); err != nil {
		return err
	}
	cached := all.plain[:len(all.plain)/10]
	if err := s.touch(ctx, cached); err != nil {
		return err
	}
	if err := measure(fmt.Sprintf("%s, cached", rig.Thousands(int64(len(cached)))), cached); err != nil {
		return err
	}
	stop := s.keepChanging(ctx, all.ids[len(all.ids)-1])
	err = measure("the same, while another key is changed every second", cached)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	if err := s.touch(ctx, all.budgeted); err != nil {
		return err
	}
	if err := measure(fmt.Sprintf("%s, cached, each with a budget", rig.Thousands(int64(len(all.budgeted)))), all.budgeted); err != nil {
		return err
	}
	if err := s.run(ctx, replicas, "RATE_LIMIT_RPM=0"); err != nil {
		return err
	}
	return measure(fmt.Sprintf("%d, without a limit of requests", len(few)), few)
}

// touch makes a call with each key on each replica.
func (s *system) touch(ctx context.Context, keys []string) error {
	var group errgroup.Group
	group.SetLimit(callers)
	for _, key := range keys {
		group.Go(func() error {
			for _, p := range s.replicas {
				if err := s.call(ctx, p, key); err != nil {
					return fmt.Errorf("the first call with a key: %w", err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// changesEvery is how often keepChanging changes a key.
const changesEvery = time.Second

// keepChanging changes a key again and again, until the function that it returns is called.
func (s *system) keepChanging(ctx context.Context, id string) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		conn, err := pgx.Connect(ctx, s.postgres.URL)
		if err != nil {
			done <- err
			return
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		for rig.Sleep(ctx, changesEvery) == nil {
			// The trigger counts an update of the column, even to the same value.
			if _, err := conn.Exec(ctx, "UPDATE api_keys SET rpm_limit = rpm_limit WHERE id = $1", id); err != nil && ctx.Err() == nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	return func() error {
		cancel()
		return <-done
	}
}

// shortest is the shortest time of several.
func shortest(times int, do func() error) (took time.Duration, err error) {
	took = time.Hour
	for range times {
		began := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		took = min(took, time.Since(began))
	}
	return took, nil
}
