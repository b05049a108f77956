//go:build unix

package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// components of a call whose processor time is measured.
const (
	gateway  = "gateway"
	postgres = "PostgreSQL"
	cache    = "Redis"
)

func components() []string { return []string{gateway, postgres, cache} }

// of is the processor time of a component.
func (u usage) of(component string) time.Duration {
	switch component {
	case gateway:
		return u.gateway
	case postgres:
		return u.postgres
	}
	return u.redis
}

// calls measures what a call costs in each component, by replicas and calls a second, and
// fits the model to it.
func calls(ctx context.Context, s *system, to *section) error {
	keys, err := s.firstKeys(ctx)
	if err != nil {
		return err
	}
	costs := to.add("", "replicas", "calls/s", "gateway µs/call", "PostgreSQL µs/call", "Redis µs/call", "p50 ms", "p99 ms",
		"processors idle", "other processes")
	points := map[string][]point{}
	for _, replicas := range s.options.replicas {
		if err := s.run(ctx, replicas); err != nil {
			return err
		}
		for _, rate := range append(slices.Clone(s.rates), asManyAsCanBe) {
			f, err := s.measure(ctx, load{keys: keys, rate: rate, callers: callers, window: s.window})
			if err != nil {
				return fmt.Errorf("%d replicas, %d calls a second: %w", replicas, rate, err)
			}
			costs.row(replicas, f.rate(), f.perCall(f.used.gateway), f.perCall(f.used.postgres), f.perCall(f.used.redis),
				f.quantile(0.5), f.quantile(0.99), percent(f.share(f.used.idle)), percent(f.share(f.used.others())))
			for _, c := range components() {
				points[c] = append(points[c],
					point{float64(replicas), f.rate(), f.share(f.used.idle), 1000 * f.used.of(c).Seconds() / f.elapsed.Seconds()})
			}
		}
	}
	to.say("The last row of each number of replicas is of %d calls at once, as many as can be.", callers)
	return extrapolate(to, points)
}

const (
	callers       = 64 // calls of a load that may run at once
	asManyAsCanBe = 0  // calls a second
)

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// extrapolate adds the model, and what it says of more calls than this machine can make.
func extrapolate(to *section, points map[string][]point) error {
	models := map[string]model{}
	fitted := to.add("The model fitted to these rows: processor time a second = *a* × replicas + (*b* + *c* × idle) × calls a second, "+
		"where *idle* is the share of the processors that have nothing to do. A call costs more on an idle machine: each wait ends with the wake-up of a processor.",
		"component", "*a*: ms a second for a replica", "*b*: µs for a call", "*c*: µs for a call",
		"median difference of a row", "largest")
	for _, c := range components() {
		m, err := fit(points[c])
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		models[c] = m
		fitted.row(c, m.perReplica, m.perCall, m.perWake, percent(m.typical), percent(m.off))
	}
	says := to.add("What the model says, in processors that are busy all the time, of machines that are half idle:",
		"calls/s", "replicas", "gateways together", postgres, "Redis (one thread does nearly all)")
	for _, row := range []struct{ rate, replicas float64 }{{1000, 2}, {10_000, 4}, {10_000, 8}, {50_000, 16}} {
		cells := []any{thousands(int64(row.rate)), fmt.Sprint(row.replicas)}
		for _, c := range components() {
			cells = append(cells, models[c].at(row.replicas, row.rate, 0.5)/1000)
		}
		says.row(cells...)
	}
	return nil
}
