package console

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/tests/gatewaytest"
)

// TestAStatementIsReadAndItsFileAddsUp opens the page, and reads the file that it saves as a spreadsheet does.
func TestAStatementIsReadAndItsFileAddsUp(t *testing.T) {
	t.Parallel()
	database := "sqlite:" + t.TempDir() + "/gateway.db"
	eachRoot(t, func(t *testing.T, p *page) {
		called(t, p, 3)
		token, team := p.Administrator(t), "=SUM(A1) "+p.view.name
		id := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", fmt.Sprintf(`{"name":%q}`, team), token...), "id")
		secret := gatewaytest.Field(t, p.Call(t, "POST", "/admin/keys", fmt.Sprintf(`{"name":"ci","team_id":%q}`, id), token...), "key")
		a := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+secret, "X-Gateway-Project", "-2")
		if a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		gatewaytest.Until(t, "the sums have the call", func() bool {
			return strings.Contains(p.Call(t, "GET", "/admin/usage?group_by=team", "", token...).Body, team)
		})

		p.visit("/statement")
		p.see("It is complete a day after the month has ended.")
		p.see("claude-haiku-4-5")
		p.inspect("statement")
		p.choose("Group by", "By team")
		p.see(team)
		p.choose("Month", time.Now().AddDate(0, 0, -time.Now().Day()).Format("January 2006"))
		p.see("No calls in")
		p.visit("/statement?by=project")
		p.see("-2")

		file := p.save()
		rows, err := csv.NewReader(strings.NewReader(file)).ReadAll()
		columns := "month team user project model provider calls input_tokens cached_tokens output_tokens cost_usd"
		if err != nil || len(rows) < 3 || strings.Join(rows[0], " ") != columns {
			t.Fatalf("%v: %s", err, file)
		}
		db := gatewaytest.OpenSQL(t, database)
		var calls, cost int64
		if err := db.QueryRowContext(t.Context(), "SELECT count(*), sum(cost) FROM ledger").Scan(&calls, &cost); err != nil {
			t.Fatal(err)
		}
		sumCalls, sumCost, defused := int64(0), api.USD(0), false
		for _, row := range rows[1:] {
			var n int64
			usd, ok := api.ParseUSD(row[10])
			if _, err := fmt.Sscan(row[6], &n); err != nil || !ok {
				t.Errorf("%q: %v", row, err)
			}
			sumCalls, sumCost = sumCalls+n, sumCost+usd
			for _, cell := range row {
				if cell != "" && strings.ContainsAny(cell[:1], "=+-@") {
					t.Errorf("a spreadsheet takes %q for a formula", cell)
				}
			}
			defused = defused || row[1] == "'"+team && row[3] == "'-2"
		}
		if sumCalls != calls || sumCost != api.USD(cost) || cost == 0 || !defused {
			t.Errorf("%d calls for %s of the ledger's %d for %s: %s", sumCalls, sumCost, calls, api.USD(cost), file)
		}
	}, "DATABASE_URL="+database)
}
