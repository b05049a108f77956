package tokens

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	correctedModels = 1_000
	newest          = 16 // a count changes the correction by a sixteenth of the difference
	leastCorrection = 0.25
	mostCorrection  = 4
)

// Corrections are how many tokens the prompts of each model have had, by their provider's counts, for
// each one that was estimated. The zero value knows of none. It is safe for concurrent use.
type Corrections struct {
	mu sync.Mutex
	of *lru.Cache[string, float64]
}

// Observe takes the count of a prompt for which estimated was the estimate.
func (c *Corrections) Observe(model string, estimated, counted int64) {
	if estimated <= 0 || counted <= 0 {
		return
	}
	ratio := min(max(float64(counted)/float64(estimated), leastCorrection), mostCorrection)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of, _ = lru.New[string, float64](correctedModels) // fails only for a size of 0 or less
	}
	if before, ok := c.of.Get(model); ok {
		ratio = before + (ratio-before)/newest
	}
	c.of.Add(model, ratio)
}

// Correct corrects an estimate; known is false where no count of the model is known.
func (c *Corrections) Correct(model string, estimated int64) (n int64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		return estimated, false
	}
	ratio, known := c.of.Get(model)
	if !known {
		return estimated, false
	}
	return int64(float64(estimated) * ratio), true
}
