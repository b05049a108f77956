package simulation

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"gorm.io/driver/sqlite"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/services/budget"
	"modelgateway/services/history"
	"modelgateway/services/inference"
	"modelgateway/services/ledger"
	"modelgateway/services/pool"
	"modelgateway/services/registry"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
)

// replica is a place where one process runs at a time.
type replica struct {
	name  string
	now   *process // nil while none runs
	n     int      // processes there have been
	skew  time.Duration
	drift float64
	delay time.Duration // until it learns of changed limits
}

// process is the product as one process: it starts, and stops or is killed.
type process struct {
	run     *run
	replica *replica
	name    string
	gateway *view // MAX_BUDGET_USD and MAX_BUDGET_WINDOW, read at the start
	store   *models.Store
	budgets *budget.Service
	ledger  *ledger.Writer
	service *inference.Service
	end     context.CancelFunc
	ended   sync.WaitGroup

	// run.mu guards what follows.
	dead        bool
	stopping    bool
	killedAt    time.Time
	pausedUntil time.Time
	cutUntil    time.Time
	refused     bool // while it is cut off it is told so
	fates       map[string]int
	leased      bool      // the database has had a lease of it
	expiredAt   time.Time // when its lease expired, until it is renewed
}

// start starts a process; r.mu is not held.
func (r *run) launch(at *replica, gateway *view) {
	at.n++
	p := &process{run: r, replica: at, name: fmt.Sprint(at.name, at.n), gateway: gateway, fates: map[string]int{}}
	var err error
	if p.store, err = models.NewStore(&sqlite.Dialector{Conn: sql.OpenDB(connector{p})}, false); err != nil {
		r.fail("%v", err)
		return
	}
	quiet := slog.New(slog.DiscardHandler)
	p.budgets = budget.New(budget.Options{Store: p.store, Log: quiet, Now: p.patientClock, Replica: p.name})
	p.ledger = ledger.NewWriter(ledger.Options{
		Store: p.store, Replica: p.name, Log: quiet, Now: p.clock,
		Written: func(calls []models.Call) {
			p.budgets.Written(calls)
			r.tell(calls)
		},
	})
	p.service = r.lab.service()
	list := registry.New(r.lab.catalog, func(name string, _ llm.Kind) bool { return name == catalog.OpenAI }, p.clock)
	list.Abilities = map[string]providers.Abilities{catalog.OpenAI: {Tokens: llm.TokensOpenAI}}
	p.service.Use(&routing.Router{
		Models:    list,
		Upstreams: pool.Set{catalog.OpenAI: pool.NewUpstream(catalog.OpenAI, scripted{}, []config.Secret{config.NewSecret("key")}, p.clock)},
		Now:       p.clock,
	})
	p.service.Now, p.service.Log, p.service.Ledger, p.service.Budgets = p.clock, quiet, p.ledger, p.budgets
	p.service.Budget, p.service.ReserveMost = nil, r.worst
	r.learn(p.service)
	if gateway.window != "" {
		p.service.Budget = &budget.Budget{Account: models.GatewayAccount, Window: gateway.window, Limit: gateway.limit, Name: "the gateway"}
	}
	p.work()
	r.mu.Lock()
	defer r.mu.Unlock()
	at.now = p
	r.processes = append(r.processes, p)
	r.logNow("%s starts; the gateway has %v", p.name, gateway)
}

// learn records short calls, so that later ones cost more than is expected of them.
func (r *run) learn(s *inference.Service) {
	const few, short = 60, 30                                          // calls, and tokens of each
	s.History, s.Corrections = history.History{}, tokens.Corrections{} // of another run
	if r.draw("history").IntN(2) == 0 {
		return
	}
	for _, c := range r.callers {
		as := c.as()
		for range few {
			s.History.Add(cmp.Or(as.UserID, as.KeyID), r.lab.model.ID, history.Call{Output: short, Input: 1, Fresh: 2})
		}
	}
}

