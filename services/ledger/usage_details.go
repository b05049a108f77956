package ledger

import (
	"context"
	"time"

	"modelgateway/models"
)

// UsageDetails are what a report has beside the sums.
type UsageDetails struct {
	count    *usageCount
	previous *usageCount // nil unless asked for
	zone     string
	before   int64 // until then (Unix seconds) there were sums of days only; 0: never
}

// detailed reports usage from the sums of minutes and quarter hours.
func (u *Usage) detailed(ctx context.Context, req *UsageRequest, q *models.UsageQuery) (*UsageReport, error) {
	now := u.now()
	p, err := parsePeriod(req, now)
	if err != nil {
		return nil, err
	}
	d := &UsageDetails{zone: p.from.Location().String()}
	if d.count, d.before, err = u.count(ctx, p, q); err != nil {
		return nil, u.failed(err)
	}
	if req.Previous == yes {
		all := *q
		all.By = nil
		if d.previous, _, err = u.count(ctx, p.previous(now), &all); err != nil {
			return nil, u.failed(err)
		}
	}
	report := &UsageReport{From: p.text(p.from, false), To: p.text(p.to, true), By: q.By, Details: d, Total: d.count.total}
	return report, u.name(ctx, report, q)
}

// count sums the calls of a period, reading them twice where the series of all groups
// would take too much memory.
func (u *Usage) count(ctx context.Context, p *period, q *models.UsageQuery) (*usageCount, int64, error) {
	c := newUsageCount(p, q)
	c.mostCells = u.cells
	if c.by[models.ByTeam] {
		var err error
		if c.teams, err = u.store.TeamsOfKeys(ctx); err != nil {
			return nil, 0, err
		}
	}
	of := models.UsageRange{From: p.from.Unix(), To: p.end().Add(time.Second - 1).Unix(), Whole: c.hasNoBorder, Add: c.add}
	before, err := u.store.UsageTimes(ctx, q, of)
	if err == nil && c.again() {
		_, err = u.store.UsageTimes(ctx, q, of)
	}
	c.sum()
	return c, before, err
}

// name gives the report the rows of the groups, with their names.
func (u *Usage) name(ctx context.Context, report *UsageReport, q *models.UsageQuery) error {
	groups := report.Details.count.groups
	rows := make([]models.Usage, 0, len(groups))
	for _, g := range groups {
		rows = append(rows, g.Usage)
	}
	if err := u.store.NameUsage(ctx, q.By, rows); err != nil {
		return u.failed(err)
	}
	sortUsage(rows)
	report.Rows = rows
	return nil
}
