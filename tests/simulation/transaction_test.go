package simulation

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// transaction is one of a process. It reaches the database with its first
// statement, and has the database for itself from then on.
type transaction struct {
	conn   *conn
	ctx    context.Context //nolint:containedctx // the driver's interface gives Commit no other
	cancel context.CancelFunc
	name   string
	fate   fate
	sent   time.Time
	begun  bool // it has reached the database
	closed atomic.Bool
	saves  []holdKey
}

// fate is what happens to a transaction on its way, drawn when it begins.
type fate struct {
	request, query, commit, answer time.Duration // how long each takes
	hurry                          time.Duration
	end                            end
}

// end is how a commit ends.
type end int

const (
	applied end = iota
	answerLost
	commitLost
)

func (e end) String() string { return [...]string{"applied", "applied, the answer is lost", "lost"}[e] }

var (
	errKilled  = errors.New("the process is killed")
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset")
)

// idleInTransaction is when the database ends the transaction of a process that does
// not go on with it: models/budget.go sets this time.
const idleInTransaction = 3 * time.Second

// fate draws for the next transaction of a name.
func (p *process) fate(name string) fate {
	r := p.run
	r.mu.Lock()
	p.fates[name]++
	n := p.fates[name]
	slow, flaky := r.isOn(&r.slowUntil), r.isOn(&r.flakyUntil)
	r.mu.Unlock()
	d := r.draw("fate", p.name, name, n)
	took := func() time.Duration {
		most := int64(3 * time.Millisecond)
		if slow && d.IntN(3) == 0 {
			most = int64(1500 * time.Millisecond)
		}
		return time.Duration(1 + d.Int64N(most))
	}
	f := fate{request: took(), query: took(), commit: took(), answer: took(), hurry: time.Duration(1 + d.Int64N(int64(3*time.Millisecond)))}
	if flaky {
		f.end = [...]end{answerLost, answerLost, commitLost, applied, applied, applied}[d.IntN(6)]
	}
	return f
}

// reach begins the transaction in the database.
func (t *transaction) reach(statement string, args []driver.NamedValue) error {
	p := t.conn.of
	if t.begun {
		return p.connected()
	}
	t.name, t.sent = purpose(statement, args), time.Now()
	t.fate = p.fate(t.name)
	t.hurry()
	if err := p.travel(t.ctx, t.fate.request, false); err != nil {
		return err
	}
	db := p.run.db
	select {
	case db.lock <- struct{}{}:
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
	t.begun = true
	db.exec("BEGIN IMMEDIATE")
	if err := sleep(t.ctx, t.fate.query); err != nil {
		return err
	}
	p.run.watchLeases()
	return p.connected()
}

// notice notes which hold a statement saves or removes.
func (t *transaction) notice(statement string, args []driver.NamedValue) {
	if strings.HasPrefix(statement, "INSERT INTO budget_holds") || strings.HasPrefix(statement, "DELETE FROM budget_holds WHERE account = ?") {
		t.saves = append(t.saves, holdKey{fmt.Sprint(args[0].Value), fmt.Sprint(args[1].Value), fmt.Sprint(args[2].Value)})
	}
}

// hurry ends the transaction's time a moment of its own before the product does: two
// whose time would be up at the same instant fail one after the other.
func (t *transaction) hurry() {
	if end, ok := t.ctx.Deadline(); ok {
		t.ctx, t.cancel = context.WithDeadline(t.ctx, end.Add(-t.fate.hurry))
	}
}

// Commit returns when the answer has come, or the time is up. The database goes on
// with a commit whose client no longer waits.
func (t *transaction) Commit() error {
	t.conn.tx = nil
	if !t.begun {
		return nil
	}
	defer t.cancel()
	p := t.conn.of
	idle := time.AfterFunc(idleInTransaction, func() { t.close("ROLLBACK", commitLost) })
	err := p.travel(t.ctx, 0, true)
	if ended := !idle.Stop(); ended || err != nil || t.fate.end == commitLost {
		t.close("ROLLBACK", commitLost)
		return errors.Join(err, errReset)
	}
	done := make(chan struct{})
	go func() {
		time.Sleep(t.fate.commit)
		t.close("COMMIT", t.fate.end)
		close(done)
	}()
	select {
	case <-done:
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
	if t.fate.end == answerLost {
		return errReset
	}
	return p.travel(t.ctx, t.fate.answer, true)
}

// Rollback of a process that is cut off reaches the database only after some time.
func (t *transaction) Rollback() error {
	t.conn.tx = nil
	if !t.begun {
		return nil
	}
	defer t.cancel()
	if errors.Is(t.conn.of.connected(), errReset) {
		go func() {
			time.Sleep(idleInTransaction)
			t.close("ROLLBACK", commitLost)
		}()
		return nil
	}
	t.close("ROLLBACK", commitLost)
	return nil
}

// close ends the transaction in the database.
func (t *transaction) close(statement string, e end) {
	if !t.closed.CompareAndSwap(false, true) {
		return
	}
	db := t.conn.of.run.db
	db.exec(statement)
	if e != commitLost {
		db.run.committed(t)
	}
	db.run.log("%s %s: %v", t.conn.of.name, t.name, e)
	<-db.lock
}

// travel takes a message to the database or back. A message of a process that is
// paused waits, patiently also after ctx has ended; one of a process that is cut
// off is lost.
func (p *process) travel(ctx context.Context, took time.Duration, patient bool) error {
	waiting := ctx
	if patient {
		waiting = context.WithoutCancel(ctx)
	}
	if took > 0 {
		if err := sleep(waiting, took); err != nil {
			return err
		}
	}
	for until := p.pause(); time.Now().Before(until); until = p.pause() {
		if err := sleep(waiting, time.Until(until)+took); err != nil {
			return err
		}
	}
	err := p.connected()
	if !errors.Is(err, errReset) {
		return err
	}
	_ = sleep(ctx, p.cutFor()+took) // no answer comes, until the connection is found to be dead
	return err
}

// connected says whether a message gets through.
func (p *process) connected() error {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	switch {
	case p.dead:
		return errKilled
	case p.run.isOn(&p.cutUntil) && p.refused:
		return errRefused
	case p.run.isOn(&p.cutUntil):
		return errReset
	default:
		return nil
	}
}

// sleep waits, or returns why ctx has ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
