//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgateway/models"
)

// store measures calls with a few keys and with many, on a store of many keys.
func store(ctx context.Context, s *system, to *section) error {
	const replicas = 2
	rate := s.rates[0] // more would take all of a small machine where each call asks the database
	few, err := s.firstKeys(ctx)
	if err != nil {
		return err
	}
	t := to.add(fmt.Sprintf("%d replicas, %d calls a second:", replicas, rate),
		"keys in use", "gateway µs/call", "PostgreSQL µs/call", "Redis µs/call", "transactions/call", "Redis commands/call",
		"p50 ms", "p99 ms")
	measure := func(what string, keys []string) error {
		f, err := s.measure(ctx, load{keys: keys, rate: rate, callers: callers, window: s.window})
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		t.row(what, f.perCall(f.used.gateway), f.perCall(f.used.postgres), f.perCall(f.used.redis),
			float64(f.used.transactions)/float64(f.calls), float64(f.used.commands)/float64(f.calls), f.quantile(0.5), f.quantile(0.99))
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
	if err := measure(fmt.Sprintf("%d of %s in the store", len(few), thousands(int64(s.keys+len(few)))), few); err != nil {
		return err
	}
	if err := measure(fmt.Sprintf("%s, each one rarely", thousands(int64(len(all.plain)))), all.plain); err != nil {
		return err
	}
	cached := all.plain[:len(all.plain)/10]
	if err := s.touch(ctx, cached); err != nil {
		return err
	}
	if err := measure(fmt.Sprintf("%s, cached", thousands(int64(len(cached)))), cached); err != nil {
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
	if err := measure(fmt.Sprintf("%s, cached, each with a budget", thousands(int64(len(all.budgeted)))), all.budgeted); err != nil {
		return err
	}
	if err := s.run(ctx, replicas, "RATE_LIMIT_RPM=0"); err != nil {
		return err
	}
	if err := measure(fmt.Sprintf("%d, without a limit of requests", len(few)), few); err != nil {
		return err
	}
	s.stopReplicas()
	if err := s.lists(ctx, to); err != nil {
		return err
	}
	return s.groups(ctx, to, all.ids)
}

// touch makes a call with each key on each replica.
func (s *system) touch(ctx context.Context, keys []string) error {
	work := make(chan string)
	failed := make(chan error, callers)
	for range callers {
		go func() { // until work is closed; failed has room for the result of each
			var fault error
			for key := range work {
				for _, p := range s.replicas {
					if status, said, err := s.call(ctx, p, key); err != nil || status != http.StatusOK {
						fault = errors.Join(fmt.Errorf("the first call with a key was answered with %d: %.200s", status, said), err)
					}
				}
			}
			failed <- fault
		}()
	}
	for _, key := range keys {
		work <- key
	}
	close(work)
	var all error
	for range callers {
		all = errors.Join(all, <-failed)
	}
	return all
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
		for sleep(ctx, changesEvery) == nil {
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

// lists measures the pages of the console that list users, keys and teams.
func (s *system) lists(ctx context.Context, to *section) error {
	database, err := models.Open(s.postgres.URL)
	if err != nil {
		return err
	}
	defer func() { _ = database.Close() }()
	const perPage = 50
	page := models.Page{Limit: perPage}
	t := to.add(fmt.Sprintf(
		"Pages of %d of the lists for administrators, of %s users, %s teams and %s keys; the shortest of five queries:", perPage,
		thousands(int64(s.users)), thousands(int64(s.teams)), thousands(int64(s.keys))), "list", "ms")
	for _, list := range []struct {
		name string
		read func() error
	}{
		{"users", func() error { _, err := database.Users(ctx, models.UserFilter{}, page); return err }},
		{"users by a part of the address", func() error {
			_, err := database.Users(ctx, models.UserFilter{Containing: "r77@exa"}, page)
			return err
		}},
		{"keys", func() error { _, err := database.AllKeys(ctx, models.KeyFilter{}, page); return err }},
		{"keys by the beginning of the name", func() error {
			_, err := database.AllKeys(ctx, models.KeyFilter{Prefix: "key 99"}, page)
			return err
		}},
		{"teams", func() error { _, err := database.Teams(ctx, page); return err }},
	} {
		took, err := shortest(5, list.read)
		if err != nil {
			return fmt.Errorf("list of %s: %w", list.name, err)
		}
		t.row(list.name, milliseconds(took))
	}
	return nil
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

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
