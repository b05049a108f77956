package takeover

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/gatewaytest"
)

// checkWhole checks that everything was taken, and nothing twice.
func (m *move) checkWhole(t *testing.T) {
	t.Helper()
	if done, kept := m.take(t); done != (counts{}) || kept != "" {
		t.Errorf("a further run: %+v %s", done, kept)
	}
	m.checkBudgets(t)
	m.checkPeople(t)
	for table, want := range map[string]int64{
		"api_keys": 500, "users": 53, "takeovers WHERE taken LIKE '%\"linked\":true%'": 0, "teams WHERE name LIKE '%(LiteLLM%'": 0,
		"teams WHERE id NOT IN (SELECT id FROM takeovers)": 0, "api_keys WHERE id NOT IN (SELECT id FROM takeovers)": 0,
		"users WHERE id NOT IN (SELECT id FROM takeovers)": 0, "spend WHERE day NOT LIKE '%litellm'": 0,
	} {
		if got := gatewaytest.Sum(t, m.db, "SELECT count(*) FROM "+table); got != want {
			t.Errorf("%d rows in %s, want %d", got, table, want)
		}
	}
}

func TestARunThatIsKilledIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		m := newMove(t, "newest", settings)
		m.thereUnchanged(t)
		taken := func() int64 { return gatewaytest.Sum(t, m.db, "SELECT count(*) FROM takeovers") }
		inside := 0
		for _, at := range []int64{1, 130, 260, 400, 480} {
			run, _ := m.start(t)
			gatewaytest.Until(t, fmt.Sprintf("%d are taken", at), func() bool { return taken() >= at })
			if err := run.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = run.Wait() // killed
			if n := taken(); n < 568 {
				inside++
			}
		}
		if inside < 3 {
			t.Errorf("only %d runs were killed in their midst", inside)
		}
		m.take(t)
		m.checkWhole(t)
	})
}

func TestRunsAtTheSameTimeTakeNothingTwice(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		m := newMove(t, "2026-02", settings)
		var runs sync.WaitGroup
		for range 3 {
			runs.Go(func() {
				if code, out, faults := m.try(t, "--accept-losses"); code != 0 {
					t.Errorf("exit code %d: %s%s", code, out, faults[max(0, len(faults)-300):])
				}
			})
		}
		runs.Wait()
		m.take(t)
		m.checkWhole(t)
	})
}

// While a LiteLLM is followed, calls spend there and here.
func TestAFollowedLiteLLM(t *testing.T) {
	t.Parallel()
	m := newMove(t, "newest", servers(t))
	p := m.gateway(t, 3)
	keys := m.usable(hasAccount)[:40]
	run, output := m.start(t, "--follow")
	began := time.Now()
	stop := make(chan struct{})
	var calls sync.WaitGroup
	calls.Go(func() { // fifty a second
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-tick.C:
				m.there.Spend(t, keys[rand.IntN(len(keys))].Token, float64(rand.IntN(5000))/3e6)
			case <-stop:
				return
			}
		}
	})
	here := make([]int64, len(keys))
	calls.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(30 * time.Millisecond):
				if chat(t, p, keys[i%len(keys)].Text, "gpt-4o").Status == 200 {
					here[i%len(keys)] += 3
				}
			}
		}
	})
	gatewaytest.Until(t, "it was followed twice", func() bool { return strings.Count(output.String(), "taken over: ") > 2 })
	close(stop)
	calls.Wait()
	if time.Since(began) < 20*time.Second {
		t.Errorf("two rounds in %v", time.Since(began))
	}
	if err := run.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		t.Errorf("%v: %s", err, output.String())
	}
	there := gatewaytest.OpenSQL(t, m.there.Address)
	users, teams := map[string]int64{}, map[string]int64{}
	var all int64
	check := func(kind, foreignID, spend string, own int64) {
		t.Helper()
		account := models.BudgetKind(kind).Account(m.idOf(t, kind, foreignID))
		sum := func(where string) int64 {
			return gatewaytest.Sum(t, m.db, "SELECT CAST(SUM(cost) AS BIGINT) FROM spend WHERE account = '"+account+"' AND day "+where)
		}
		want := gatewaytest.Sum(t, there, "SELECT CASE WHEN budget_reset_at < now() AT TIME ZONE 'utc' THEN 0 ELSE round((spend * 1000000)::numeric)::bigint END FROM "+spend)
		gatewaytest.Until(t, "the calls here are charged", func() bool { return sum("NOT LIKE '%litellm'") >= own })
		if taken, mine := sum("LIKE '%litellm'"), sum("NOT LIKE '%litellm'"); taken != want || mine != own {
			t.Errorf("%s %s has spent %d there and %d here, want %d and %d", kind, foreignID, taken, mine, want, own)
		}
	}
	for i, k := range keys {
		users[k.UserID] += here[i]
		if k.TeamID != "" {
			teams[k.TeamID] += here[i]
		}
		all += here[i]
		check("key", k.Token, `"LiteLLM_VerificationToken" WHERE token = '`+k.Token+"'", here[i])
	}
	for id, own := range users {
		check("user", id, `"LiteLLM_UserTable" WHERE user_id = '`+id+"'", own)
	}
	for id, own := range teams {
		check("team", id, `"LiteLLM_TeamTable" WHERE team_id = '`+id+"'", own)
	}
	if all < 100 {
		t.Errorf("only %d micro-dollars are spent here", all)
	}
	if strings.Contains(output.String(), "tries again") {
		t.Error(output.String())
	}
	if _, err := os.Stat(m.dir + "/litellm-models.yaml"); err != nil {
		t.Error(err)
	}
}
