package app

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// minGarbage is how many bytes may be allocated between two cycles of the garbage
// collector at least.
const minGarbage = 32 << 20

// The bounds of GOGC, in percent of the live heap.
const maxPercent, defaultPercent = 1600, 100

// gcTuner sets GOGC after each cycle of Go's garbage collector. By default a
// cycle begins when as much has been allocated as is live: for the few megabytes
// of an idle gateway that is every two hundred requests, and a tenth of all
// processor time. A large heap keeps the default.
type gcTuner struct {
	stopped atomic.Bool
	percent int
}

// tuneGC starts the tuning and returns the function that ends it. It does nothing
// when the operator has set GOGC. GOMEMLIMIT holds beside it: near that limit the runtime
// collects garbage before the heap has grown by the percentage.
func tuneGC() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	c := &gcTuner{percent: defaultPercent}
	c.await()
	return func() {
		c.stopped.Store(true)
		debug.SetGCPercent(defaultPercent)
	}
}

// sentinel is unreachable at once, so the next cycle collects it.
type sentinel struct{ _ [16]byte }

// await has tune called when the next cycle has ended.
func (c *gcTuner) await() { runtime.AddCleanup(new(sentinel), (*gcTuner).tune, c) }

func (c *gcTuner) tune() {
	if c.stopped.Load() {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	metrics.Read(live)
	if p := percentFor(live[0].Value.Uint64() + live[1].Value.Uint64()); p != c.percent {
		c.percent = p
		debug.SetGCPercent(p)
	}
	c.await()
}

// percentFor is the GOGC for a live heap of so many bytes. It changes in steps of
// 100, because setting it stops the world.
func percentFor(live uint64) int {
	const step = 100
	p := int(minGarbage * 100 / max(live, 1) / step * step)
	return min(max(p, defaultPercent), maxPercent)
}
