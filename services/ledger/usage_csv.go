package ledger

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// FileName names a file with the report, without its extension.
func (r *UsageReport) FileName() string {
	safe := func(at string) string { return strings.ReplaceAll(at, ":", "") } // Windows forbids colons
	return "usage-" + safe(r.From) + "-to-" + safe(r.To)
}

// CSV is the list as a table with a header: a line for each step and group where there is
// a series, else one for each group. Times are in UTC.
func (r *UsageReport) CSV(list *api.UsageList) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	names := csvNames(r.By)
	if list.Series == nil {
		r.csvRows(w, names, list)
	} else {
		csvSeries(w, names, list.Series)
	}
	w.Flush() // a buffer accepts everything
	return out.Bytes()
}

func (r *UsageReport) csvRows(w *csv.Writer, names []csvName, list *api.UsageList) {
	header := []string{
		"calls", "failed", "estimated", "unpriced", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens",
		"reasoning_tokens", "total_tokens", "cost_usd", "cache_misses", "cache_miss_cost_usd",
	}
	if r.Details != nil {
		header = append(header, "first_token_ms_p50", "first_token_ms_p95", "duration_ms_p50", "duration_ms_p95")
	}
	_ = w.Write(append(csvHeader(names), header...))
	for i := range list.Data {
		row := &list.Data[i]
		cells := csvCells(names, &row.UsageNames)
		for _, n := range []int64{
			row.Calls, row.Failed, row.Estimated, row.Unpriced, row.InputTokens, row.CachedTokens, row.CacheWriteTokens,
			row.OutputTokens, row.ReasoningTokens, row.TotalTokens,
		} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		cells = append(cells, row.CostUSD.String(), strconv.FormatInt(row.CacheMisses, 10), row.CacheMissCostUSD.String())
		if r.Details != nil {
			cells = append(cells, csvNumber(row.FirstToken.P50), csvNumber(row.FirstToken.P95), csvNumber(row.Duration.P50),
				csvNumber(row.Duration.P95))
		}
		_ = w.Write(cells)
	}
}

func csvSeries(w *csv.Writer, names []csvName, series *api.UsageSeries) {
	_ = w.Write(slices.Concat([]string{"time"}, csvHeader(names), []string{
		"other_groups", "calls", "failed", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost_usd",
	}))
	for i, at := range series.Times {
		for j := range series.Groups {
			g := &series.Groups[j]
			cells := append([]string{time.Unix(at, 0).UTC().Format(time.RFC3339)}, csvCells(names, &g.UsageNames)...)
			for _, n := range []int64{
				int64(g.Other), g.Calls[i], g.Failed[i], g.InputTokens[i], g.CachedTokens[i], g.OutputTokens[i], g.ReasoningTokens[i],
			} {
				cells = append(cells, strconv.FormatInt(n, 10))
			}
			_ = w.Write(append(cells, g.CostUSD[i].String()))
		}
	}
}

func csvNumber(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// csvTime are Unix seconds; empty for none.
func csvTime(seconds int64) string {
	if seconds == 0 {
		return ""
	}
	return strconv.FormatInt(seconds, 10)
}

// csvName is a column that says which group a line is of.
type csvName struct {
	header string
	value  func(*api.UsageNames) string
}

func csvNames(by []models.UsageBy) []csvName {
	maybe := func(m *api.Maybe) string {
		if m == nil {
			return ""
		}
		return string(*m)
	}
	var all []csvName
	add := func(of models.UsageBy, names ...csvName) {
		if slices.Contains(by, of) {
			all = append(all, names...)
		}
	}
	provider := csvName{"provider", func(n *api.UsageNames) string { return maybe(n.Provider) }}
	add(models.ByDay, csvName{"day", func(n *api.UsageNames) string { return n.Day }})
	add(models.ByUser, csvName{"user_id", func(n *api.UsageNames) string { return maybe(n.UserID) }},
		csvName{"user_email", func(n *api.UsageNames) string { return n.UserEmail }},
		csvName{"user_deleted_at", func(n *api.UsageNames) string { return csvTime(n.UserDeletedAt) }})
	add(models.ByKey, csvName{"key_id", func(n *api.UsageNames) string { return maybe(n.KeyID) }},
		csvName{"key_name", func(n *api.UsageNames) string { return n.KeyName }})
	add(models.ByTeam, csvName{"team_id", func(n *api.UsageNames) string { return maybe(n.TeamID) }},
		csvName{"team_name", func(n *api.UsageNames) string { return n.TeamName }})
	add(models.ByModel, csvName{"model", func(n *api.UsageNames) string { return n.Model }}, provider)
	if !slices.Contains(by, models.ByModel) {
		add(models.ByProvider, provider)
	}
	add(models.ByAgent, csvName{"agent", func(n *api.UsageNames) string { return maybe(n.Agent) }})
	add(models.ByProject, csvName{"project", func(n *api.UsageNames) string { return maybe(n.Project) }})
	return all
}

func csvHeader(names []csvName) []string {
	header := make([]string, len(names))
	for i := range names {
		header[i] = names[i].header
	}
	return header
}

// csvCells are the names of a group.
func csvCells(names []csvName, of *api.UsageNames) []string {
	cells := make([]string, len(names))
	for i := range names {
		cells[i] = api.Cell(names[i].value(of))
	}
	return cells
}
