package ledger

import (
	"cmp"
	"math"
	"slices"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// show adds the details to the report in the form of the API.
func (d *UsageDetails) show(r *UsageReport, list *api.UsageList, grouped map[models.UsageBy]bool) {
	c := d.count
	list.TimeZone, list.Step = d.zone, c.period.step.name
	if d.before > c.period.from.Unix() {
		list.DaysBefore = time.Unix(d.before, 0).UTC().Format(time.RFC3339)
	}
	names := make(map[*usageGroup]api.UsageNames, len(r.Rows))
	for i := range r.Rows {
		g := c.groups[nameOf(&r.Rows[i])]
		list.Data[i].FirstToken, list.Data[i].Duration = percentilesOf(&g.times.firstToken), percentilesOf(&g.times.duration)
		names[g] = list.Data[i].UsageNames
	}
	list.Total = c.totals()
	if c.period.step.name != "" {
		list.Series = c.series(names)
	}
	if p := d.previous; p != nil {
		list.Previous = &api.UsagePrevious{
			From: p.period.text(p.period.from, false), To: p.period.text(p.period.to, true), Total: p.totals(),
		}
		if c.period.step.name != "" {
			list.Previous.Series = p.previousSeries()
		}
	}
}

// nameOf is what the calls of a row have in common.
func nameOf(row *models.Usage) usageName {
	return usageName{row.Day, row.UserID, row.KeyID, row.TeamID, row.Model, row.Provider, row.Agent, row.Project}
}

// totals are the sums of all groups, with the errors by kind.
func (c *usageCount) totals() api.UsageTotals {
	t := usageTotals(&c.total)
	t.FirstToken, t.Duration = percentilesOf(&c.times.firstToken), percentilesOf(&c.times.duration)
	t.Errors = []api.ErrorCount{}
	for _, kind := range c.kinds() {
		t.Errors = append(t.Errors, api.ErrorCount{Code: kind.String(), Calls: c.times.errors[kind]})
	}
	return t
}

// kinds are the kinds of errors that there were, the most frequent first.
func (c *usageCount) kinds() []models.ErrorKind {
	var all []models.ErrorKind
	for kind, n := range c.times.errors {
		if n != 0 {
			all = append(all, models.ErrorKind(kind))
		}
	}
	slices.SortStableFunc(all, func(a, b models.ErrorKind) int {
		return cmp.Compare(c.times.errors[b], c.times.errors[a])
	})
	return all
}

// series are the sums of each step.
func (c *usageCount) series(names map[*usageGroup]api.UsageNames) *api.UsageSeries {
	out := &api.UsageSeries{Times: c.period.starts, Groups: []api.UsageGroup{}, Errors: []api.ErrorSeries{}}
	own := c.greatest()
	for _, g := range own {
		shown := showCells(g.steps)
		shown.UsageNames = names[g]
		out.Groups = append(out.Groups, shown)
	}
	if rest, n := c.other(own); n > 0 {
		shown := showCells(rest)
		shown.Other = n
		out.Groups = append(out.Groups, shown)
	}
	for i := range c.steps {
		p := percentilesOf(&c.steps[i].times.firstToken)
		out.FirstToken.P50, out.FirstToken.P95 = append(out.FirstToken.P50, p.P50), append(out.FirstToken.P95, p.P95)
		p = percentilesOf(&c.steps[i].times.duration)
		out.Duration.P50, out.Duration.P95 = append(out.Duration.P50, p.P50), append(out.Duration.P95, p.P95)
	}
	for _, kind := range c.kinds() {
		calls := make([]int64, len(c.steps))
		for i := range c.steps {
			calls[i] = c.steps[i].times.errors[kind]
		}
		out.Errors = append(out.Errors, api.ErrorSeries{Code: kind.String(), Calls: calls})
	}
	return out
}

func showCells(cells []usageCell) api.UsageGroup {
	n := len(cells)
	g := api.UsageGroup{
		Calls: make([]int64, n), Failed: make([]int64, n), CostUSD: make([]api.USD, n), InputTokens: make([]int64, n),
		CachedTokens: make([]int64, n), OutputTokens: make([]int64, n), ReasoningTokens: make([]int64, n),
	}
	for i, c := range cells {
		g.Calls[i], g.Failed[i], g.CostUSD[i] = c.calls, c.failed, api.USD(c.cost)
		g.InputTokens[i], g.CachedTokens[i] = c.input, c.cached
		g.OutputTokens[i], g.ReasoningTokens[i] = c.output, c.reasoning
	}
	return g
}

// previousSeries are the sums of each step of a previous period.
func (c *usageCount) previousSeries() *api.PreviousSeries {
	n := len(c.steps)
	out := &api.PreviousSeries{
		Times: c.period.starts, CostUSD: make([]api.USD, n), Calls: make([]int64, n), Failed: make([]int64, n), Tokens: make([]int64, n),
	}
	for i := range c.steps {
		s := &c.steps[i].Sum
		out.CostUSD[i], out.Calls[i], out.Failed[i], out.Tokens[i] = api.USD(s.Cost), s.Calls, s.Failed, s.InputTokens+s.OutputTokens
	}
	return out
}

func percentilesOf(h *models.Histogram) *api.Percentiles {
	const half, most = 0.5, 0.95
	return &api.Percentiles{P50: milliseconds(h, half), P95: milliseconds(h, most)}
}

// milliseconds is a quantile, nil without calls.
func milliseconds(h *models.Histogram, part float64) *int64 {
	us, ok := h.Quantile(part)
	if !ok {
		return nil
	}
	const perMillisecond = 1000
	ms := int64(math.Round(us / perMillisecond))
	return &ms
}
