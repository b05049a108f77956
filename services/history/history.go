// Package history keeps what the last calls of each caller and model have cost, from which
// follows what the next one is expected to cost. It is in memory: each process has its own,
// and begins anew.
package history

import (
	"math"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	enough  = 50    // calls, from which more calls are estimated
	most    = 128   // calls that are kept of a caller and a model
	callers = 4_096 // and models, of which calls are kept
	percent = 99
)

// Call is what one call has cost.
type Call struct {
	Output int64 // tokens, reasoning included
	Input  int64 // micro-dollars, of the prompt and of searches
	Fresh  int64 // micro-dollars that the prompt was estimated to cost if nothing of it is read from a cache or written to one
}

// History is safe for concurrent use. Its zero value is empty.
type History struct {
	mu    sync.Mutex
	calls *lru.Cache[of, *calls]
}

// of is a model and who calls it; all callers together have no name.
type of struct{ caller, model string }

// calls are the last ones.
type calls struct {
	last [most]Call
	n    int // that there have been
}

// Add records a call that has ended well.
func (h *History) Add(caller, model string, c Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(of{caller, model}, c)
	h.add(of{model: model}, c)
}

func (h *History) add(to of, c Call) {
	if h.calls == nil {
		h.calls, _ = lru.New[of, *calls](callers) // fails only for a size of 0 or less
	}
	kept, ok := h.calls.Get(to)
	if !ok {
		kept = &calls{}
		h.calls.Add(to, kept)
	}
	kept.last[kept.n%most] = c
	kept.n++
}

// Output is the 99th percentile of the output tokens of a caller's last calls of a model; of
// those of all callers while this one has made few, and otherwise where there are few of these.
func (h *History) Output(caller, model string, otherwise int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range []of{{caller, model}, {model: model}} {
		if last := h.enough(key); last != nil {
			return highest(last)
		}
	}
	return otherwise
}

// Share is what a caller's last prompts for a model have cost, as a part of what they were estimated
// to cost without a cache: less than 1 where caches were read, more where they were written, or
// where providers added to the prompts. ok is false while the caller has made few calls, or if they
// were free.
func (h *History) Share(caller, model string) (share float64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var input, fresh int64
	for _, c := range h.enough(of{caller, model}) {
		input += c.Input
		fresh += c.Fresh
	}
	if fresh <= 0 {
		return 0, false
	}
	return float64(input) / float64(fresh), true
}

// enough returns the last calls, in any order; nil while there are few.
func (h *History) enough(key of) []Call {
	if h.calls == nil {
		return nil
	}
	kept, ok := h.calls.Get(key)
	if !ok || kept.n < enough {
		return nil
	}
	return kept.last[:min(kept.n, most)]
}

// highest is the 99th percentile of outputs.
func highest(last []Call) int64 {
	var outputs [most]int64
	for i := range last {
		outputs[i] = last[i].Output
	}
	sorted := outputs[:len(last)]
	slices.Sort(sorted)
	rank := int(math.Ceil(float64(len(sorted)*percent) / 100))
	return sorted[rank-1]
}
