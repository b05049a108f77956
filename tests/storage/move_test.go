package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/storetest"
)

// moved is how many rows of the former release are moved, and how often that is interrupted. MOVED is another number
// of rows, such as 1000000.
func moved() (rows, kills int) {
	rows, kills = 4_000, 4
	if os.Getenv("LONG") != "" {
		rows, kills = 8_000, 10
	}
	if n, err := strconv.Atoi(os.Getenv("MOVED")); err == nil {
		rows = n
	}
	return rows, kills
}

// A gateway is killed several times while it moves the rows of the former release, which is gone back to once. No row and
// no micro-dollar is lost or counted twice.
func TestKillsWhileRowsAreMovedLoseNothing(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, fresh func() string) {
		address := fresh()
		settings := []string{"DATABASE_URL=" + address, "SIMULATOR=true", "REQUIRE_AUTH=false", "USAGE_RETENTION_DAYS=0"}
		store, err := models.Open(address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		db := gatewaytest.OpenSQL(t, address)
		formerly := func(until int64) {
			gatewaytest.Execute(t, db, "UPDATE ledger_state SET write_from = ?", until)
		}
		random, made := rand.New(rand.NewPCG(7, 8)), 0
		want := map[string]models.Sum{}
		write := func(rows int) {
			for rows > 0 {
				batch := make([]models.Call, min(rows, 250))
				hour := time.Now().Add(-time.Duration(1+random.IntN(80*24)) * time.Hour) // calls of one time are written together
				for i := range batch {
					at := hour.Add(time.Duration(random.Int64N(int64(time.Hour))))
					batch[i] = models.Call{
						ID: fmt.Sprintf("call_%016dformer%07d", at.UnixMicro(), made), RequestID: fmt.Sprint("former-", made),
						UserID: fmt.Sprint("u", random.IntN(9)), KeyID: fmt.Sprint("k", random.IntN(30)), Model: fmt.Sprint("m", random.IntN(4)),
						Provider: "openai", Outcome: models.OutcomeOK, Status: 200, Priced: true, Cost: random.Int64N(90_000),
						InputTokens: random.Int64N(5000), OutputTokens: random.Int64N(900), BeganAt: at.UnixMicro(), DurationUS: 5,
					}
					made++
					c := &batch[i]
					group := strings.Join([]string{models.DayOf(at), c.UserID, c.KeyID, c.Model}, " ")
					sum := want[group]
					sum.Add(&models.Sum{Calls: 1, InputTokens: c.InputTokens, OutputTokens: c.OutputTokens, Cost: c.Cost})
					want[group] = sum
				}
				err := store.WriteCalls(t.Context(), "former", batch)
				for again := 0; errors.Is(err, context.DeadlineExceeded) && again < 20; again++ { // of a busy machine; it counts once
					err = store.WriteCalls(t.Context(), "former", batch)
				}
				if err != nil {
					t.Fatal(err)
				}
				rows -= len(batch)
			}
		}
		const forEver = 253402300800
		all, killed := moved()
		formerly(forEver)
		write(all / 2)
		sums := storetest.Usage(t, db)
		left := func() int64 { return gatewaytest.Sum(t, db, "SELECT count(*) FROM calls") }
		kills := func(n int) {
			for range n {
				const oldest = "SELECT count(*) FROM calls WHERE id <= $1" // the oldest row is moved first
				var first sql.NullString
				if err := db.QueryRowContext(t.Context(), "SELECT min(id) FROM calls").Scan(&first); err != nil {
					t.Fatal(err)
				}
				p := gatewaytest.Launch(t, nil, settings...)
				// A transaction that took too long is tried again after a minute.
				gatewaytest.Eventually(t, 5*time.Minute, "rows are being moved", func() bool { return gatewaytest.Sum(t, db, oldest, first.String) == 0 })
				time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond)
				p.Signal(t, syscall.SIGKILL)
				p.Wait(t)
			}
		}
		formerly(0)
		kills(killed / 2)
		formerly(forEver) // gone back to the former release
		write(all - all/2)
		formerly(0)
		kills(killed / 2)
		began, waiting := time.Now(), left()
		t.Logf("%d of %d rows are not moved after %d kills", waiting, made, killed)
		p := gatewaytest.Start(t, settings...)
		p.Chat(t, gatewaytest.HelloRequest)
		gatewaytest.Eventually(t, 20*time.Minute, "all rows are moved", func() bool {
			time.Sleep(time.Second / 2)
			return gatewaytest.Sum(t, db, "SELECT count(*) FROM (SELECT 1 FROM calls LIMIT 1) AS rest") == 0
		})
		t.Logf("%d rows were moved in %s", waiting, time.Since(began).Round(time.Second))
		gatewaytest.Until(t, "the new call", func() bool { return gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger") == int64(made)+1 })

		got := map[string]models.Sum{}
		rows, err := db.QueryContext(t.Context(), `SELECT began_at, user_id, key_id, model, input_tokens, output_tokens, cost
			FROM ledger_calls WHERE request_id LIKE 'former-%'`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var at int64
			var user, key, model string
			one := models.Sum{Calls: 1}
			if err := rows.Scan(&at, &user, &key, &model, &one.InputTokens, &one.OutputTokens, &one.Cost); err != nil {
				t.Fatal(err)
			}
			group := strings.Join([]string{models.DayOf(time.UnixMicro(at)), user, key, model}, " ")
			sum := got[group]
			sum.Add(&one)
			got[group] = sum
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d groups of %d: %v", len(got), len(want), slices.Sorted(maps.Keys(got))[:3])
		}
		var total models.Sum
		for _, sum := range want {
			total.Add(&sum)
		}
		if after := storetest.Usage(t, db); after.Calls != total.Calls+1 || after.InputTokens < total.InputTokens || sums.Calls != int64(all/2) {
			t.Errorf("the sums have %d calls, not %d", after.Calls, total.Calls+1)
		}
		if distinct := gatewaytest.Sum(t, db, "SELECT count(DISTINCT request_id) FROM ledger"); distinct != total.Calls+1 {
			t.Errorf("%d different requests", distinct)
		}
	})
}
