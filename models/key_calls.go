package models

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm"
)

// CallsByDay is how many calls were made with each of the keys on each of the last days
// (UTC), the oldest first; the last one is today. A key without calls is missing.
func (s *Store) CallsByDay(ctx context.Context, keys []string, days int, now time.Time) (map[string][]int64, error) {
	const day = 24 * time.Hour
	first := now.UTC().Truncate(day).AddDate(0, 0, 1-days)
	all := map[string][]int64{}
	for some := range slices.Chunk(keys, idsPerStatement) {
		var rows []struct {
			KeyID string
			Day   string
			Calls int64
		}
		err := s.run(ctx, func(db *gorm.DB) error {
			return db.Table("usage_days").Select("key_id, day, CAST(SUM(calls) AS BIGINT) AS calls").
				Where("day >= ? AND key_id IN ?", DayOf(first), some).Group("key_id, day").Find(&rows).Error
		})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			at, err := time.Parse(time.DateOnly, row.Day)
			if n := int(at.Sub(first) / day); err == nil && n < days {
				if all[row.KeyID] == nil {
					all[row.KeyID] = make([]int64, days)
				}
				all[row.KeyID][n] = row.Calls
			}
		}
	}
	return all, nil
}
