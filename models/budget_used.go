package models

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// BudgetUse is how much of its budget a key, a user or a team has spent in the present
// window. Money is in micro-dollars.
type BudgetUse struct {
	ID     string
	Name   string // an e-mail address for a user
	Span   Window
	Budget int64 // with what it is raised by
	Spent  int64
}

// BudgetKind is a kind of accounts that have budgets of their own.
type BudgetKind string

// BudgetKinds lists them.
func BudgetKinds() []BudgetKind { return []BudgetKind{"key", "team", "user"} }

// Account is the account of what the key, the team or the user has spent.
func (k BudgetKind) Account(id string) string {
	switch k {
	case "team":
		return TeamAccount(id)
	case "user":
		return UserAccount(id)
	}
	return KeyAccount(id)
}

// The accounts that can be charged: not of revoked keys, nor of users who are disabled.
// A budget of 0 is not listed: it is a refusal of all calls, and never becomes spent.
var budgetAccounts = map[BudgetKind]string{
	"key":  "SELECT id, name, budget, budget_window AS span, " + extraNow + " FROM api_keys WHERE revoked_at = 0",
	"team": "SELECT id, name, budget, budget_window AS span, " + extraNow + " FROM teams",
	"user": `SELECT id, email AS name, ` + extraNow + `,
		CASE WHEN budget_window = '' THEN CAST(@budget AS BIGINT) ELSE budget END AS budget,
		CASE WHEN budget_window = '' THEN @window ELSE budget_window END AS span FROM users WHERE disabled_at = 0`,
}

const extraNow = "CASE WHEN budget_extra_until > @now THEN budget_extra ELSE 0 END AS extra"

// BudgetsUsed lists accounts of a kind that have a budget, in the order of their ids,
// after an id. fallback has the budget of users who have none of their own.
func (s *Store) BudgetsUsed(
	ctx context.Context, kind BudgetKind, at time.Time, fallback Limits, after string, limit int,
) (used []BudgetUse, err error) {
	query := `SELECT a.id, a.name, a.span, a.budget + a.extra AS budget, (SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM spend
		WHERE account = @prefix || a.id
		AND day >= CASE a.span WHEN 'day' THEN @day WHEN 'week' THEN @week WHEN 'month' THEN @month ELSE '' END) AS spent
		FROM (` + budgetAccounts[kind] + `) AS a WHERE a.span <> '' AND a.budget + a.extra > 0 AND a.id > @after ORDER BY a.id LIMIT @limit`
	err = s.run(ctx, func(db *gorm.DB) error {
		return db.Raw(query, map[string]any{
			"prefix": kind.Account(""), "after": after, "limit": limit, "budget": fallback.Budget, "window": string(fallback.BudgetWindow),
			"now": at.UnixMicro(), "day": Day.FirstDay(at), "week": Week.FirstDay(at), "month": Month.FirstDay(at),
		}).Scan(&used).Error
	})
	return used, err
}
