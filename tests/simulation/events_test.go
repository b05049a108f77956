package simulation

import (
	"fmt"
	"slices"
	"time"

	"modelgateway/models"
)

// start starts two to four replicas.
func (r *run) start() {
	d := r.draw("replicas")
	clocks := d.IntN(2) == 0 // are wrong
	for i := range 2 + d.IntN(3) {
		at := &replica{name: string(rune('A' + i)), delay: time.Duration(d.Int64N(int64(time.Second)))}
		if clocks {
			at.skew = time.Duration(d.Int64N(int64(8*time.Second))) - 4*time.Second
			at.drift = (d.Float64() - 0.5) / 100 // half a percent
		}
		r.replicas = append(r.replicas, at)
		r.launch(at, r.gateway())
	}
}

// event is something that may happen. weight says how often it does beside others.
type event struct {
	name   string
	weight int
	happen func(r *run)
}

func allEvents() []event {
	return []event{
		{"calls", 60, (*run).someCalls},
		{"quiet", 4, func(r *run) { time.Sleep(r.upTo(20 * time.Second)) }},
		{"kill", 3, (*run).killOne},
		{"stop", 2, (*run).stopOne},
		{"pause", 4, (*run).pauseOne},
		{"cut", 5, (*run).cutOne},
		{"outage", 2, (*run).outage},
		{"slow", 4, func(r *run) { r.fault("queries are slow", &r.slowUntil, 20*time.Second) }},
		{"flaky", 5, func(r *run) { r.fault("commits fail", &r.flakyUntil, 20*time.Second) }},
		{"limits", 6, (*run).changeLimits},
		{"clock", 1, (*run).stepClock},
	}
}

// events lets things happen. Each run leaves out some kinds, so that the others
// come more often together.
func (r *run) events() {
	kinds := allEvents()
	kinds = append(kinds[:2], slices.DeleteFunc(kinds[2:], func(event) bool { return r.rng.IntN(2) == 0 })...)
	sum := 0
	for _, e := range kinds {
		sum += e.weight
	}
	for range 20 + r.rng.IntN(40) {
		time.Sleep(r.upTo([...]time.Duration{20 * time.Millisecond, time.Second, 4 * time.Second}[r.rng.IntN(3)]))
		r.step()
		n := r.rng.IntN(sum)
		for _, e := range kinds {
			if n -= e.weight; n < 0 {
				e.happen(r)
				break
			}
		}
		r.watchLeases()
	}
}

func (r *run) step() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.steps++
}

func (r *run) upTo(most time.Duration) time.Duration {
	return time.Duration(1 + r.rng.Int64N(int64(most)))
}

// one is a process that runs, or nil.
func (r *run) one() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.replicas[r.rng.IntN(len(r.replicas))].now
}

// gateway is the budget that a process reads when it starts.
func (r *run) gateway() *view {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accounts[len(r.accounts)-1].current()
}

func (r *run) someCalls() {
	n := 1 + r.rng.IntN(3)
	if r.rng.IntN(8) == 0 {
		n = 10 + r.rng.IntN(10)
	}
	for range n {
		wait := r.upTo(10 * time.Millisecond)
		if p := r.one(); p != nil {
			c := r.newCall(r.rng, p)
			r.mu.Lock()
			r.calls = append(r.calls, c)
			r.mu.Unlock()
			r.calling.Go(c.serve)
		}
		time.Sleep(wait)
	}
}

// fault is on for some time.
func (r *run) fault(name string, until *time.Time, most time.Duration) {
	d := r.upTo(most)
	r.mu.Lock()
	defer r.mu.Unlock()
	*until = time.Now().Add(d)
	r.logNow("%s for %v", name, d)
}

func (r *run) killOne() {
	p, wait := r.one(), r.upTo(10*time.Second)
	if p == nil {
		return
	}
	p.kill()
	r.relaunch(p.replica, wait)
}

// relaunch starts another process after some time, with what is configured then.
func (r *run) relaunch(at *replica, wait time.Duration) {
	r.background.Go(func() {
		time.Sleep(wait)
		r.launch(at, r.gateway())
	})
}

func (r *run) stopOne() {
	p, wait := r.one(), r.upTo(10*time.Second)
	if p == nil {
		return
	}
	r.background.Go(func() {
		p.finish()
		time.Sleep(wait)
		r.launch(p.replica, r.gateway())
	})
}

func (r *run) pauseOne() {
	if p, name := r.one(), "is paused"; p != nil {
		r.fault(p.name+" "+name, &p.pausedUntil, 40*time.Second)
	}
}

func (r *run) cutOne() {
	refused := r.rng.IntN(2) == 0
	if p := r.one(); p != nil {
		r.cut(p, refused, 40*time.Second)
	}
}

func (r *run) cut(p *process, refused bool, most time.Duration) {
	r.mu.Lock()
	p.refused = refused
	r.mu.Unlock()
	r.fault(fmt.Sprintf("%s is cut off (refused: %v)", p.name, refused), &p.cutUntil, most)
}

// outage cuts all off.
func (r *run) outage() {
	refused, d := r.rng.IntN(2) == 0, r.upTo(30*time.Second)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.processes {
		p.refused, p.cutUntil = refused, time.Now().Add(d)
	}
	r.logNow("the database cannot be reached for %v (refused: %v)", d, refused)
}

// changeLimits is an administrator's change of one budget. That of the gateway
// applies to processes that start later.
func (r *run) changeLimits() {
	a := r.accounts[r.rng.IntN(len(r.accounts))]
	limit, window := a.current().limit, a.current().window
	switch r.rng.IntN(4) {
	case 0:
		limit += limit * r.rng.Int64N(200) / 100
	case 1:
		limit -= limit * r.rng.Int64N(100) / 100
	case 2:
		window = models.Windows()[r.rng.IntN(4)]
	default:
		limit, window = drawBudget(r.rng, 0.9)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logNow("%s is to have %v", a.name, a.set(limit, window))
}

// stepClock sets the clock of a replica forward, as a correction does.
func (r *run) stepClock() {
	at, by := r.replicas[r.rng.IntN(len(r.replicas))], r.upTo(5*time.Second)
	r.mu.Lock()
	defer r.mu.Unlock()
	at.skew += by
	r.logNow("the clock of %s goes forward by %v", at.name, by)
}

// heal ends all faults and waits for the calls.
func (r *run) heal() {
	r.mu.Lock()
	r.slowUntil, r.flakyUntil = time.Time{}, time.Time{}
	for _, p := range r.processes {
		p.pausedUntil, p.cutUntil = time.Time{}, time.Time{}
	}
	r.logNow("all faults end")
	r.mu.Unlock()
	r.calling.Wait()
	r.background.Wait()
	time.Sleep(2 * leaseTime)
	r.log("all is quiet")
}

// stop stops all processes.
func (r *run) stop() {
	for _, at := range r.replicas {
		if at.now != nil {
			at.now.finish()
		}
	}
	time.Sleep(2 * idleInTransaction) // the database ends what is open
	for _, p := range r.processes {
		p.ended.Wait()
		if err := p.store.Close(); err != nil {
			r.fail("%v", err)
		}
		r.lab.release(p.service)
	}
	r.checkStopped()
}
