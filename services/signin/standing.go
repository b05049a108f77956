package signin

import (
	"cmp"
	"context"
	"slices"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// Standing is a budget of a caller that begins again, and what is spent of it.
type Standing struct {
	Window models.Window
	Limit  int64 // micro-dollars
	Spent  int64 // micro-dollars
	Resets time.Time
}

// Used is the share that is spent, from 0.
func (s *Standing) Used() float64 {
	if s.Limit <= 0 {
		return 1
	}
	return float64(s.Spent) / float64(s.Limit)
}

// Standings are the budgets of a caller's levels that begin again, the fullest first. Calls that the ledger has not
// recorded yet are not in them.
func (s *Service) Standings(ctx context.Context, levels models.Levels) ([]Standing, error) {
	now, accounts, all := s.Now(), make([]string, 0, len(levels)), make([]Standing, 0, len(levels))
	for i := range levels {
		level := &levels[i]
		if w := level.BudgetWindow; w != "" && w != models.Total {
			accounts = append(accounts, level.Account)
			all = append(all, Standing{Window: w, Limit: level.BudgetAt(now), Resets: w.End(now)})
		}
	}
	if len(accounts) == 0 {
		return nil, nil
	}
	spent, err := s.Store.AccountSpend(ctx, accounts, now)
	if err != nil {
		return nil, api.OrUnavailable("look up what is spent", err)
	}
	for i, account := range accounts {
		of := spent[account]
		all[i].Spent = of.In(all[i].Window)
	}
	slices.SortStableFunc(all, func(a, b Standing) int { return cmp.Compare(b.Used(), a.Used()) })
	return all, nil
}

// Spending is what a user has spent in this month, this week and this day (UTC).
func (s *Service) Spending(ctx context.Context, userID string) (models.Spend, error) {
	account := models.UserAccount(userID)
	spent, err := s.Store.AccountSpend(ctx, []string{account}, s.Now())
	if err != nil {
		return models.Spend{}, api.OrUnavailable("look up what is spent", err)
	}
	return spent[account], nil
}
