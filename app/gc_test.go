package app

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestSmallHeapIsCollectedLessOften(t *testing.T) {
	for alive, want := range map[uint64]int{
		0: 1600, 1 << 20: 1600, 4 << 20: 800, 10 << 20: 300, 16 << 20: 200, 17 << 20: 100, 32 << 20: 100, 1 << 30: 100, math.MaxUint64: 100,
	} {
		if got := percentFor(alive); got != want {
			t.Errorf("%d bytes alive: %d percent, want %d", alive, got, want)
		}
	}
}

func TestCollectorIsTunedAfterEachCycle(t *testing.T) {
	t.Setenv("GOGC", "")
	now := func() int { // there is no way to ask but to set
		p := debug.SetGCPercent(defaultPercent)
		debug.SetGCPercent(p)
		return p
	}
	before := now()
	defer debug.SetGCPercent(before)
	stop := tuneGC()
	ballast := [][]byte{make([]byte, 4*minGarbage)} // alive, and then not
	want := func(what string, good func(int) bool) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); ; {
			runtime.GC()
			time.Sleep(time.Millisecond) // for what the cycle left to be called
			if good(now()) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("waited in vain: %s", what)
			}
		}
	}
	want("a large heap is left alone", func(p int) bool { return p == defaultPercent })
	runtime.KeepAlive(ballast)
	ballast[0] = nil
	want("a small one is collected seldom", func(p int) bool { return p > defaultPercent })
	stop()
	if p := now(); p != defaultPercent {
		t.Errorf("%d percent after the end", p)
	}
	t.Setenv("GOGC", "50")
	tuneGC()
	runtime.GC()
	if p := now(); p != defaultPercent {
		t.Errorf("%d percent, though GOGC is set", p)
	}
}
