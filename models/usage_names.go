package models

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm"
)

// TeamsOfKeys has the team of each key that belongs to one.
func (s *Store) TeamsOfKeys(ctx context.Context) (map[string]string, error) {
	var rows []struct{ ID, TeamID string }
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Table("api_keys").Select("id, team_id").Where("team_id <> ''").Find(&rows).Error
	})
	teams := make(map[string]string, len(rows))
	for _, row := range rows {
		teams[row.ID] = row.TeamID
	}
	return teams, err
}

// NameUsage sets the names of the dimensions that rows are grouped by.
func (s *Store) NameUsage(ctx context.Context, by []UsageBy, rows []Usage) error {
	for _, of := range []struct {
		by            UsageBy
		table, column string
		id, name      func(*Usage) *string
	}{
		{ByUser, "users", "email", func(u *Usage) *string { return &u.UserID }, func(u *Usage) *string { return &u.UserEmail }},
		{ByKey, "api_keys", "name", func(u *Usage) *string { return &u.KeyID }, func(u *Usage) *string { return &u.KeyName }},
		{ByTeam, "teams", "name", func(u *Usage) *string { return &u.TeamID }, func(u *Usage) *string { return &u.TeamName }},
	} {
		if !slices.Contains(by, of.by) {
			continue
		}
		var ids []string
		for i := range rows {
			ids = append(ids, *of.id(&rows[i]))
		}
		slices.Sort(ids)
		names, err := s.names(ctx, of.table, of.column, slices.Compact(ids))
		if err != nil {
			return err
		}
		for i := range rows {
			*of.name(&rows[i]) = names[*of.id(&rows[i])]
		}
	}
	return nil
}

// names are the values of a column by id.
func (s *Store) names(ctx context.Context, table, column string, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	for some := range slices.Chunk(ids, idsPerStatement) {
		var rows []struct{ ID, Name string }
		err := s.run(ctx, func(db *gorm.DB) error {
			return db.Table(table).Select("id, "+column+" AS name").Where("id IN ?", some).Find(&rows).Error
		})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			names[row.ID] = row.Name
		}
	}
	return names, nil
}

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
