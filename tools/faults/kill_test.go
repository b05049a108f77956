package faults

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the gateway's own driver

	"modelgateway/tests/servertest"
)

func TestKillsUnderWritesLoseNothingInSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gateway.db")
	k := newKilling(t, "DATABASE_URL=sqlite:"+path)
	for round := range size(5, 100) {
		if round%5 == 4 {
			k.duringStart()
		}
		k.underWrites(fmt.Sprint("round", round), k.g.kill)
		k.restart()
		k.verify()
		intact(t, path)
	}
	k.j.verify(k.g, 0, 0)
	k.report("kill -9 under writes on SQLite loses nothing", "integrity ok")
}

// intact checks the file with SQLite itself, beside the gateway that has it
// open.
func intact(t testing.TB, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var text string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&text); err != nil || text != "ok" {
		t.Errorf("integrity_check: %s %v", text, err)
	}
}

// In some rounds PostgreSQL is killed, and in some both.
func TestKillsUnderWritesLoseNothingInPostgreSQL(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.Durable)
	k := newKilling(t, "DATABASE_URL="+server.URL)
	databases := 0
	var slowestReturn time.Duration
	for round := range size(5, 100) {
		name := fmt.Sprint("round", round)
		if round%5 == 1 {
			k.underWrites(name+"database", server.Kill)
			databases++
			server.Restart()
			slowestReturn = max(slowestReturn, k.ready())
			k.verify()
		}
		if round%5 == 3 {
			k.underWrites(name, func() {
				server.Kill()
				time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
				k.g.kill()
			})
			databases++
			server.Restart()
		} else {
			k.underWrites(name, k.g.kill)
		}
		k.restart()
		k.verify()
	}
	k.j.verify(k.g, 0, 0)
	k.report(
		"kill -9 under writes on PostgreSQL loses nothing",
		fmt.Sprintf("PostgreSQL itself killed %d times, ready again at most %s after its return", databases,
			slowestReturn.Round(time.Millisecond)),
	)
}

// killing is one gateway that is killed repeatedly on one database.
type killing struct {
	t        testing.TB
	settings []string
	g        *gateway
	j        *journal
	kills    int
	slowest  time.Duration // from the start of the process until it is ready

	users, keys int // that have been verified
	turn        int // of the users, to write
}

// newKilling starts the gateway, with the first users in it.
func newKilling(t testing.TB, settings ...string) *killing {
	t.Helper()
	gatewayBinary(t) // building it belongs to no start
	k := &killing{t: t, settings: append(settings, authSettings()...), j: &journal{}}
	k.restart()
	k.j.register(k.g, "first", 3, nil)
	k.verify()
	return k
}

// restart starts the gateway and waits until it is ready.
func (k *killing) restart() {
	k.t.Helper()
	began := time.Now()
	k.g = startGateway(k.t, k.settings...)
	k.ready()
	took := time.Since(began)
	k.slowest = max(k.slowest, took)
	if took > 3*time.Second {
		k.t.Errorf("a start took %s, from %s on:\n%s", took, began.UTC().Format("15:04:05.000"), k.g.log())
	}
}

func (k *killing) ready() time.Duration {
	k.t.Helper()
	return within(k.t, 20*time.Second, "the gateway is ready", func() bool { return k.g.status("/readyz") == http.StatusOK })
}

// underWrites kills at a random moment while users are registered and keys are
// created and revoked.
func (k *killing) underWrites(name string, strike func()) {
	k.t.Helper()
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() { k.j.register(k.g, name, 2, stop) })
	known := k.j.users[:k.users]
	for range min(3, len(known)) {
		k.turn++
		u := known[k.turn%len(known)]
		writing.Go(func() { k.j.write(k.g, u, stop) })
	}
	enough := k.j.acknowledgements() + rand.IntN(size(50, 100))
	within(k.t, 20*time.Second, "writes are acknowledged", func() bool {
		users := k.users
		if k.kills == 0 {
			users++ // a registration takes longer than the rest: the first round waits for one
		}
		return k.j.acknowledgements() >= enough && k.j.registered() >= users
	})
	time.Sleep(time.Duration(rand.IntN(10_000)) * time.Microsecond)
	strike()
	close(stop)
	writing.Wait()
	if k.g.ended() {
		k.kills++
	}
}

// duringStart kills a gateway at a random moment before, or just after, it
// listens. The running one is ended before.
func (k *killing) duringStart() {
	k.t.Helper()
	k.g.kill()
	g := launchGateway(k.t, k.settings...)
	time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
	g.kill()
	k.kills += 2
	k.restart()
}

// verify checks everything new, and a sample of the rest.
func (k *killing) verify() {
	k.j.verify(k.g, k.users, k.keys)
	k.users, k.keys = len(k.j.users), len(k.j.keys)
}

func (k *killing) report(promise, more string) {
	k.t.Helper()
	text := k.j.verdict(k.t)
	figure(k.t, promise, "%d kills of the gateway, %s; slowest start %s; %s", k.kills, text, k.slowest.Round(time.Millisecond), more)
	if k.j.revoked == 0 || len(k.j.keys) == 0 || len(k.j.users) < 4 {
		k.t.Error("nothing was written meanwhile")
	}
}
