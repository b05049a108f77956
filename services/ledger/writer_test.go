package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

// ledgerLog keeps the log for a test.
type ledgerLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *ledgerLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *ledgerLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newLedger(store *models.Store) (*Writer, *ledgerLog) {
	var log ledgerLog
	l := NewWriter(Options{Store: store, Replica: "r1", Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now})
	l.every, l.pause = 10*time.Millisecond, 10*time.Millisecond
	return l, &log
}

// runLedger runs l until the test ends or the returned function is called,
// which waits for it.
func runLedger(t testing.TB, l *Writer) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

var made atomic.Int64

// newCallID is an id that no other call has.
func newCallID(at time.Time) string { return storetest.CallID(at, fmt.Sprint(made.Add(1))) }

func ledgerCall(model string) models.Call {
	at := time.Now()
	return models.Call{
		ID:          newCallID(at),
		Model:       model,
		Outcome:     models.OutcomeOK,
		Priced:      true,
		Cost:        3,
		InputTokens: 2,
		BeganAt:     at.UnixMicro(),
	}
}

func countRows(t *testing.T, h *storetest.Database, query string) int {
	t.Helper()
	n, err := strconv.Atoi(h.Query(t, query)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestARowIsWrittenWithinTheInterval(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		l, _ := newLedger(h.Store)
		runLedger(t, l)
		l.Add(ledgerCall("m"))
		storetest.Until(t, "written", func() bool { return l.Stats().Written == 1 })
		if n := countRows(t, h, "SELECT count(*) FROM ledger_calls"); n != 1 || l.Stats() != (Stats{Written: 1}) {
			t.Errorf("%d rows, %+v", n, l.Stats())
		}
	})
}

func TestAFullBatchIsWrittenAtOnce(t *testing.T) {
	h := storetest.SQLite(t)
	l, _ := newLedger(h.Store)
	l.every = time.Hour
	runLedger(t, l)
	for range ledgerBatch + 7 { // of which the last do
		l.Add(ledgerCall("m"))
	}
	storetest.Until(t, "written", func() bool { return l.Stats().Written >= ledgerBatch })
	for range ledgerBatch {
		l.Add(ledgerCall("m"))
	}
	storetest.Until(t, "written", func() bool { return l.Stats() == Stats{Queued: 7, Written: 2 * ledgerBatch} })
}

func TestSingleRowsAreWrittenInOneBatch(t *testing.T) {
	h := storetest.SQLite(t)
	l, _ := newLedger(h.Store)
	l.every = 100 * time.Millisecond
	transactions := 0
	l.opts.Written = func([]models.Call) { transactions++ }
	began := time.Now()
	stop := runLedger(t, l)
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for range 300 {
		<-pace.C
		call := ledgerCall("m")
		call.Holds[0].Account = "gateway"
		l.Add(call)
	}
	stop()
	if most := int(time.Since(began)/l.every) + 2; transactions > most {
		t.Errorf("%d transactions, of at most %d", transactions, most)
	}
}

func TestDroppedRowsAreLoggedWhileOthersAreWritten(t *testing.T) {
	h := storetest.SQLite(t)
	l, log := newLedger(h.Store)
	l.queue.capacity = 5
	for range 7 {
		l.Add(ledgerCall("m"))
	}
	l.writeAll(t.Context(), t.Context(), true)
	if text := log.String(); !strings.Contains(text, "calls=2") {
		t.Errorf("the log: %s", text)
	}
}

func TestQueuedRowsAreWrittenWhenTheGatewayStops(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		l, log := newLedger(h.Store)
		l.every = time.Hour
		const rows = 2*ledgerBatch + 34
		for range rows {
			l.Add(ledgerCall("m"))
		}
		if stats := l.Stats(); stats.Queued != rows {
			t.Errorf("%+v", stats)
		}
		runLedger(t, l)()
		if n := countRows(t, h, "SELECT count(*) FROM ledger_calls"); n != rows || l.Stats() != (Stats{Written: rows}) || log.String() != "" {
			t.Errorf("%d rows, %+v, %s", n, l.Stats(), log)
		}
		l.Add(ledgerCall("late"))
		if l.Stats().Dropped != 1 {
			t.Errorf("a row after the end: %+v", l.Stats())
		}
	})
}

