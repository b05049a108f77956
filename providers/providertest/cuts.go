package providertest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"modelgateway/tests/longtest"
)

const (
	// everywhere is the size of a body up to which it is cut at every byte, as
	// far as the budget goes.
	everywhere = 8 << 10
	// call is what one call costs beside its body, in bytes.
	call = 8 << 10
)

// work bounds the cost of one provider's recordings, in bytes sent: four
// seconds under the race detector on two free cores, or a dozen where the long
// tests run.
func work() int { return longtest.Size(24, 192) << 20 }

// budget is how often each stream may be cut, so that all of them cost no more
// than limit, in bytes played: what a small one leaves over goes to the larger ones. With
// CUTS=all in the environment only the size of a body is a bound.
func budget(all []Recording, limit int) int {
	if os.Getenv("CUTS") == "all" {
		return 2 * everywhere
	}
	var sizes []int
	for _, r := range all {
		if r.Stream {
			sizes = append(sizes, len(r.Body))
		}
	}
	cost := func(cuts int) int {
		sum := 0
		for _, size := range sizes {
			sum += min(cuts, 2*size) * (call + size) // in pieces and short
		}
		return sum
	}
	cuts := 2 * everywhere
	for cuts > longtest.Size(48, 128) && cost(cuts) > limit {
		cuts -= cuts / 16
	}
	return cuts
}

// offsets are at most about n places where a body is cut: every byte when it
// is small, else around each event's boundaries and evenly between.
func offsets(body []byte, n int) []int {
	step := 1
	if len(body) > everywhere || len(body) > n {
		step = 1 + len(body)/n
	}
	var at []int
	for i := 1; i < len(body); i += step {
		at = append(at, i)
	}
	if step > 1 {
		at = append(at, boundaries(body, n)...)
		slices.Sort(at)
		at = slices.Compact(at)
	}
	return at
}

// boundaries are the offsets within two bytes of where an event ends; of every
// other event, third and so on, when there are too many.
func boundaries(body []byte, most int) []int {
	events := Events(body)
	step := 1 + len(events)*5/most
	var at []int
	end := 0
	for i, event := range events {
		end += len(event)
		if i%step != 0 {
			continue
		}
		for o := max(end-2, 1); o <= min(end+2, len(body)-1); o++ {
			at = append(at, o)
		}
	}
	return at
}

// pieces sends a stream byte by byte, and in two pieces with the cut at every
// place.
func pieces(p player, rec Recording, whole Outcome, most int) (int, error) {
	if err := same(whole, p.stream(p.script.Bytewise())); err != nil {
		return 1, fmt.Errorf("byte by byte: %w", err)
	}
	cuts := 1
	for _, at := range offsets(rec.Body, most/2) {
		s := p.script.Split(at)
		s.apart = true
		cuts++
		if err := same(whole, p.stream(s)); err != nil {
			return cuts, fmt.Errorf("in two pieces, %d and %d bytes: %w", at, len(rec.Body)-at, err)
		}
	}
	return cuts, nil
}

// truncations sends streams that break off at every place, mostly with a FIN,
// which is harder to notice.
func truncations(p player, rec Recording, whole Outcome, most int) (int, error) {
	cuts := 0
	for _, at := range append(offsets(rec.Body, most/2), 0) {
		end := Proper
		if at%16 == 5 {
			end = Reset
		}
		cuts++
		if err := honest(whole, p.stream(p.script.Cut(at, end))); err != nil {
			return cuts, fmt.Errorf("cut short at byte %d of %d: %w", at, len(rec.Body), err)
		}
	}
	return cuts, nil
}

// honest returns what is wrong with the outcome of a truncated stream. It must
// be an error with no more than a part of the whole, or the whole, of which only
// the usage may be missing: OpenAI's comes after the end of every choice.
func honest(whole, got Outcome) error {
	if got.Failure == nil {
		if got.Usage == nil {
			whole.Usage = nil
		}
		if err := same(whole, got); err != nil {
			return fmt.Errorf("it looks like a complete answer: %w", err)
		}
		return nil
	}
	var c comparison
	if c.failure(0, got.Failure); len(got.Breaches)+len(c.faults) > 0 {
		return errors.Join(append(got.Breaches, c.faults...)...)
	}
	all := append([]Choice{got.Choice}, got.Others...)
	for _, c := range all {
		if err := c.within(whole.at(c.Index)); err != nil {
			return err
		}
	}
	return nil
}

// at is the choice of an index, empty where there is none.
func (o Outcome) at(index int) Choice {
	for _, c := range append([]Choice{o.Choice}, o.Others...) {
		if c.Index == index {
			return c
		}
	}
	return Choice{Index: index}
}

// within returns what the choice has that the whole one has not.
func (c Choice) within(whole Choice) error {
	for _, part := range [][2]string{{c.Text, whole.Text}, {c.Reasoning, whole.Reasoning}, {c.Refusal, whole.Refusal}} {
		if !strings.HasPrefix(part[1], part[0]) {
			return fmt.Errorf("it says %.80q, which the whole does not begin with", part[0])
		}
	}
	if len(c.ToolCalls) > len(whole.ToolCalls) {
		return fmt.Errorf("it has %d tool calls, the whole %d", len(c.ToolCalls), len(whole.ToolCalls))
	}
	for i, call := range c.ToolCalls {
		if all := whole.ToolCalls[i]; call.Name != all.Name || !strings.HasPrefix(all.Arguments, call.Arguments) {
			return fmt.Errorf("it calls %s(%s), the whole %s(%s)", call.Name, call.Arguments, all.Name, all.Arguments)
		}
	}
	return nil
}
