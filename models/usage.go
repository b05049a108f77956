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
	if c.Outcome != OutcomeOK && c.Outcome != OutcomeClient {
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
	ByDay   UsageBy = "day"
	ByUser  UsageBy = "user"
	ByKey   UsageBy = "key"
	ByModel UsageBy = "model"
)

// UsageQuery selects usage and says how it is grouped.
type UsageQuery struct {
	From, To               string // days such as 2026-11-21, both included
	UserID, KeyID, ModelID string // an empty one selects all
	By                     []UsageBy
	MaxGroups              int // groups that are returned at most
}

// Usage is the usage of one group. The dimensions that it is not grouped by are
// empty.
type Usage struct {
	Day      string
	UserID   string // also empty for calls without credentials
	KeyID    string // also empty for calls without a key
	KeyName  string
	Model    string // the one that answered, or was tried last
	Provider string
	Sum      `gorm:"embedded"`
}

const usageSums = `CAST(SUM(calls) AS BIGINT) AS calls, CAST(SUM(failed) AS BIGINT) AS failed,
	CAST(SUM(estimated) AS BIGINT) AS estimated, CAST(SUM(unpriced) AS BIGINT) AS unpriced,
	CAST(SUM(input_tokens) AS BIGINT) AS input_tokens, CAST(SUM(cached_tokens) AS BIGINT) AS cached_tokens,
	CAST(SUM(cache_write_tokens) AS BIGINT) AS cache_write_tokens, CAST(SUM(output_tokens) AS BIGINT) AS output_tokens,
	CAST(SUM(reasoning_tokens) AS BIGINT) AS reasoning_tokens, CAST(SUM(cost) AS BIGINT) AS cost`

// Usage returns the usage of each group that has calls, in no order. ErrTooMany
// when there are more than q.Most groups.
func (s *Store) Usage(ctx context.Context, q UsageQuery) ([]Usage, error) {
	var columns []string
	for _, c := range []struct {
		by    UsageBy
		names []string
	}{
		{ByDay, []string{"day"}}, {ByUser, []string{"user_id"}}, {ByKey, []string{"key_id"}}, {ByModel, []string{"model", "provider"}},
	} {
		if slices.Contains(q.By, c.by) {
			columns = append(columns, c.names...)
		}
	}
	var all []Usage
	err := s.run(ctx, func(db *gorm.DB) error {
		sums := db.Table("usage_days").Select(strings.Join(append(columns, usageSums), ", ")).
			Where("day BETWEEN ? AND ?", q.From, q.To).Having("SUM(calls) > 0").Limit(q.MaxGroups + 1)
		for _, only := range []struct{ column, value string }{{"user_id", q.UserID}, {"key_id", q.KeyID}, {"model", q.ModelID}} {
			if only.value != "" {
				sums = sums.Where(only.column+" = ?", only.value)
			}
		}
		if len(columns) > 0 {
			sums = sums.Group(strings.Join(columns, ", "))
		}
		if !slices.Contains(q.By, ByKey) {
			return sums.Find(&all).Error
		}
		return db.Table("(?) AS sums", sums).Select("sums.*, COALESCE(api_keys.name, '') AS key_name").
			Joins("LEFT JOIN api_keys ON api_keys.id = sums.key_id").Find(&all).Error
	})
	if err == nil && len(all) > q.MaxGroups {
		return nil, ErrTooMany
	}
	return all, err
}

// Spend is what a key has spent, in micro-dollars: in all, and in the windows that
// a time lies in.
type Spend struct{ Total, Day, Week, Month int64 }

// KeySpend is what each of the keys has spent, by id; a key that has spent nothing
// may be missing. Calls that the ledger has not recorded yet are not in it.
func (s *Store) KeySpend(ctx context.Context, keyIDs []string, now time.Time) (map[string]Spend, error) {
	all := make(map[string]Spend, len(keyIDs))
	for ids := range slices.Chunk(keyIDs, idsPerStatement) {
		accounts := make([]string, len(ids))
		for i, id := range ids {
			accounts[i] = KeyAccount(id)
		}
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
				Where("account IN ?", accounts).Group("account").Find(&rows).Error
		})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			all[strings.TrimPrefix(row.Account, KeyAccount(""))] = row.Spend
		}
	}
	return all, nil
}
