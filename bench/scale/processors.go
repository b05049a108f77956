//go:build unix

package main

import (
	"context"
	"fmt"
)

// processors measures one replica with one processor and with two, under as many calls as it
// takes.
func processors(ctx context.Context, s *system, to *section) error {
	keys, err := s.firstKeys(ctx)
	if err != nil {
		return err
	}
	t := to.add("", "GOMAXPROCS", "calls", "calls/s", "gateway µs/call", "gateway, processors busy", "p50 ms", "p99 ms")
	for _, l := range []load{
		{keys: keys, rate: s.rates[0], callers: callers, window: s.window},
		{keys: keys, callers: callers, window: s.window},
	} {
		for _, n := range []int{1, 2} {
			if err := s.run(ctx, 1, fmt.Sprint("GOMAXPROCS=", n)); err != nil {
				return err
			}
			f, err := s.measure(ctx, l)
			if err != nil {
				return err
			}
			kind := fmt.Sprintf("%d at once", l.callers)
			if l.rate > 0 {
				kind = fmt.Sprintf("%d a second", l.rate)
			}
			t.row(n, kind, f.rate(), f.perCall(f.used.gateway), f.used.gateway.Seconds()/f.elapsed.Seconds(),
				f.quantile(0.5), f.quantile(0.99))
		}
	}
	return nil
}