func TestRowsThatCannotBeWrittenAtShutdownAreLogged(t *testing.T) {
	store, err := models.Open("postgres://nobody:pw@127.0.0.1:1/none")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	l, log := newLedger(store)
	l.lastWrite = 300 * time.Millisecond
	stop := runLedger(t, l)
	for range 7 {
		l.Add(ledgerCall("m"))
	}
	storetest.Until(t, "tried", func() bool { return l.Stats().Failures > 0 })
	before := l.Stats().Failures
	began, late := time.Now(), longtest.Lateness(t)
	stop()
	if took := time.Since(began); took < l.lastWrite || took > 3*time.Second+late() || l.Stats().Failures < before+3 {
		t.Errorf("it tried for %s: %+v", took, l.Stats())
	}
	if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "calls=7") ||
		strings.Count(text, "the gateway tries again") != 1 {
		t.Errorf("the log: %s", text)
	}
}

func TestDroppedRowsAreCountedAndLoggedOnceAMinute(t *testing.T) {
	h := storetest.SQLite(t)
	l, log := newLedger(h.Store)
	c := clock{time.Now()}
	l.opts.Now = c.now
	l.queue.capacity = 10
	for i := range 40 {
		l.Add(ledgerCall("m"))
		if i == 14 || i == 39 {
			l.logDropped()
		}
	}
	if text := log.String(); l.Stats() != (Stats{Queued: 10, Dropped: 30}) || strings.Count(text, "level=ERROR") != 1 ||
		!strings.Contains(text, "calls=5") {
		t.Errorf("%+v, %s", l.Stats(), text)
	}
	c.at = c.at.Add(time.Minute)
	l.logDropped()
	l.logDropped()
	if text := log.String(); strings.Count(text, "level=ERROR") != 2 || !strings.Contains(text, "calls=25") {
		t.Error(text)
	}
	l.Add(ledgerCall("m"))
	runLedger(t, l)()
	if n := countRows(t, h, "SELECT count(*) FROM ledger_calls"); n != 10 || strings.Count(log.String(), "calls=1\n") != 1 {
		t.Errorf("%d rows, and at the end: %s", n, log)
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	l, _ := newLedger(nil)
	for range ledgerQueued + 1 {
		l.Add(models.Call{})
	}
	if stats := l.Stats(); stats.Queued != 50_000 || stats.Dropped != 1 {
		t.Errorf("%+v", stats)
	}
}

func TestTheQueueKeepsOrderAndReleasesWrittenRows(t *testing.T) {
	q := queue{capacity: 1 << 20}
	next, expected := 0, 0
	for range 6 {
		for range 6*ledgerBatch + 7 {
			q.add(&models.Call{Attempts: next})
			next++
		}
		for batch := q.take(true); len(batch) > 0; batch = q.take(true) {
			for i := range batch {
				if batch[i].Attempts != expected {
					t.Fatalf("%d after %d", batch[i].Attempts, expected-1)
				}
				expected++
			}
			q.reuse(batch)
			if batch[0] != (models.Call{}) {
				t.Fatal("a row that was written is still held")
			}
		}
	}
	if next != expected || cap(q.spare) > 2*ledgerBatch {
		t.Errorf("%d of %d, room for %d spare", expected, next, cap(q.spare))
	}
}

func TestARowThatIsRefusedIsDroppedAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		statement := "ALTER TABLE ledger_names ADD CONSTRAINT no CHECK (text <> 'bad')"
		if h.Driver == "sqlite" {
			statement = "CREATE TRIGGER no BEFORE INSERT ON ledger_names WHEN NEW.text = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
		}
		h.Query(t, statement)
		l, log := newLedger(h.Store)
		var paid int64
		l.opts.Written = func(calls []models.Call) {
			for i := range calls {
				paid += calls[i].Cost
			}
		}
		const rows = 2 * ledgerBatch
		for i := range rows {
			model := "good"
			if i == 123 || i == 423 {
				model = "bad"
			}
			call := ledgerCall(model)
			call.Holds[0].Account = "gateway"
			l.Add(call)
		}
		runLedger(t, l)()
		if l.Stats() != (Stats{Written: rows - 2, Dropped: 2}) || countRows(t, h, "SELECT count(*) FROM ledger_calls") != rows-2 ||
			paid != 3*(rows-2) {
			t.Errorf("%+v, %d rows, paid %d", l.Stats(), countRows(t, h, "SELECT count(*) FROM ledger_calls"), paid)
		}
		if strings.Count(log.String(), "refuses a row") != 2 || l.size != ledgerBatch {
			t.Errorf("batches of %d, %s", l.size, log)
		}
	})
}

