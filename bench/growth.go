package main

import (
	"fmt"
	"slices"
)

const (
	growthRounds = 3 // at most: there is much to measure
	flatWithin   = 1.15
	linearWithin = 1.5
)

// promptSizes are in KiB. A KiB of the largest should cost as much as one of
// the third.
var promptSizes = []int{1, 32, 256, 1 << 10, 8 << 10}

// growth measures what the cost of a request should not depend on.
func (b *bench) growth() error {
	if b.wants("growth-prompt") {
		if err := b.prompts(); err != nil {
			return err
		}
	}
	keys, models, streams := 5000, 2000, 1000
	if b.quick {
		keys = 500
	}
	if name := fmt.Sprintf("growth-%d-keys", keys); b.wants(name) {
		if err := b.against(name, keys, 0, 0); err != nil {
			return err
		}
	}
	if name := fmt.Sprintf("growth-%d-models", models); b.wants(name) {
		if err := b.against(name, 1, models, 0); err != nil {
			return err
		}
	}
	if name := fmt.Sprintf("growth-%d-streams", streams); b.wants(name) {
		return b.against(name, 1, 0, streams)
	}
	return nil
}

// prompts measures requests of growing size.
func (b *bench) prompts() error {
	cost := map[string][]float64{} // µs for each KiB, by size and target, in rounds
	of := func(size int, name string) string { return fmt.Sprint(size, " ", name) }
	for round := range min(b.rounds, growthRounds) {
		for _, size := range promptSizes {
			s := scenario{job: job{model: openAIModel, prompt: prompt(size << 10)}}
			conns := loopConns
			if size >= 1<<10 {
				conns = 4 // the load should fill the processors, not the memory
			}
			for _, t := range b.inTurn(round) {
				if t.name != floorName && t.name != gatewayName {
					continue
				}
				each := s.perUnit(b.load(t, s.job, conns)) / float64(size)
				b.say("round %d  growth-prompt-%-10s %-8s %8.2f CPU µs/KiB", round+1, fmt.Sprint(size, "KiB"), t.name, each)
				cost[of(size, t.name)] = append(cost[of(size, t.name)], each)
			}
		}
		b.newRound()
	}
	for _, size := range promptSizes {
		r := row{Scenario: fmt.Sprint("growth-prompt-", size, "KiB"), Unit: "CPU µs/KiB", Target: gatewayName}
		r.Floor, r.Value = cost[of(size, floorName)], cost[of(size, gatewayName)]
		r.Ratio = ratios(r.Value, r.Floor)
		b.add(r)
	}
	large, small := promptSizes[len(promptSizes)-1], promptSizes[2]
	r := row{Scenario: "growth-prompt-linear", Unit: fmt.Sprintf("cost of a KiB, %d / %d KiB", large, small), Target: gatewayName}
	r.Floor = ratios(cost[of(large, floorName)], cost[of(small, floorName)])
	r.Value = ratios(cost[of(large, gatewayName)], cost[of(small, gatewayName)])
	r.judge(median(r.Value) <= linearWithin && len(r.Value) > 0, fmt.Sprintf("≤ %.3g", linearWithin))
	b.add(r)
	return b.ctx.Err()
}

// against measures a plain gateway and one that has more of something,
// alternately, both fresh.
func (b *bench) against(name string, keys, models, streams int) error {
	plain, one, err := b.newGateway(1, 0)
	if err != nil {
		return err
	}
	defer plain.stop()
	full, many, err := b.newGateway(keys, models)
	if err != nil {
		return err
	}
	defer full.stop()
	var bad faults
	if streams > 0 {
		held, err := b.hold(full.target(many), streams, &bad)
		defer func() {
			if err := held.release(); err != nil {
				bad.add(err)
			}
			b.settle(name, &bad, nil)
		}()
		if err != nil {
			return err
		}
	}
	return b.flat(name, []target{plain.target(one), full.target(many)})
}

// flat measures two targets alternately: the second should cost as much as the
// first.
func (b *bench) flat(name string, pair []target) error {
	s := scenarios()[0]
	costs := map[string][]float64{}
	for round := range min(b.rounds, growthRounds) {
		order := slices.Clone(pair)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, t := range order {
			costs[t.base] = append(costs[t.base], s.perUnit(b.load(t, s.job, s.conns)))
		}
	}
	few, more := costs[pair[0].base], costs[pair[1].base]
	r := row{Scenario: name, Unit: "CPU µs/request, ratio to none", Target: gatewayName, Value: more, Ratio: ratios(more, few)}
	b.say("%-33s %.1f µs/request, without %.1f", name, median(more), median(few))
	r.atMost(flatWithin)
	b.add(r)
	return b.ctx.Err()
}