// work runs what app.bookkeeping runs.
func (p *process) work() {
	ctx, cancel := context.WithCancel(context.Background())
	p.end = cancel
	written, done := context.WithCancel(context.Background())
	p.ended.Go(func() {
		defer done()
		p.ledger.Run(ctx)
	})
	time.Sleep(time.Duration(1 + p.run.draw("start", p.name).IntN(int(time.Millisecond)))) // no two tick at once
	p.ended.Go(func() { p.budgets.Run(written) })
}

// clock is the process's clock, which may be wrong and go too fast or too slowly.
func (p *process) clock() time.Time {
	p.run.mu.Lock()
	skew := p.replica.skew
	p.run.mu.Unlock()
	return p.run.now().Add(skew + time.Duration(float64(p.run.elapsed())*p.replica.drift))
}

// patientClock is the clock of the budgets. A goroutine that reads it stops for a
// moment of its own, so that those which were woken at the same instant go on one
// after the other, always in the same order. A call may also be suspended between
// reading the clock and what it reads it for.
func (p *process) patientClock() time.Time {
	if who := p.run.current(); who != nil {
		return p.clock().Add(-who.step(p.run))
	}
	return p.clock()
}

// walker is a goroutine that uses budgets: that of a call, or of the test itself.
type walker struct {
	name  string
	steps int
}

// step stops the goroutine for a moment of its own, and returns how much later it
// goes on than it thinks.
func (w *walker) step(r *run) time.Duration {
	r.mu.Lock()
	w.steps++
	n := w.steps
	r.mu.Unlock()
	d := r.draw("step", w.name, n)
	time.Sleep(time.Duration(1 + d.Int64N(int64(time.Millisecond))))
	return time.Duration(d.Int64N(int64(maxLate)))
}

// maxLate is how long a goroutine may be suspended between reading the clock and
// using an allowance. The replica's lease ends half a second before the
// database's, of which the drift of clocks takes a fifth.
const maxLate = 300 * time.Millisecond

// routine names the goroutine that calls.
func routine() string {
	var buffer [40]byte
	name, _, _ := bytes.Cut(buffer[len("goroutine "):runtime.Stack(buffer[:], false)], []byte(" "))
	return string(name)
}

// enter says who the goroutine is that calls, until leave.
func (r *run) enter(who *walker) (leave func()) {
	me := routine()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.walkers[me] = who
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.walkers, me)
	}
}

// current is who the goroutine is that calls, if it has entered.
func (r *run) current() *walker {
	name := routine()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.walkers[name]
}

// pause is the end of the pause of the process.
func (p *process) pause() time.Time {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return p.pausedUntil
}

// cutFor is how long the process is still cut off.
func (p *process) cutFor() time.Duration {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return time.Until(p.cutUntil)
}

func (p *process) isDead() bool {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return p.dead
}

// resume waits until the process is not paused.
func (p *process) resume(after time.Duration) {
	for until := p.pause(); time.Now().Before(until); until = p.pause() {
		time.Sleep(time.Until(until) + after)
	}
}

// kill ends a process at once: nothing of its memory is left, and its goroutines
// have no effect any more.
func (p *process) kill() {
	p.run.mu.Lock()
	p.dead, p.killedAt, p.replica.now = true, time.Now(), nil
	p.run.counts.kills++
	p.run.logNow("%s is killed", p.name)
	p.run.mu.Unlock()
	p.end()
}

// finish stops a process as a deployment does: no further calls, the rest of the
// ledger, the end of the lease.
func (p *process) finish() {
	p.run.mu.Lock()
	p.stopping, p.replica.now = true, nil
	p.run.logNow("%s stops", p.name)
	p.run.mu.Unlock()
	for p.busy() {
		time.Sleep(time.Second)
	}
	p.end()
	p.ended.Wait()
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	if !p.dead {
		p.dead, p.killedAt = true, time.Now()
		p.run.logNow("%s has stopped", p.name)
	}
}

// busy says whether calls run.
func (p *process) busy() bool {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	for _, c := range p.run.calls {
		if c.of == p && !c.left {
			return !p.dead
		}
	}
	return false
}
