//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// budgets spends a budget with many calls at once on all replicas, until none of them
// accepts a call, and compares what was spent with the budget.
func budgets(ctx context.Context, s *system, to *section) error {
	t := to.add("", "replicas", "budget $", "calls answered", "calls refused", "spent $", "left unspent $", "overdrawn",
		"ledger = provider", "s until all refuse")
	cents, counts := int64(100), s.options.replicas
	if s.quick {
		cents, counts = 5, counts[len(counts)-1:]
	}
	for _, replicas := range counts {
		if err := s.run(ctx, replicas); err != nil {
			return err
		}
		if err := s.spend(ctx, cents*10_000, t); err != nil {
			return fmt.Errorf("%d replicas: %w", replicas, err)
		}
	}
	to.say("A call costs $%.6f and reserves up to $%.6f while it runs, so less than that remains where nothing else is held.",
		dollars(callCost), dollars(bound()))
	return nil
}

func dollars(micro int64) float64 { return float64(micro) / 1e6 }

// bound is the most that a call can cost, for which the gateway has to assume that each byte
// of the request is a token, and some more.
func bound() int64 { return int64(len(request)+272)*inputPrice + mostOutput*outputPrice }

// spend spends a budget of so many micro-dollars.
func (s *system) spend(ctx context.Context, budget int64, t *table) error {
	a, err := s.register(ctx)
	if err != nil {
		return err
	}
	k, err := a.key(ctx, map[string]any{"budget_usd": dollars(budget), "budget_window": "total"})
	if err != nil {
		return err
	}
	before, err := s.providerCalls()
	if err != nil {
		return err
	}
	answered, refused, took, err := s.exhaust(ctx, k.Key)
	if err != nil {
		return err
	}
	after, err := s.providerCalls()
	if err != nil {
		return err
	}
	want := (after - before) * callCost
	spent, err := s.awaitSpent(ctx, k.ID, want)
	if err != nil {
		return err
	}
	t.row(len(s.replicas), fmt.Sprintf("%.2f", dollars(budget)), thousands(answered), thousands(refused),
		fmt.Sprintf("%.6f", dollars(spent)), fmt.Sprintf("%.6f", dollars(budget-spent)),
		yesOrNo(spent > budget), yesOrNo(spent == want && answered*callCost == spent), took.Seconds())
	if spent > budget || spent != want {
		return fmt.Errorf("of %d micro-dollars %d were spent, and the provider charged %d", budget, spent, want)
	}
	return nil
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// exhaust makes calls on all replicas until all of them have refused every call for longer
// than a replica may keep money that it does not need: it returns that with its heartbeat.
func (s *system) exhaust(ctx context.Context, key string) (answered, refused int64, took time.Duration, err error) {
	heartbeats := 11 * time.Second // two, and a second
	if s.quick {
		heartbeats = 2 * time.Second
	}
	var fine, not atomic.Int64
	var last atomic.Int64 // when a call was answered, in nanoseconds
	began := time.Now()
	last.Store(int64(time.Since(began)))
	faults := make(chan error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for n := i; time.Since(began)-time.Duration(last.Load()) < heartbeats; n++ {
				status, said, err := s.call(ctx, s.replicas[n%len(s.replicas)], key)
				switch {
				case err == nil && status == http.StatusOK:
					fine.Add(1)
					last.Store(int64(time.Since(began)))
				case err == nil && (status == http.StatusPaymentRequired || status == http.StatusTooManyRequests):
					not.Add(1)
					time.Sleep(100 * time.Millisecond) // the refusals are not what is measured
				default:
					faults <- errors.Join(fmt.Errorf("a call with a budget was answered with %d: %.300s", status, said), err)
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err = <-faults:
	default:
	}
	return fine.Load(), not.Load(), time.Duration(last.Load()), err
}

// providerCalls is how many calls the provider has answered.
func (s *system) providerCalls() (int64, error) {
	resp, err := http.Get("http://" + s.upstream.addr + "/calls")
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(text), 10, 64)
}

// awaitSpent waits until the ledger has what a key has spent, and returns that, right or not.
func (s *system) awaitSpent(ctx context.Context, key string, want int64) (spent int64, err error) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		err := s.admin.QueryRow(ctx, "SELECT COALESCE(SUM(cost), 0)::bigint FROM spend WHERE account = $1", "key:"+key).Scan(&spent)
		if err != nil || spent == want {
			return spent, err
		}
	}
	return spent, nil
}
