package models

import (
	"context"
	"slices"
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

	CacheWriteHourTokens int64 // of CacheWriteTokens: kept for an hour
	Searches             int64
	Requests             int64 // that providers charge beside their tokens
	Images               int64
	Seconds              int64
	Characters           int64

	CacheMisses   int64 // calls that missed something in their provider's cache
	CacheMissCost int64 // micro-dollars, more than they would have cost from the cache
}

// numbers are those of a sum, in the order in which they are packed. The first are in the sums of the
// former release.
func (s *Sum) numbers() [sumNumbers]*int64 {
	return [...]*int64{
		&s.Calls, &s.Failed, &s.Estimated, &s.Unpriced, &s.InputTokens, &s.CachedTokens, &s.CacheWriteTokens,
		&s.OutputTokens, &s.ReasoningTokens, &s.Cost,
		&s.CacheWriteHourTokens, &s.Searches, &s.Requests, &s.Images, &s.Seconds, &s.Characters,
		&s.CacheMisses, &s.CacheMissCost,
	}
}

// Add adds another sum.
func (s *Sum) Add(o *Sum) {
	theirs := o.numbers()
	for i, n := range s.numbers() {
		*n += *theirs[i]
	}
}

// AddCall adds a call.
func (s *Sum) AddCall(c *Call) {
	_, missed := c.Missed()
	s.Add(&Sum{
		Calls: 1, Failed: count(c.Failed()), Estimated: count(c.Estimated), Unpriced: count(!c.Priced),
		InputTokens: c.InputTokens, CachedTokens: c.CachedTokens, CacheWriteTokens: c.CacheWriteTokens,
		OutputTokens: c.OutputTokens, ReasoningTokens: c.ReasoningTokens, Cost: c.Cost,
		CacheWriteHourTokens: c.CacheWriteHourTokens, Searches: c.Searches, Requests: c.Requests, Images: c.Images,
		Seconds: c.Seconds, Characters: c.Characters, CacheMisses: count(c.CacheMiss > CacheComplete), CacheMissCost: missed,
	})
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// UsageBy is a dimension by which usage is grouped.
type UsageBy string

// The dimensions. ByModel groups by the model's provider as well.
const (
	ByDay      UsageBy = "day"
	ByAgent    UsageBy = "agent"
	ByProject  UsageBy = "project"
	ByUser     UsageBy = "user"
	ByKey      UsageBy = "key"
	ByTeam     UsageBy = "team"
	ByModel    UsageBy = "model"
	ByProvider UsageBy = "provider"
)

// UsageQuery selects usage and says how it is grouped.
type UsageQuery struct {
	UserID, KeyID, ModelID string // an empty one selects all
	TeamID                 string // of the calls with a team's keys
	Provider               string
	Agent, Project         string
	By                     []UsageBy
	MaxGroups              int // groups that are returned at most
}

// Usage is the usage of one group. The dimensions that it is not grouped by are
// empty.
type Usage struct {
	Day       string
	UserID    string // also empty for calls without credentials
	UserEmail string // empty for a deleted user: see DeletedUsers
	DeletedAt int64  `gorm:"-"` // of a deleted user whose former address UserEmail is; 0 = none
	KeyID     string // also empty for calls without a key
	KeyName   string
	TeamID    string // also empty for calls without a key of a team
	TeamName  string // empty for a deleted team
	Model     string // the one that answered, or was tried last
	Provider  string
	Agent     string // also empty where it is not known
	Project   string // also empty without one
	Keys      int64  `gorm:"-"` // that called, where it is grouped by model alone
	Sum
}

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
