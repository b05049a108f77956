package main

import (
	"context"
	"fmt"
	"slices"

	"modelgateway/tools/rig"
)

// calls measures what a call costs in each component, by replicas and calls a second.
func calls(ctx context.Context, s *system, to *rig.Section) error {
	keys, err := s.firstKeys(ctx)
	if err != nil {
		return err
	}
	costs := to.Table("", "replicas", "calls/s", "gateway µs/call", "PostgreSQL µs/call", "Redis µs/call", "p50 ms", "p99 ms",
		"processors idle")
	others := 0.0
	for _, replicas := range s.options.replicas {
		if err := s.run(ctx, replicas); err != nil {
			return err
		}
		for _, rate := range append(slices.Clone(s.rates), asManyAsCanBe) {
			f, err := s.measure(ctx, keys, rate, s.window)
			if err != nil {
				return fmt.Errorf("%d replicas, %d calls a second: %w", replicas, rate, err)
			}
			costs.Row(replicas, f.Rate(), f.perCall(f.used.gateway), f.perCall(f.used.postgres), f.perCall(f.used.redis),
				f.Quantile(0.5), f.Quantile(0.99), percent(f.share(f.used.idle)))
			others = max(others, f.share(f.used.others()))
		}
	}
	to.Say("The last row of each number of replicas is of %d calls at once, as many as can be. Other processes took %s at most.", callers,
		percent(others))
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
