package main

import (
	"context"
	"slices"
	"time"

	"modelgateway/tools/rig"
)

const (
	callsPerSecond = 500
	rateCallers    = 64 // more than are ever needed at once
	rateScenario   = "rate-500"
	directName     = "direct"
)

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

// rateRound measures the direct calls and all targets alternately, slice by slice.
func (b *bench) rateRound(round int) map[string]latency {
	targets := append([]target{{name: directName, addr: b.upstream.Addr}}, b.inTurn(round)...)
	took, bad := map[string][]time.Duration{}, map[string]*rig.Faults{}
	length := min(rateSlice, b.window)
	for slice := time.Duration(0); slice <= b.window && b.ctx.Err() == nil; slice += length {
		for _, t := range targets {
			if bad[t.name] == nil {
				bad[t.name] = new(rig.Faults)
			}
			c := rig.NewCaller(b.client, scenarios()[0].job)
			result, err := rig.Load{
				Callers: rateCallers, Rate: callsPerSecond, Window: length, Faults: bad[t.name], Most: tooMany,
				Call: func(ctx context.Context, _ int64) error { return c.Call(ctx, t.addr, t.key, nil) },
			}.Run(b.ctx)
			if err != nil {
				bad[t.name].Add(err)
			}
			if slice > 0 { // the first is the warm-up
				took[t.name] = append(took[t.name], result.Latencies...)
			}
		}
	}
	found := map[string]latency{}
	for _, t := range targets {
		b.settle(t.name+", "+rateScenario, bad[t.name], nil)
		all := rig.Result{Latencies: slices.Sorted(slices.Values(took[t.name]))}
		found[t.name] = latency{all.Quantile(0.5), all.Quantile(0.99)}
	}
	return found
}

func (b *bench) rateRows(got map[string]*latencies) {
	base := got[floorName]
	for _, t := range b.targets[1:] {
		own := got[t.name]
		p50 := row{scenario: rateScenario, unit: "added p50 ms", target: t.name, floor: base.added, value: own.added}
		p99 := row{scenario: rateScenario, unit: "p99 ms", target: t.name, floor: base.p99, value: own.p99}
		p50.ratio, p99.ratio = ratios(own.added, base.added), ratios(own.p99, base.p99)
		if t.name == gatewayName {
			p50.atMost(1.5)
			p99.judge(median(own.p99) >= 0 && median(own.p99) <= slices.Max(base.p99), "≤ floor's worst round")
		}
		b.rows = append(b.rows, p50, p99)
	}
}
