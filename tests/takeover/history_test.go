package takeover

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/gatewaytest"
)

// checkHistory compares the usage with the daily sums, by day, model and key.
func (m *move) checkHistory(t *testing.T, p *gatewaytest.Program, root []string) {
	t.Helper()
	there := gatewaytest.OpenSQL(t, m.there.Address)
	since := time.Now().UTC().AddDate(0, -3, 0).Format(time.DateOnly)
	statement := func(table, where string) string {
		return `SELECT date, model, api_key, SUM(api_requests)::bigint, SUM(prompt_tokens)::bigint, SUM(completion_tokens)::bigint, SUM(spend)
			FROM "LiteLLM_` + table + `" WHERE date >= '` + since + `'` + where + ` GROUP BY 1, 2, 3`
	}
	ids, want := map[string]string{}, map[string]string{}
	for _, row := range query(t, m.db, "SELECT foreign_id, id FROM takeovers WHERE kind = 'key'") {
		token, id, _ := strings.Cut(row, "|")
		ids[token] = id
	}
	add := func(rows []string) {
		for _, row := range rows {
			day, rest, _ := strings.Cut(row, "|")
			model, rest, _ := strings.Cut(rest, "|")
			token, sums, _ := strings.Cut(rest, "|")
			at := strings.LastIndexByte(sums, '|') + 1
			dollars, err := strconv.ParseFloat(sums[at:], 64)
			if err != nil {
				t.Fatal(row)
			}
			want[day+"|"+model+"|"+ids[token]] = sums[:at] + strconv.FormatInt(micros(dollars), 10)
		}
	}
	if m.there.Has("DailyTeamSpend") {
		add(query(t, there, statement("DailyTeamSpend", ` AND api_key NOT IN (SELECT api_key FROM "LiteLLM_DailyUserSpend")`)))
	}
	add(query(t, there, statement("DailyUserSpend", "")))
	got := map[string]string{}
	for day := range 41 {
		date := time.Now().UTC().AddDate(0, 0, -day).Format(time.DateOnly)
		a := must(t, 200, p.Call(t, "GET", "/admin/usage?group_by=day,model,key&agent=imported+from+LiteLLM&from="+date+"&to="+date, "", root...))
		var usage struct {
			Data []struct {
				Day, Model   string
				KeyID        string `json:"key_id"`
				Calls        int64
				InputTokens  int64   `json:"input_tokens"`
				OutputTokens int64   `json:"output_tokens"`
				CostUSD      float64 `json:"cost_usd"`
			}
		}
		a.JSON(t, &usage)
		for _, row := range usage.Data {
			got[row.Day+"|"+row.Model+"|"+row.KeyID] = fmt.Sprintf("%d|%d|%d|%d", row.Calls, row.InputTokens, row.OutputTokens, micros(row.CostUSD))
		}
	}
	if len(want) < 1000 {
		t.Errorf("%d sums", len(want))
	}
	faults := 0
	for name, sums := range want {
		if got[name] != sums {
			if faults++; faults < 10 {
				t.Errorf("usage of %s: %q, want %q", name, got[name], sums)
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d sums of usage, want %d", len(got), len(want))
	}
}

// mergeUsage does what a running gateway does each minute.
func (m *move) mergeUsage(t *testing.T) {
	t.Helper()
	store, err := models.Open(strings.TrimPrefix(m.settings[0], "DATABASE_URL="))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	for _, at := range []time.Time{time.Now(), time.Now().Add(3 * models.UsageMinutesKept)} {
		for more := true; more; {
			if more, err = store.MergeUsage(t.Context(), at); err != nil {
				t.Fatal(err)
			}
		}
	}
}
