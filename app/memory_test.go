package app

import (
	"runtime"
	"testing"
)

func TestMemoryOfABurstIsGivenBackWhenItIsOver(t *testing.T) {
	given := 0
	r := newRest()
	r.free = func() { given++ }
	r.give()
	given = 0
	r.look()
	if given != 0 {
		t.Errorf("given back %d times though nothing was taken", given)
	}
	burst := make([]byte, restBusy+restGrowth)
	r.look()
	if given != 0 {
		t.Error("given back during the burst")
	}
	r.look()
	r.look()
	if given != 1 {
		t.Errorf("given back %d times after the burst, not once", given)
	}
	runtime.KeepAlive(burst)
}

func TestTheHashOfAPasswordIsGivenBack(t *testing.T) {
	r := newRest()
	for range 3 {
		before := r.held
		func() { // a hash
			block := make([]byte, 9<<20)
			block[0] = 1
			runtime.KeepAlive(block)
		}()
		r.look() // allocated more than restBusy
		r.look()
		if _, held := heap(); held > before+restGrowth {
			t.Errorf("the heap holds %d KiB, and %d before", held>>10, before>>10)
		}
	}
}