func TestRowsWithInvalidTextsAndNumbersAreStored(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		l, log := newLedger(h.Store)
		for i, bad := range []string{"a\x00b", "a\xffb", strings.Repeat("x", 9000), strings.Repeat("é", 200) + "\xff", "'; DROP TABLE calls; --"} {
			call := ledgerCall(bad)
			call.RequestID, call.UserID, call.KeyID, call.Served, call.Provider, call.ErrorCode = bad, bad, bad, bad, bad, bad
			call.InputTokens, call.OutputTokens, call.Cost, call.Status, call.Attempts = 1<<62, -5, 1<<62, 1<<40, -1
			call.BeganAt += int64(i)
			l.Add(call)
		}
		runLedger(t, l)()
		if l.Stats() != (Stats{Written: 5}) || log.String() != "" {
			t.Errorf("%+v %s", l.Stats(), log)
		}
		if n := countRows(t, h, "SELECT count(*) FROM ledger_calls WHERE model = 'ab' AND request_id = 'ab' AND error_code = 'ab' AND output_tokens = 0 AND cost > 1000000"); n != 2 {
			t.Errorf("%d rows were cleaned", n)
		}
		if n := countRows(t, h, "SELECT max(length(model)) FROM ledger_calls"); n != 256 {
			t.Errorf("the longest text has %d letters", n)
		}
		if n := countRows(t, h, "SELECT count(*) FROM spend WHERE account = 'gateway' AND cost = 5000000000000000"); n != 1 {
			t.Error(h.Query(t, "SELECT cost FROM spend"))
		}
	})
}

