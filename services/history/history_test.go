package history_test

import (
	"fmt"
	"sync"
	"testing"

	"modelgateway/services/history"
)

// few is one call less than are learned from.
const few = 49

func TestFewCallsOfACallerAreNotLearnedFrom(t *testing.T) {
	var h history.History
	for range few {
		h.Add("ann", "m", history.Call{Output: 100, Input: 10, Fresh: 100})
	}
	if got := h.Output("ann", "m", 4096); got != 4096 {
		t.Errorf("%d tokens after %d calls", got, few)
	}
	if _, ok := h.Share("ann", "m"); ok {
		t.Errorf("a share after %d calls", few)
	}
	h.Add("ann", "m", history.Call{Output: 100, Input: 10, Fresh: 100})
	if share, ok := h.Share("ann", "m"); !ok || share != 0.1 || h.Output("ann", "m", 4096) != 100 {
		t.Errorf("%v, %v and %d after %d calls", share, ok, h.Output("ann", "m", 4096), few+1)
	}
	if _, ok := h.Share("ann", "other"); ok {
		t.Error("a share of another model")
	}
}

func TestAnotherCallersAnswersTellWhileThereAreFew(t *testing.T) {
	var h history.History
	for range few + 1 {
		h.Add("ann", "m", history.Call{Output: 100, Input: 10, Fresh: 100})
	}
	if got := h.Output("bob", "m", 4096); got != 100 {
		t.Errorf("%d tokens of somebody's first call", got)
	}
	if _, ok := h.Share("bob", "m"); ok {
		t.Error("the caches of another caller are counted on")
	}
}

func TestTheOutputIsLongerThan99Of100(t *testing.T) {
	for calls, want := range map[int]int64{50: 50, 100: 99, 101: 100, 128: 127} {
		var h history.History
		for i := range calls {
			h.Add("ann", "m", history.Call{Output: int64(i + 1)})
		}
		if got := h.Output("ann", "m", 0); got != want {
			t.Errorf("%d of %d answers", got, calls)
		}
	}
}

func TestOldCallsAreForgotten(t *testing.T) {
	var h history.History
	for range 200 {
		h.Add("ann", "m", history.Call{Output: 9000, Input: 90, Fresh: 100})
	}
	for range 128 {
		h.Add("ann", "m", history.Call{Output: 7, Input: 20, Fresh: 100})
	}
	if share, _ := h.Share("ann", "m"); share != 0.2 || h.Output("ann", "m", 0) != 7 {
		t.Errorf("%v, %d", share, h.Output("ann", "m", 0))
	}
}

func TestAFreeModelHasNoShare(t *testing.T) {
	var h history.History
	for range 60 {
		h.Add("ann", "m", history.Call{Output: 7})
	}
	if _, ok := h.Share("ann", "m"); ok {
		t.Error("nothing is a share of nothing")
	}
}

func TestManyCallersDoNotFillTheMemory(t *testing.T) {
	var h history.History
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 5000 {
				h.Add(fmt.Sprint(i, j), "m", history.Call{Output: 1, Input: 1, Fresh: 1})
				h.Output(fmt.Sprint(i, j-1), "m", 0)
			}
		})
	}
	all.Wait()
	for range few + 1 {
		h.Add("ann", "m", history.Call{Output: 1, Input: 1, Fresh: 2})
	}
	if share, ok := h.Share("ann", "m"); !ok || share != 0.5 {
		t.Errorf("%v, %v", share, ok)
	}
}
