//go:build !race

package router

import "testing"

// All of a request's way but the network and the provider: the test's own
// request and what its provider counted are among it.
func TestAllocationsOfARequest(t *testing.T) {
	h, key := gateway(t)
	call(t, h, key, ask+"}")
	n := testing.AllocsPerRun(200, func() { call(t, h, key, ask+"}") })
	t.Log(n)
	if n > 52 {
		t.Errorf("%v allocations, at most 52", n)
	}
}

func TestAllocationsOfAChunk(t *testing.T) {
	h, key := gateway(t)
	call(t, h, key, ask+`,"stream":true}`)
	n := testing.AllocsPerRun(20, func() { call(t, h, key, ask+`,"stream":true}`) })
	if each := n / 1000; each > 0.1 {
		t.Errorf("%.2f allocations for one chunk, at most one in ten", each)
	}
}