func TestAllRowsAreWrittenOnceTheSchemaExists(t *testing.T) {
	store, err := models.Open(servertest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	l, log := newLedger(store)
	runLedger(t, l)
	call := ledgerCall("m")
	if call.ID = l.NewCallID(time.Now()); call.ID != "" {
		t.Errorf("an id before there is a schema: %s", call.ID)
	}
	l.Add(call)
	storetest.Until(t, "tried", func() bool { return l.Stats().Failures > 1 })
	if err := l.opts.Store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	storetest.Until(t, "written",
		func() bool { return l.Stats().Written == 1 && strings.Contains(log.String(), "written again") })
	if text := log.String(); strings.Count(text, "could not be written") != 1 || l.Stats().Dropped != 0 {
		t.Errorf("%+v %s", l.Stats(), text)
	}
}

func TestEachRowIsStoredOnceAfterADatabaseOutage(t *testing.T) {
	server := servertest.StartPostgres(t)
	h := storetest.Postgres(t, server.URL)
	h.Query(t, "INSERT INTO budget_holds (account, since, replica, amount) VALUES ('gateway', '', 'r1', 1000000)")
	l, _ := newLedger(h.Store)
	var paid int64
	l.opts.Written = func(calls []models.Call) {
		for i := range calls {
			paid += calls[i].Cost
		}
	}
	stop := runLedger(t, l)
	ended := make(chan struct{})
	var adding sync.WaitGroup
	var rows [2]int
	for i := range rows {
		adding.Go(func() {
			pace := time.NewTicker(time.Millisecond)
			defer pace.Stop()
			for {
				select {
				case <-ended:
					return
				case <-pace.C:
					for range 3 {
						call := ledgerCall("m")
						call.Holds[1].Account = "gateway"
						l.Add(call)
						rows[i]++
					}
				}
			}
		})
	}
	written := func(more int64) {
		t.Helper()
		target := l.Stats().Written + more
		storetest.Until(t, "written", func() bool { return l.Stats().Written >= target })
	}
	for range 3 {
		written(200)
		failures := l.Stats().Failures
		server.Kill()
		storetest.Until(t, "failing", func() bool { return l.Stats().Failures > failures })
		server.Restart()
	}
	written(200)
	server.Freeze()
	failures := l.Stats().Failures
	storetest.Until(t, "failing", func() bool { return l.Stats().Failures > failures })
	server.Thaw()
	written(200)
	close(ended)
	adding.Wait()
	stop()
	want := rows[0] + rows[1]
	stats := l.Stats()
	if stats.Written != int64(want) || stats.Dropped != 0 || stats.Queued != 0 || paid != int64(3*want) {
		t.Errorf("%d rows, paid %d, %+v", want, paid, stats)
	}
	for query, n := range map[string]int{
		"SELECT count(*) FROM ledger_calls":                   want,
		"SELECT sum(cost) FROM spend WHERE account='gateway'": 3 * want,
		"SELECT amount FROM budget_holds":                     1000000 - 3*want,
	} {
		if got := countRows(t, h, query); got != n {
			t.Errorf("%s = %d, want %d", query, got, n)
		}
	}
}

// Longer than SQLite itself waits for a lock, and than a query may take.
func TestNoRowIsLostWhileAnotherProcessLocksSQLite(t *testing.T) {
	t.Parallel()
	h := storetest.SQLite(t)
	l, log := newLedger(h.Store)
	db, err := sql.Open(h.Driver, h.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	stop := runLedger(t, l)
	const rows = ledgerBatch + 40
	for range rows {
		l.Add(ledgerCall("m"))
	}
	storetest.Until(t, "it has failed", func() bool { return l.Stats().Failures > 0 })
	if _, err := db.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	storetest.Until(t, "written", func() bool { return l.Stats().Written == rows })
	stop()
	if n := int(storetest.Total(t, h.Store).Calls); n != rows || countRows(t, h, "SELECT count(*) FROM ledger_calls") != rows ||
		l.Stats().Dropped != 0 {
		t.Errorf("%d rows, %+v, %s", n, l.Stats(), log)
	}
}

func TestOldRowsAreDeletedWhileOthersAreWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		l, log := newLedger(h.Store)
		l.opts.Retention = 90 * 24 * time.Hour
		l.sweepFirst = time.Millisecond
		const old = 2*sweepBatch + 10
		for i := range old {
			call := ledgerCall("old")
			at := time.Now().Add(-l.opts.Retention - time.Hour)
			call.ID, call.BeganAt = newCallID(at.Add(time.Duration(i))), at.UnixMicro()
			l.Add(call)
		}
		kept := ledgerCall("kept")
		at := time.Now().Add(-l.opts.Retention + time.Hour)
		kept.ID, kept.BeganAt = newCallID(at), at.UnixMicro()
		l.Add(kept)
		ctx, cancel := context.WithCancel(t.Context())
		for l.Stats().Queued > 0 {
			l.writeAll(ctx, ctx, true)
		}
		cancel()
		stop := runLedger(t, l)
		added := 1
		storetest.Until(t, "deleted", func() bool {
			l.Add(ledgerCall("new"))
			added++
			return countRows(t, h, "SELECT count(*) FROM ledger_calls WHERE model = 'old'") == 0
		})
		stop()
		if n := countRows(t, h, "SELECT count(*) FROM ledger_calls"); n != added || log.String() != "" {
			t.Errorf("%d rows are left of %d, %s", n, added, log)
		}
		if n := int(storetest.Total(t, h.Store).Calls); n != old+added {
			t.Errorf("the sums have %d calls", n)
		}
	})
}

func TestWithoutRetentionNoRowIsDeleted(t *testing.T) {
	h := storetest.SQLite(t)
	l, _ := newLedger(h.Store)
	l.sweepFirst = 0
	call := ledgerCall("old")
	call.ID = newCallID(time.Unix(1, 0))
	l.Add(call)
	ended := make(chan struct{})
	go func() { l.deleteOld(t.Context()); close(ended) }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("it looks for old rows")
	}
	runLedger(t, l)()
	if n := countRows(t, h, "SELECT count(*) FROM ledger_calls"); n != 1 {
		t.Errorf("%d rows", n)
	}
}
