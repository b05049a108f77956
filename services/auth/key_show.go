package auth

import (
	"time"

	"modelgateway/api"
	"modelgateway/api/limit"
	"modelgateway/models"
)

// ShowCreatedKey returns a new key and its text in the form of the API.
func ShowCreatedKey(k *models.Key, text string) api.CreatedKey {
	return api.CreatedKey{
		ID: k.ID, Object: api.ObjectKey, Name: k.Name, Key: api.Maybe(text), Pending: k.Pending(),
		Prefix: k.Prefix, CreatedAt: api.Seconds(k.CreatedAt),
		Limits: ShowLimits(&k.Limits), LimitedBy: ShowLimitedBy(k), UserID: api.Maybe(k.UserID), TeamID: api.Maybe(k.TeamID),
	}
}

// ShowRotatedKey returns a key with the text of its new secret in the form of the API.
func ShowRotatedKey(k *models.Key, text string) api.RotatedKey {
	return api.RotatedKey{CreatedKey: ShowCreatedKey(k, text), PreviousExpiresAt: api.Seconds(k.PreviousExpiresAt)}
}

// ShowKey returns a key in the form of the API.
func ShowKey(k *KeyState) api.Key {
	return api.Key{
		ID: k.ID, Object: api.ObjectKey, Name: k.Name, Prefix: k.Prefix, Pending: k.Pending(), CreatedAt: api.Seconds(k.CreatedAt),
		LastUsedAt: api.Moment(k.LastUsedAt), Limits: ShowLimits(&k.Limits), LimitedBy: ShowLimitedBy(&k.Key),
		Spend: api.USD(k.Spend.Total), BudgetState: k.Budget(), PreviousEnd: api.Moment(k.previousEnd()), TeamID: api.Maybe(k.TeamID),
		TeamName: api.Maybe(k.TeamName), RevokedAt: api.Moment(k.RevokedAt), Calls: k.Calls,
		Refused: k.Refused, Origin: k.Origin(),
	}
}

// ShowDefaults returns the limits of a new key whose creation names none, in the form of
// the API.
func (k *Keys) ShowDefaults() *api.KeyDefaults {
	shown := &api.KeyDefaults{Limits: ShowLimits(&k.defaults.Limits)}
	const day = 24 * time.Hour
	if days := int64(k.defaults.Expiry / day); days > 0 {
		shown.ExpiryDays = &days
	}
	return shown
}

// ShowLimits returns limits in the form of the API.
func ShowLimits(l *models.Limits) api.Limits {
	shown := api.Limits{Numbers: limit.Map(l.Numbers, unlessZero)}
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
	if l.BudgetExtra != 0 {
		usd, until := api.USD(l.BudgetExtra), time.UnixMicro(l.BudgetExtraUntil).Unix()
		shown.BudgetExtra, shown.ExtraUntil = &usd, &until
	}
	shown.SessionBudget = unlessZero(api.USD(l.SessionBudget))
	shown.BudgetReserve = unlessZero(string(l.BudgetReserve))
	return shown
}

// ShowLimitedBy returns who has set the limits of a key, in the form of the API.
func ShowLimitedBy(k *models.Key) *string { return unlessZero(k.LimitedBy) }

// previousEnd returns when the secret before the last rotation ends, in Unix
// microseconds; 0 when it has ended, or there is none.
func (s *KeyState) previousEnd() int64 {
	if s.PreviousExpiresAt <= s.at.UnixMicro() {
		return 0
	}
	return s.PreviousExpiresAt
}

// Budget returns what is spent and left of the key's budget; nil without one.
func (s *KeyState) Budget() *api.KeyBudget { return ShowBudget(&s.Limits, &s.Spend, s.at) }

// ShowBudget returns what is spent and left of the budget of limits at a time; nil
// without one.
func ShowBudget(l *models.Limits, spend *models.Spend, at time.Time) *api.KeyBudget {
	if l.BudgetWindow == "" {
		return nil
	}
	spent, limit := spend.In(l.BudgetWindow), l.BudgetAt(at)
	b := &api.KeyBudget{Limit: api.USD(limit), Spent: api.USD(spent), Remaining: api.USD(max(limit-spent, 0))}
	if end := l.BudgetWindow.End(at); !end.IsZero() {
		begin, end := l.BudgetWindow.Begin(at).Unix(), end.Unix()
		b.BeganAt, b.ResetsAt = &begin, &end
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
