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

// count sums the calls of a period, reading them twice where the series of all groups
// would take too much memory.
func (u *Usage) count(ctx context.Context, p *period, q *models.UsageQuery) (*usageCount, int64, error) {
	c := newUsageCount(p, q)
	c.mostCells = u.cells
	of := models.UsageRange{From: p.from.Unix(), To: p.end().Add(time.Second - 1).Unix(), Whole: c.hasNoBorder, Add: c.add}
	before, err := u.store.UsageTimes(ctx, q, of)
	if err == nil && c.again() {
		_, err = u.store.UsageTimes(ctx, q, of)
	}
	c.sum()
	return c, before, err
}

// name makes the rows of the groups, with their names.
func (u *Usage) name(ctx context.Context, c *usageCount, q *models.UsageQuery) ([]models.Usage, error) {
	rows := make([]models.Usage, 0, len(c.groups))
	for _, g := range c.groups {
		rows = append(rows, g.Usage)
	}
	if err := u.store.NameUsage(ctx, q.By, rows); err != nil {
		return nil, u.failed(err)
	}
	sortUsage(rows)
	return rows, nil
}
