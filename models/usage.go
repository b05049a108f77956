package models

import (
	"context"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
)

// Sum is the sum of several calls.
type Sum struct {
	Calls            int64
	Failed           int64 // neither answered nor ended by their client
	Estimated        int64 // calls some of whose tokens are estimated
	Unpriced         int64 // calls of models without a price
	InputTokens      int64 // cached ones included
	CachedTokens     int64
	CacheWriteTokens int64
	OutputTokens     int64 // reasoning included
	ReasoningTokens  int64
	Cost             int64 // micro-dollars
}

// Add adds another sum.
func (s *Sum) Add(o *Sum) {
	s.Calls += o.Calls
	s.Failed += o.Failed
	s.Estimated += o.Estimated
	s.Unpriced += o.Unpriced
	s.InputTokens += o.InputTokens
	s.CachedTokens += o.CachedTokens
	s.CacheWriteTokens += o.CacheWriteTokens
	s.OutputTokens += o.OutputTokens
	s.ReasoningTokens += o.ReasoningTokens
	s.Cost += o.Cost
}

func (s *Sum) addCall(c *Call) {
	one := Sum{
		Calls: 1, InputTokens: c.InputTokens, CachedTokens: c.CachedTokens, CacheWriteTokens: c.CacheWriteTokens,
		OutputTokens: c.OutputTokens, ReasoningTokens: c.ReasoningTokens, Cost: c.Cost,
	}
	if c.Failed() {
		one.Failed = 1
	}
	if c.Estimated {
		one.Estimated = 1
	}
	if !c.Priced {
		one.Unpriced = 1
	}
	s.Add(&one)
}

// UsageBy is a dimension by which usage is grouped.
type UsageBy string

// The dimensions. ByModel groups by the model's provider as well.
const (
	ByDay      UsageBy = "day"
	ByUser     UsageBy = "user"
	ByKey      UsageBy = "key"
	ByTeam     UsageBy = "team"
	ByModel    UsageBy = "model"
	ByProvider UsageBy = "provider"
)

// UsageQuery selects usage and says how it is grouped.
type UsageQuery struct {
	From, To               string // days such as 2026-11-21, both included
	UserID, KeyID, ModelID string // an empty one selects all
	TeamID                 string // of the calls with a team's keys
	Provider               string
	By                     []UsageBy
	MaxGroups              int // groups that are returned at most
}

// Usage is the usage of one group. The dimensions that it is not grouped by are
// empty.
type Usage struct {
	Day       string
	UserID    string // also empty for calls without credentials
	UserEmail string // empty for a deleted user
	KeyID     string // also empty for calls without a key
	KeyName   string
	TeamID    string // also empty for calls without a key of a team
	TeamName  string // empty for a deleted team
	Model     string // the one that answered, or was tried last
	Provider  string
	Sum       `gorm:"embedded"`
}

const sumColumns = `CAST(SUM(calls) AS BIGINT) AS calls, CAST(SUM(failed) AS BIGINT) AS failed,
	CAST(SUM(estimated) AS BIGINT) AS estimated, CAST(SUM(unpriced) AS BIGINT) AS unpriced,
	CAST(SUM(input_tokens) AS BIGINT) AS input_tokens, CAST(SUM(cached_tokens) AS BIGINT) AS cached_tokens,
	CAST(SUM(cache_write_tokens) AS BIGINT) AS cache_write_tokens, CAST(SUM(output_tokens) AS BIGINT) AS output_tokens,
	CAST(SUM(reasoning_tokens) AS BIGINT) AS reasoning_tokens, CAST(SUM(cost) AS BIGINT) AS cost`

// usageGroups are the columns of each dimension, and its name where that is in another
// table. A key stays in its team, and its row stays when it is revoked.
func usageGroups() []usageGroup {
	return []usageGroup{
		{by: ByDay, columns: []string{"day"}},
		{ByUser, []string{"user_id"}, "users.email AS user_email", "users ON users.id = sums.user_id"},
		{ByKey, []string{"key_id"}, "api_keys.name AS key_name", "api_keys ON api_keys.id = sums.key_id"},
		{ByTeam, []string{"team_id"}, "teams.name AS team_name", "teams ON teams.id = sums.team_id"},
		{by: ByModel, columns: []string{"model", "provider"}},
		{by: ByProvider, columns: []string{"provider"}},
	}
}

