package faults

import (
	"sync"
	"testing"
	"time"
)

// startsWithin is how long a gateway may take to listen while a part is
// unavailable.
const startsWithin = 10 * time.Second

// TestEveryFaultOfEveryPartAtEveryMoment puts the real gateway through the
// matrix: one process for each fault that is there at the start, and one for
// each part through all that come later. Its limits are those of the documents, in
// seconds: what was not as expected while others ran beside it is tried again alone,
// since a slow moment of the machine is no fault of the gateway.
func TestEveryFaultOfEveryPartAtEveryMoment(t *testing.T) {
	b, table, tally := newBackends(t), expected(), &tally{}
	list := chosen(full())
	t.Run("matrix", func(t *testing.T) {
		for _, part := range parts {
			t.Run(part+" later", func(t *testing.T) {
				t.Parallel()
				p := b.proxyFor(t, part)
				w := b.build(t, part, p)
				for _, c := range list {
					if c.part == part && c.moment != atStart {
						t.Run(c.fault.String()+" "+string(c.moment), func(t *testing.T) { b.runTrial(t, w, c, table[c], tally) })
					}
				}
			})
		}
		for _, c := range list {
			if c.moment == atStart {
				t.Run(c.String(), func(t *testing.T) {
					t.Parallel()
					b.runTrial(t, &environment{name: c.part, proxy: b.proxyFor(t, c.part)}, c, table[c], tally)
				})
			}
		}
	})
	for _, c := range tally.wrong {
		t.Run("again/"+c.String(), func(t *testing.T) {
			w := &environment{name: c.part, proxy: b.proxyFor(t, c.part)}
			if c.moment != atStart {
				w = b.build(t, c.part, w.proxy)
			}
			b.runTrial(t, w, c, table[c], nil)
		})
	}
	if tally.run != len(list) { // as with -run for some of them
		t.Logf("%d of %d combinations were run", tally.run, len(list))
		return
	}
	figure(
		t, "every fault of every part at every moment, as written down",
		"%d combinations, %d as expected at once; the slowest call under a fault %.1f s (%s), the slowest recovery %.1f s (%s)",
		tally.run, tally.run-len(tally.wrong), tally.call.Seconds(), tally.callOf, tally.recovery.Seconds(), tally.recoveryOf,
	)
}

// tally is what the combinations have come to.
type tally struct {
	mu             sync.Mutex
	run            int
	wrong          []combination
	call, recovery time.Duration
	callOf         string
	recoveryOf     string
}

func (s *tally) add(m *trial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run++
	if len(m.wrong) > 0 {
		s.wrong = append(s.wrong, m.combination)
	}
	if m.slowest > s.call {
		s.call, s.callOf = m.slowest, m.String()
	}
	if m.recovery > s.recovery {
		s.recovery, s.recoveryOf = m.recovery, m.String()
	}
}
