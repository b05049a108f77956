//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// revocation measures how long each replica still accepts a key after its owner has asked
// one of them to revoke it.
func revocation(ctx context.Context, s *system, to *section) error {
	t := to.add("", "replicas", "Redis", "keys revoked", "min ms", "median ms", "max ms")
	for _, with := range []struct {
		name     string
		settings []string
	}{{"yes", nil}, {"no", []string{"REDIS_URL="}}} {
		if err := s.run(ctx, s.most(), with.settings...); err != nil {
			return err
		}
		delays, err := s.revokeAll(ctx)
		if err != nil {
			return err
		}
		slices.Sort(delays)
		t.row(s.most(), with.name, s.revocations,
			milliseconds(delays[0]), milliseconds(delays[len(delays)/2]), milliseconds(delays[len(delays)-1]))
	}
	return nil
}

// revokeAll revokes keys one after the other, and returns the delays of all replicas.
func (s *system) revokeAll(ctx context.Context) (delays []time.Duration, err error) {
	a, err := s.register(ctx)
	if err != nil {
		return nil, err
	}
	for range s.revocations {
		k, err := a.key(ctx, nil)
		if err != nil {
			return nil, err
		}
		one, err := s.revoke(ctx, a, k)
		if err != nil {
			return nil, err
		}
		delays = append(delays, one...)
	}
	return delays, nil
}

// revoke revokes a key that all replicas have cached. Each is called until it refuses it.
func (s *system) revoke(ctx context.Context, a *account, k issued) ([]time.Duration, error) {
	if err := s.touch(ctx, []string{k.Key}); err != nil {
		return nil, err
	}
	refused := make([]time.Time, len(s.replicas)) // when the first call that was refused began
	faults := make([]error, len(s.replicas))
	var all sync.WaitGroup
	began := time.Now()
	for i, p := range s.replicas {
		all.Go(func() {
			for ; ; time.Sleep(time.Millisecond) {
				at := time.Now()
				status, said, err := s.call(ctx, p, k.Key)
				switch {
				case err != nil:
					faults[i] = err
					return
				case status == http.StatusUnauthorized:
					refused[i] = at
					return
				case status != http.StatusOK || time.Since(began) > time.Minute:
					faults[i] = fmt.Errorf("a revoked key: %d %.200s", status, said)
					return
				}
			}
		})
	}
	err := a.revoke(ctx, k.ID)
	all.Wait()
	delays := make([]time.Duration, 0, len(refused))
	for i := range refused {
		if faults[i] != nil {
			return nil, faults[i]
		}
		delays = append(delays, max(0, refused[i].Sub(began)))
	}
	return delays, err
}
