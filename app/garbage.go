package app

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// garbageRoom is how much garbage may gather before the collector runs, in
// bytes, where as much as is alive would be less.
const garbageRoom = 32 << 20

const mostPercent, usualPercent = 1600, 100

// collector tunes Go's garbage collector after each of its cycles. By itself it
// runs whenever as much has been allocated as is alive, which for the few
// megabytes of an idle gateway is every two hundred requests: a tenth of all its
// work. With a large heap it is left as it is.
type collector struct {
	stopped atomic.Bool
	percent int
}

// tuneCollector begins, and returns what ends it. An operator who sets GOGC or
// GOMEMLIMIT has tuned it already.
func tuneCollector() (stop func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	c := &collector{percent: usualPercent}
	c.await()
	return func() {
		c.stopped.Store(true)
		debug.SetGCPercent(usualPercent)
	}
}

// mark is what is left to the collector to find.
type mark struct{ _ [16]byte }

// await has tune called when the next cycle has ended.
func (c *collector) await() { runtime.AddCleanup(new(mark), (*collector).tune, c) }

func (c *collector) tune() {
	if c.stopped.Load() {
		return
	}
	alive := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	metrics.Read(alive)
	if p := percentFor(alive[0].Value.Uint64() + alive[1].Value.Uint64()); p != c.percent {
		c.percent = p
		debug.SetGCPercent(p)
	}
	c.await()
}

// percentFor is how much may be allocated, in percent of what is alive, so that
// garbageRoom is used. It changes in steps: setting it stops the world.
func percentFor(alive uint64) int {
	const step = 100
	p := int(garbageRoom * 100 / max(alive, 1) / step * step)
	return min(max(p, usualPercent), mostPercent)
}
