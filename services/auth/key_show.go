package auth

import (
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/limit"
)

// ShowLimits returns limits in the form of the API.
func ShowLimits(l *models.Limits) api.Limits {
	shown := api.Limits{
		Numbers: limit.Map(l.Numbers, unlessZero), LimitedBy: unlessZero(l.LimitedBy),
	}
	if l.ExpiresAt != 0 {
		at := time.UnixMicro(l.ExpiresAt).Unix()
		shown.ExpiresAt = &at
	}
	if ids := l.Models.List(); ids != nil {
		shown.Models = &ids
	}
	if l.BudgetWindow != "" { // a budget of 0 is one too
		usd, window := api.USD(l.Budget), string(l.BudgetWindow)
		shown.Budget, shown.BudgetWindow = &usd, &window
	}
	return shown
}

// Budget returns what is spent and left of the key's budget; nil without one.
func (s *KeyState) Budget() *api.KeyBudget {
	var spent int64
	switch s.BudgetWindow {
	case models.Day:
		spent = s.Spend.Day
	case models.Week:
		spent = s.Spend.Week
	case models.Month:
		spent = s.Spend.Month
	case models.Total:
		spent = s.Spend.Total
	default:
		return nil
	}
	b := &api.KeyBudget{Spent: api.USD(spent), Remaining: api.USD(max(s.Limits.Budget-spent, 0))}
	if end := s.BudgetWindow.End(s.at); !end.IsZero() {
		at := end.Unix()
		b.ResetsAt = &at
	}
	return b
}

func unlessZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
