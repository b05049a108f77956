package cli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/storetest"
)

func TestAStatementHasSubtotalsOfTeamsAndPeople(t *testing.T) {
	t.Parallel()
	withUsers(t, func(g *gateway, d *storetest.Database) {
		at := time.Date(2026, 10, 31, 20, 0, 0, 0, time.UTC)
		var calls []models.Call
		for i, of := range []struct {
			team, user, project string
			cost                int64
		}{
			{"", "ada", "", 1}, {"t1", "ada", "ship", 1_234_567_000_000}, {"t1", "bob", "ship", 2_000_000}, {"t1", "ada", "docs", 500_000},
		} {
			calls = append(calls, models.Call{
				ID: storetest.CallID(at, fmt.Sprint(i)), TeamID: of.team, UserID: of.user, Project: of.project, Model: "gpt-4", Provider: "openai",
				Outcome: models.OutcomeOK, InputTokens: 1000, CachedTokens: 10, OutputTokens: 5, Cost: of.cost, BeganAt: at.UnixMicro(),
			})
		}
		if err := d.Store.WriteCalls(t.Context(), "r", calls); err != nil {
			t.Fatal(err)
		}
		r := g.run("statement", "2026-10")
		want := `TEAM PERSON PROJECT MODEL CALLS INPUT CACHED OUTPUT COST
t1 ada@example.com ship gpt-4 1 1,000 10 5 $1234567.000000
t1 ada@example.com docs gpt-4 1 1,000 10 5 $0.500000
t1 ada@example.com total 2 2,000 20 10 $1234567.500000
t1 bob@example.com ship gpt-4 1 1,000 10 5 $2.000000
t1 bob@example.com total 1 1,000 10 5 $2.000000
t1 total 3 3,000 30 15 $1234569.500000
none ada@example.com none gpt-4 1 1,000 10 5 $0.000001
none ada@example.com total 1 1,000 10 5 $0.000001
none total 1 1,000 10 5 $0.000001
total 4 4,000 40 20 $1234569.500001
`
		var got strings.Builder
		for line := range strings.Lines(r.out) {
			got.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
		if r.code != 0 || got.String() != want || !strings.Contains(r.err, "2026-10, UTC") {
			t.Errorf("%+v", r)
		}
		if all := g.json("statement", "2026-11", "--time-zone", "Asia/Kolkata"); all["total"].(map[string]any)["cost_usd"] != 1234569.500001 {
			t.Errorf("%v", all)
		}
		file := g.do("statement", "2026-10", "--csv")
		if !strings.HasPrefix(file, "month,team,user,") || strings.Count(file, "\n") != len(calls)+1 {
			t.Error(file)
		}
		file = g.do("statement", "2026-10", "--jsonl")
		if !strings.HasPrefix(file, `{"month":"2026-10",`) || strings.Count(file, "\n") != len(calls) {
			t.Error(file)
		}
		empty := strings.Join(strings.Fields(g.do("statement", "2026-09")), " ")
		if empty != "TEAM PERSON PROJECT MODEL CALLS INPUT CACHED OUTPUT COST total 0 0 0 0 $0.000000" {
			t.Error(empty)
		}
		g.refuses(1, []string{"has not begun"}, "statement", "9999-01")
		g.refuses(2, []string{"needs a month"}, "statement")
	})
}
