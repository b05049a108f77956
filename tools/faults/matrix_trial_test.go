package faults

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// trial is an environment during a fault.
type trial struct {
	combination
	expectation
	*environment
	t     *testing.T
	load  *load // nil: nothing runs but what is called in turn
	watch []*watch
	calls []probeResult // those of no load

	since    time.Time // the fault is there
	listens  time.Time // the gateway, if it was there before
	lifted   time.Time
	restored time.Time // everything is as before

	wrong             []string
	slowest, recovery time.Duration
}

// runTrial tries a combination. What is wrong fails the test if s is nil, else it is logged and counted there.
func (b *backends) runTrial(t *testing.T, w *environment, c combination, e expectation, s *tally) {
	m := &trial{combination: c, expectation: e, environment: w, t: t}
	defer func() {
		m.stopLoad()
		for _, text := range m.wrong[:min(len(m.wrong), 12)] {
			t.Logf("%v: %s", c, text)
		}
		if s != nil {
			s.add(m)
		} else if len(m.wrong) > 0 {
			t.Fail()
		}
		t.Logf("expected: %s; %d faults; under it %s; the slowest call %v, recovery %v", e.reason, len(m.wrong), m.statuses(),
			m.slowest.Round(time.Millisecond), m.recovery.Round(time.Millisecond))
	}()
	if m.begin(b) {
		m.callDuringFault()
		m.recover()
		m.finish()
	}
}

// statuses counts the answers during the fault to calls that need the part.
func (m *trial) statuses() string {
	counts := map[int]int{}
	for _, c := range m.calls {
		if c.fails != "" && c.began.After(m.since) && c.began.Before(m.lifted) {
			counts[c.status]++
		}
	}
	return fmt.Sprint(counts)
}

func (m *trial) complain(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

// until waits for a condition and reports whether it became true.
func until(limit time.Duration, condition func() bool) bool {
	for end := time.Now().Add(limit); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// begin prepares the environment and sets the fault. It is false if the gateway is not well before.
func (m *trial) begin(b *backends) bool {
	m.t.Helper()
	if m.moment == atStart {
		m.since = time.Now()
		m.proxy.Set(m.fault)
		m.environment = b.build(m.t, m.part, m.proxy)
		m.listens = time.Now()
		if took := m.listens.Sub(m.since); took > startsWithin {
			m.complain("the start took %v", took)
		}
		m.watch = m.follow()
		return true
	}
	if c, ok := wrong(runAll(m.probes)); ok {
		m.complain("not well before the fault: %v", c)
		return false
	}
	m.watch = m.follow()
	if m.moment == underWay {
		began := time.Now()
		m.load = startLoad(m.probes)
		if !until(20*time.Second, func() bool { return m.load.since(began, m.probes, 2) }) {
			m.complain("the load does not get going")
		}
	}
	m.since = time.Now()
	m.proxy.Set(m.fault)
	return true
}

// callDuringFault makes the calls during the fault, or lets the load make them,
// until health has the expected state.
func (m *trial) callDuringFault() {
	m.t.Helper()
	unknown := m.since.Add(m.known)
	if m.load == nil {
		m.calls = append(m.calls, runAll(m.probes)...)
		rounds := 0
		switch {
		case m.known > 0:
			time.Sleep(time.Until(unknown))
			rounds = 1
		case m.typical > 0:
			rounds = 5 // the first calls may pay for the others
		}
		for range rounds {
			m.calls = append(m.calls, runAll(m.probes)...)
		}
	} else {
		m.calls = append(m.calls, runAll(expensive(m.probes))...)
		const least = 1500 * time.Millisecond
		if !until(m.known+2*m.longest+2*m.otherLongest, func() bool { return time.Since(m.since) > least && m.load.since(unknown, m.probes, 1) }) {
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

// hear waits for the expected state of health. That of a provider depends on
// calls, so more calls are made where there is no load.
func (m *trial) hear() {
	heard := m.since
	if m.moment == atStart {
		heard = m.listens
	}
	for _, h := range m.watch {
		told := until(time.Until(heard.Add(m.within)), func() bool {
			if h.reports(m.expectation) {
				return true
			}
			if m.load == nil && h.provider() {
				m.calls = append(m.calls, runAll(needing(m.probes))...)
			}
			return false
		})
		if !told {
			m.complain("health does not come to say %v within %v, but %s", m.says, m.within, h.last())
		}
		if told && slices.Equal(m.says, down) {
			m.checkDown(h)
		}
	}
}

// checkDown checks what else has to be true while health calls the part
// unhealthy.
func (m *trial) checkDown(h *watch) {
	switch {
	case m.part == "postgres":
		if status := h.gateway.status("/readyz"); status != http.StatusServiceUnavailable {
			m.complain("readyz without the database: %d", status)
		}
	case h.provider(): // its circuit has just opened
		for _, c := range runAll(needing(m.probes)) {
			if c.status != http.StatusServiceUnavailable {
				m.complain("not held off by an open circuit: %v", c)
			}
			m.calls = append(m.calls, c)
		}
	}
}

// recover ends the fault and waits until everything is as before.
func (m *trial) recover() {
	m.lifted = time.Now()
	m.proxy.Set(Pass)
	last := ""
	well := until(m.rested, func() bool {
		calls := runAll(m.probes)
		m.calls = append(m.calls, calls...)
		if c, ok := wrong(calls); ok {
			last = c.String()
			return false
		}
		return !slices.ContainsFunc(m.watch, func(h *watch) bool { return !h.well() })
	})
	m.restored = time.Now()
	m.recovery = m.restored.Sub(m.lifted)
	limit := m.back
	if slices.ContainsFunc(m.watch, (*watch).opened) {
		limit = m.rested
	}
	if !well || m.recovery > limit {
		m.complain("not as before within %v, but after %v; the last call that was not right: %s; health: %s", limit,
			m.recovery, last, m.watch[0].last())
	}
}

// stopLoad ends the load and the watching of health, if they run.
func (m *trial) stopLoad() {
	if m.load != nil {
		m.calls = append(m.calls, m.load.end()...)
	}
	for _, h := range m.watch {
		m.wrong = append(m.wrong, h.end()...)
	}
	m.load, m.watch = nil, nil
}

// finish checks the results of all calls.
func (m *trial) finish() {
	if m.load != nil && !until(10*time.Second, func() bool { return m.load.since(m.restored, m.probes, 1) }) {
		m.complain("the load does not go on")
	}
	m.stopLoad()
	var quick []time.Duration // the answers that need nothing of the part, under the fault
	for _, c := range m.calls {
		if c.ended.Before(m.since) || c.began.After(m.restored) {
			if !c.right {
				m.complain("not right before or after: %v", c)
			}
			continue
		}
		if text := m.check(c, m.since, m.lifted); text != "" {
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
