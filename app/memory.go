package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// restEvery is how often the program looks whether memory can be given back.
	restEvery = 10 * time.Second
	// restGrowth is how much more memory than after the last time is worth a cycle of the
	// garbage collector. The hash of one password takes 9 MiB.
	restGrowth = 6 << 20
	// restBusy is what a program under load allocates in restEvery at least: it would need the
	// memory again at once.
	restBusy = 8 << 20
)

// rest gives memory back to the system when a burst of calls or a log-in is over. Go's
// runtime keeps it: the heap of a gateway may hold minGarbage before the next cycle, which
// an idle gateway does not reach for hours.
type rest struct {
	allocated uint64 // in the life of the process, at the last look
	held      uint64 // by the heap, after the last time that memory was given back
	free      func() // tests replace it
}

func newRest() *rest {
	r := &rest{free: func() { debug.FreeOSMemory(); dropProgramPages() }}
	r.give()
	return r
}

// run looks until ctx ends.
func (r *rest) run(ctx context.Context) {
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.look()
		}
	}
}

func (r *rest) look() {
	before := r.allocated
	var held uint64
	r.allocated, held = heap()
	if r.allocated-before < restBusy && held > r.held+restGrowth {
		r.give()
	}
}

func (r *rest) give() {
	r.free()
	r.allocated, r.held = heap()
}

// heap returns how many bytes the process has ever allocated, and how many its heap holds
// of the system's memory, used or not.
func heap() (allocated, held uint64) {
	of := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(of)
	return of[0].Value.Uint64(), of[1].Value.Uint64() + of[2].Value.Uint64() + of[3].Value.Uint64()
}
