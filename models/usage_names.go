package models

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm"
)

// teamsOfKeys has the team of each key that belongs to one.
func (s *Store) teamsOfKeys(ctx context.Context) (map[string]string, error) {
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
		var names map[string]string
		err := s.run(ctx, func(db *gorm.DB) (err error) {
			names, err = namesByID(db, of.table, of.column, distinct(ids))
			return err
		})
		if err != nil {
			return err
		}
		for i := range rows {
			*of.name(&rows[i]) = names[*of.id(&rows[i])]
		}
	}
	return nil
}

// namesByID are the values of a column by id.
func namesByID(db *gorm.DB, table, column string, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	for some := range slices.Chunk(ids, idsPerStatement) {
		var rows []struct{ ID, Name string }
		if err := db.Table(table).Select("id, "+column+" AS name").Where("id IN ?", some).Find(&rows).Error; err != nil {
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
	first := dayBegin(now.Unix()) - int64(days-1)*secondsPerDay
	all := make(map[string][]int64, len(keys))
	wanted := make(map[string]bool, len(keys))
	for _, key := range keys {
		wanted[key] = true
	}
	_, err := s.UsageTimes(ctx, &UsageQuery{}, UsageRange{
		From: first, To: first + int64(days)*secondsPerDay,
		Whole: func(int64, int64) bool { return true },
		Add: func(t UsageTime) error {
			key := t.Group.Key
			if !wanted[key] {
				return nil
			}
			if all[key] == nil {
				all[key] = make([]int64, days)
			}
			all[key][(t.At-first)/secondsPerDay] += t.Tally.Calls
			return nil
		},
	})
	return all, err
}