// usageGroup is a dimension.
type usageGroup struct {
	by      UsageBy
	columns []string
	name    string // as a column
	join    string // of the table that has it
}

// Usage returns the usage of each group that has calls, in no order. ErrTooMany when
// there are more than q.MaxGroups groups.
func (s *Store) Usage(ctx context.Context, q UsageQuery) ([]Usage, error) {
	var columns, joins []string
	names := []string{"sums.*"}
	for _, g := range usageGroups() {
		if !slices.Contains(q.By, g.by) {
			continue
		}
		for _, column := range g.columns {
			if !slices.Contains(columns, column) {
				columns = append(columns, column)
			}
		}
		if g.name != "" {
			names, joins = append(names, g.name), append(joins, "LEFT JOIN "+g.join)
		}
	}
	var all []Usage
	err := s.run(ctx, func(db *gorm.DB) error {
		sums := q.sums(db)
		sums = sums.Select(strings.Join(append(slices.Clone(columns), sumColumns), ", "))
		if len(columns) > 0 {
			sums = sums.Group(strings.Join(columns, ", "))
		}
		named := db.Table("(?) AS sums", sums).Select(strings.Join(names, ", "))
		for _, join := range joins {
			named = named.Joins(join)
		}
		return named.Find(&all).Error
	})
	if err == nil && len(all) > q.MaxGroups {
		return nil, ErrTooMany
	}
	return all, err
}

// sums selects the rows of the query.
func (q *UsageQuery) sums(db *gorm.DB) *gorm.DB {
	table := "usage_days"
	if slices.Contains(q.By, ByTeam) {
		table = "(SELECT usage_days.*, COALESCE(k.team_id, '') AS team_id FROM usage_days LEFT JOIN api_keys k ON k.id = usage_days.key_id) AS days"
	}
	sums := db.Table(table).Where("day BETWEEN ? AND ?", q.From, q.To).Having("SUM(calls) > 0").Limit(q.MaxGroups + 1)
	return q.where(sums)
}

// where selects the rows of the query, of any day.
func (q *UsageQuery) where(db *gorm.DB) *gorm.DB {
	for _, only := range q.columns() {
		if only.value != "" {
			db = db.Where(only.column+" = ?", only.value)
		}
	}
	if q.TeamID != "" {
		db = db.Where("key_id IN (SELECT id FROM api_keys WHERE team_id = ?)", q.TeamID)
	}
	return db
}

// columns are the columns that have to have a value.
func (q *UsageQuery) columns() []columnValue {
	return []columnValue{{"user_id", q.UserID}, {"key_id", q.KeyID}, {"model", q.ModelID}, {"provider", q.Provider}}
}

type columnValue struct{ column, value string }

// Spend is what an account has spent, in micro-dollars: in all, and in the windows that
// a time lies in.
type Spend struct{ Total, Day, Week, Month int64 }

// In is what is spent in the window of a budget.
func (s *Spend) In(w Window) int64 {
	switch w {
	case Day:
		return s.Day
	case Week:
		return s.Week
	case Month:
		return s.Month
	}
	return s.Total
}

// AccountSpend is what each of the accounts has spent; one that has spent nothing may
// be missing. Calls that the ledger has not recorded yet are not in it.
func (s *Store) AccountSpend(ctx context.Context, accounts []string, now time.Time) (map[string]Spend, error) {
	all := make(map[string]Spend, len(accounts))
	for some := range slices.Chunk(accounts, idsPerStatement) {
		var rows []struct {
			Account string
			Spend   `gorm:"embedded"`
		}
		err := s.run(ctx, func(db *gorm.DB) error {
			return db.Table("spend").Select(`account, CAST(SUM(cost) AS BIGINT) AS total,
				CAST(SUM(CASE WHEN day >= ? THEN cost ELSE 0 END) AS BIGINT) AS day,
				CAST(SUM(CASE WHEN day >= ? THEN cost ELSE 0 END) AS BIGINT) AS week,
				CAST(SUM(CASE WHEN day >= ? THEN cost ELSE 0 END) AS BIGINT) AS month`,
				Day.FirstDay(now), Week.FirstDay(now), Month.FirstDay(now)).
				Where("account IN ?", some).Group("account").Find(&rows).Error
		})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			all[row.Account] = row.Spend
		}
	}
	return all, nil
}
