package faults

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// meeting is a world that meets a fault.
type meeting struct {
	combination
	expectation
	*world
	t     *testing.T
	load  *load // nil: nothing runs but what is called in turn
	watch []*watch
	calls []called // those of no load

	since   time.Time // the fault is there
	listens time.Time // the gateway, if it was there before
	lifted  time.Time
	again   time.Time // everything is as before

	wrong             []string
	slowest, recovery time.Duration
}

func (b *ground) meet(t *testing.T, w *world, c combination, e expectation, s *tally) {
	m := &meeting{combination: c, expectation: e, world: w, t: t}
	defer func() {
		m.halt()
		s.add(m)
		for _, text := range m.wrong[:min(len(m.wrong), 12)] {
			t.Errorf("%v: %s", c, text)
		}
		t.Logf("expected: %s; %d faults; under it %s; the slowest call %v, recovery %v", e.why, len(m.wrong), m.statuses(),
			m.slowest.Round(time.Millisecond), m.recovery.Round(time.Millisecond))
	}()
	m.begin(b)
	m.suffer()
	m.recover()
	m.finish()
}

// statuses counts what was answered under the fault by those who needed the part.
func (m *meeting) statuses() string {
	counts := map[int]int{}
	for _, c := range m.calls {
		if c.fails != "" && c.began.After(m.since) && c.began.Before(m.lifted) {
			counts[c.status]++
		}
	}
	return fmt.Sprint(counts)
}

func (m *meeting) complain(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

// until waits for a condition and says whether it came.
func until(limit time.Duration, holds func() bool) bool {
	for end := time.Now().Add(limit); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// begin brings the world to where the fault is there.
func (m *meeting) begin(b *ground) {
	m.t.Helper()
	if m.moment == atStart {
		m.since = time.Now()
		m.proxy.Set(m.fault)
		m.world = b.build(m.t, m.part, m.proxy)
		m.listens = time.Now()
		if took := m.listens.Sub(m.since); took > startsWithin {
			m.complain("the start took %v", took)
		}
		m.watch = m.follow()
		return
	}
	if c, ok := wrong(together(m.errands)); ok {
		m.t.Fatalf("not well before the fault: %v", c)
	}
	m.watch = m.follow()
	if m.moment == underWay {
		began := time.Now()
		m.load = startLoad(m.errands)
		if !until(20*time.Second, func() bool { return m.load.since(began, m.errands, 2) }) {
			m.complain("the load does not get going")
		}
	}
	m.since = time.Now()
	m.proxy.Set(m.fault)
}

// suffer makes the calls under the fault, or lets the load make them, until
// health has said what it should.
func (m *meeting) suffer() {
	m.t.Helper()
	unknown := m.since.Add(m.known)
	if m.load == nil {
		m.calls = append(m.calls, together(m.errands)...)
		rounds := 0
		switch {
		case m.known > 0:
			time.Sleep(time.Until(unknown))
			rounds = 1
		case m.typical > 0:
			rounds = 5 // the first calls may pay for the others
		}
		for range rounds {
			m.calls = append(m.calls, together(m.errands)...)
		}
	} else {
		m.calls = append(m.calls, together(costly(m.errands))...)
		const least = 1500 * time.Millisecond
		if !until(m.known+2*m.longest+2*m.spared, func() bool { return time.Since(m.since) > least && m.load.since(unknown, m.errands, 1) }) {
			m.complain("the load has come to a halt")
		}
	}
	if m.limited != nil {
		if text := m.limited.try(m.t, m.expectation); text != "" {
			m.complain("%s", text)
		}
	}
	m.hear()
}

// hear waits for what health is to say. Of a provider it says what becomes of
// calls, so that there are more where no load makes them.
func (m *meeting) hear() {
	heard := m.since
	if m.moment == atStart {
		heard = m.listens
	}
	for _, h := range m.watch {
		told := until(time.Until(heard.Add(m.within)), func() bool {
			if h.tells(m.expectation) {
				return true
			}
			if m.load == nil && h.provider() {
				m.calls = append(m.calls, together(needing(m.errands))...)
			}
			return false
		})
		if !told {
			m.complain("health does not come to say %v within %v, but %s", m.says, m.within, h.last())
		}
		if told && slices.Equal(m.says, down) {
			m.tryDown(h)
		}
	}
}

// tryDown looks at what else is to be so while health calls the part unhealthy.
func (m *meeting) tryDown(h *watch) {
	switch {
	case m.part == "postgres":
		if status := h.gateway.status("/readyz"); status != http.StatusServiceUnavailable {
			m.complain("readyz without the database: %d", status)
		}
	case h.provider(): // its circuit has just opened
		for _, c := range together(needing(m.errands)) {
			if c.status != http.StatusServiceUnavailable {
				m.complain("not held off by an open circuit: %v", c)
			}
			m.calls = append(m.calls, c)
		}
	}
}

// recover lifts the fault and waits until everything is as before.
func (m *meeting) recover() {
	m.lifted = time.Now()
	m.proxy.Set(Pass)
	last := ""
	well := until(m.rested, func() bool {
		calls := together(m.errands)
		m.calls = append(m.calls, calls...)
		if c, ok := wrong(calls); ok {
			last = c.String()
			return false
		}
		return !slices.ContainsFunc(m.watch, func(h *watch) bool { return !h.well() })
	})
	m.again = time.Now()
	m.recovery = m.again.Sub(m.lifted)
	limit := m.back
	if slices.ContainsFunc(m.watch, (*watch).opened) {
		limit = m.rested
	}
	if !well || m.recovery > limit {
		m.complain(
			"not as before within %v, but after %v; the last call that was not right: %s; health: %s", limit,
			m.recovery, last, m.watch[0].last(),
		)
	}
}

// halt ends the load and the looking at health, if they go on.
func (m *meeting) halt() {
	if m.load != nil {
		m.calls = append(m.calls, m.load.end()...)
	}
	for _, h := range m.watch {
		m.wrong = append(m.wrong, h.end()...)
	}
	m.load, m.watch = nil, nil
}

// finish judges what came of all the calls.
func (m *meeting) finish() {
	if m.load != nil && !until(10*time.Second, func() bool { return m.load.since(m.again, m.errands, 1) }) {
		m.complain("the load does not go on")
	}
	m.halt()
	var quick []time.Duration // the answers that need nothing of the part, under the fault
	for _, c := range m.calls {
		if c.ended.Before(m.since) || c.began.After(m.again) {
			if !c.right {
				m.complain("not right before or after: %v", c)
			}
			continue
		}
		if text := m.judge(c, m.since, m.lifted); text != "" {
			m.complain("%s: %v", text, c)
		}
		m.slowest = max(m.slowest, c.took())
		if c.fails == "" && !c.stream && c.began.Before(m.lifted) {
			quick = append(quick, c.took())
		}
	}
	slices.Sort(quick)
	if half := quick[len(quick)/2]; m.typical > 0 && half > m.typical {
		m.complain("half of the answers took %v or more, not %v", half, m.typical)
	}
}
