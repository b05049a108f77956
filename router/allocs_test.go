//go:build !race

package router

import "testing"

// The allocations of a whole request except those of the network and the
// provider. The request and the counting of the test are included.
func TestAllocationsOfARequest(t *testing.T) {
	h, key := gateway(t)
	call(t, h, key, request+"}")
	n := testing.AllocsPerRun(200, func() { call(t, h, key, request+"}") })
	t.Log(n)
	if n > 66 {
		t.Errorf("%v allocations, at most 66", n)
	}
}

func TestAllocationsOfAChunk(t *testing.T) {
	h, key := gateway(t)
	call(t, h, key, request+`,"stream":true}`)
	n := testing.AllocsPerRun(20, func() { call(t, h, key, request+`,"stream":true}`) })
	if each := n / 1000; each > 0.1 {
		t.Errorf("%.2f allocations for one chunk, at most one in ten", each)
	}
}
