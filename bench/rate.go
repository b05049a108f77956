package main

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	callsPerSecond = 500
	rateScenario   = "rate-500"
	directName     = "direct"
)

// openLoop begins perSecond calls a second, evenly, without waiting for the
// earlier ones. A call's latency counts from the moment at which it was due: a
// target that delays the generator is charged for all delayed calls, and all
// targets alike for the generator's own delay. Failed calls are in bad and have
// no latency.
func openLoop(ctx context.Context, c *caller, perSecond int, length time.Duration, bad *faults) []time.Duration {
	interval := time.Second / time.Duration(perSecond)
	checkers := sync.Pool{New: func() any { return newChecker(readBuffer) }}
	var mu sync.Mutex
	var all []time.Duration
	var calls sync.WaitGroup
	start := time.Now()
	for due := time.Duration(0); due < length && ctx.Err() == nil; due += interval {
		pause(time.Until(start.Add(due)))
		calls.Go(func() {
			check := checkers.Get().(*checker)
			defer checkers.Put(check)
			one, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			err := c.call(one, check, nil)
			took := time.Since(start.Add(due))
			if err != nil {
				bad.add(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took)
		})
	}
	calls.Wait()
	return all
}

// percentile is the smallest value that at least the share p of the values do
// not exceed. There must be at least one value.
func percentile(sorted []time.Duration, p float64) time.Duration {
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// latency is two percentiles in milliseconds; below zero: not known.
type latency struct{ p50, p99 float64 }

// rateSlice is how long one target is measured before the next: a longer
// disturbance of the machine affects all targets.
const rateSlice = 500 * time.Millisecond

// latencies are one figure for each round. The median is what a target adds to
// the direct calls; the 99th percentile is not a difference, as it is mostly
// the machine's.
type latencies struct{ added, p99 []float64 }

// rates measures latency at a constant rate, and adds its rows.
func (b *bench) rates() error {
	if !b.wants(rateScenario) {
		return nil
	}
	got := map[string]*latencies{}
	for _, t := range b.targets {
		got[t.name] = new(latencies)
	}
	for round := range b.rounds {
		found := b.rateRound(round)
		if err := b.ctx.Err(); err != nil {
			return err
		}
		direct := found[directName]
		b.say("round %d  %-24s %-8s p50 %.3f ms, p99 %.3f ms", round+1, rateScenario, directName, direct.p50, direct.p99)
		for _, t := range b.targets {
			l := found[t.name]
			b.say("round %d  %-24s %-8s p50 %.3f ms, p99 %.3f ms", round+1, rateScenario, t.name, l.p50, l.p99)
			got[t.name].added = append(got[t.name].added, over(l.p50, direct.p50))
			got[t.name].p99 = append(got[t.name].p99, l.p99)
		}
		b.newRound()
	}
	b.rateRows(got)
	return nil
}

// over is what is added to the direct calls; below zero: not known.
func over(own, direct float64) float64 {
	if own < 0 || direct < 0 {
		return -1
	}
	return max(0, own-direct)
}

// rateRound measures the direct calls and all targets alternately, slice by
// slice.
func (b *bench) rateRound(round int) map[string]latency {
	targets := append([]target{{name: directName, base: "http://" + b.upstream.addr}}, b.inTurn(round)...)
	took := map[string][]time.Duration{}
	bad := map[string]*faults{}
	length := min(rateSlice, b.window)
	for slice := time.Duration(0); slice <= b.window && b.ctx.Err() == nil; slice += length {
		for _, t := range targets {
			if bad[t.name] == nil {
				bad[t.name] = new(faults)
			}
			c := newCaller(b.client, t, scenarios()[0].job)
			these := openLoop(b.ctx, c, callsPerSecond, length, bad[t.name])
			if slice > 0 { // the first is the warm-up
				took[t.name] = append(took[t.name], these...)
			}
		}
	}
	found := map[string]latency{}
	for _, t := range targets {
		b.settle(t.name+", "+rateScenario, bad[t.name], nil)
		slices.Sort(took[t.name])
		found[t.name] = latency{-1, -1}
		if all := took[t.name]; len(all) > 0 {
			found[t.name] = latency{milliseconds(percentile(all, 0.5)), milliseconds(percentile(all, 0.99))}
		}
	}
	return found
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (b *bench) rateRows(got map[string]*latencies) {
	base := got[floorName]
	for _, t := range b.judged() {
		own := got[t.name]
		p50 := row{
			Scenario: rateScenario,
			Unit:     "added p50 ms",
			Target:   t.name,
			Floor:    base.added,
			Value:    own.added,
			Ratio:    ratios(own.added, base.added),
		}
		p99 := row{
			Scenario: rateScenario,
			Unit:     "p99 ms",
			Target:   t.name,
			Floor:    base.p99,
			Value:    own.p99,
			Ratio:    ratios(own.p99, base.p99),
		}
		if t.hasGoals() {
			p50.atMost(1.5)
			p99.judge(median(own.p99) >= 0 && median(own.p99) <= slices.Max(base.p99), "≤ floor's worst round")
		}
		b.add(p50)
		b.add(p99)
	}
}
