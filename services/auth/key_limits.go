package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/api/limit"
	"modelgateway/models"
)

const (
	modelsPerKey  = 100
	largestBudget = 1_000_000_000   // dollars
	microDollar   = 1_000_000       // in a dollar
	longestExtra  = 366             // days
	lastSecond    = 253_402_300_799 // of the year 9999, in Unix seconds
)

// KeyDefaults are the limits of a new key in what its creation does not name.
type KeyDefaults struct {
	models.Limits // except ExpiresAt. Without a BudgetWindow there is no budget

	Expiry time.Duration // from the creation; 0 = never
}

// KeyState is a key and what it has spent.
type KeyState struct {
	models.Key
	Spend    models.Spend
	TeamName string           // where it was asked for
	Calls    []int64          // of the last days (UTC), the last one today; nil: not asked for
	Refused  map[string]int64 // calls of today (UTC) that were refused, by reason; nil: not asked for

	at time.Time // the time of Spend, which selects its windows
}

// LimitsFixed answers an owner or a manager who may not change the limits of the key.
func LimitsFixed() error {
	return api.Forbidden(api.CodeLimitsFixed, "",
		"an administrator or a manager has set the limits of this key: only the name can be changed")
}

// States adds the last use in this process and the spend of the ledger to keys.
func (k *Keys) States(ctx context.Context, keys []models.Key) ([]KeyState, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	accounts := make([]string, len(keys))
	for i := range keys {
		accounts[i] = models.KeyAccount(keys[i].ID)
	}
	now := k.now()
	spent, err := k.store.AccountSpend(ctx, accounts, now)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("look up what keys have spent: %w", err))
	}
	states := make([]KeyState, len(keys))
	for i, key := range keys {
		key.LastUsedAt = max(key.LastUsedAt, k.uses.last(key.ID))
		states[i] = KeyState{Key: key, Spend: spent[models.KeyAccount(key.ID)], at: now}
	}
	return states, nil
}

// CountCalls fills in how many calls were made with keys on each of the last days, and how many were
// refused today.
func (k *Keys) CountCalls(ctx context.Context, states []KeyState, days int) error {
	ids := make([]string, len(states))
	for i := range states {
		ids[i] = states[i].ID
	}
	calls, err := k.store.CallsByDay(ctx, ids, days, k.now())
	if err != nil {
		return api.Unavailable(fmt.Errorf("count the calls of keys: %w", err))
	}
	const day = 24 * time.Hour
	today := k.now().Truncate(day)
	refused, err := k.store.Refused(ctx, models.CallFilter{From: today.UnixMicro(), To: today.Add(day).UnixMicro()}, ids...)
	if err != nil {
		return api.Unavailable(fmt.Errorf("count the refused calls of keys: %w", err))
	}
	for i := range states {
		of := &states[i]
		if of.Calls, of.Refused = calls[of.ID], map[string]int64{}; of.Calls == nil {
			of.Calls = make([]int64, days)
		}
		for _, c := range refused {
			if c.KeyID == of.ID {
				of.Refused[c.Reason] = c.Refused
			}
		}
	}
	return nil
}

// Updated makes a change effective that is in the database already, and returns
// the key's state.
func (k *Keys) Updated(ctx context.Context, key *models.Key) (*KeyState, error) {
	k.Invalidate(ctx, key)
	return k.one(ctx, models.KeyFilter{ID: key.ID}) // it may have been revoked since
}

// firstLimits returns the limits of a new key.
func (k *Keys) firstLimits(in *api.KeyLimits) (models.Limits, error) {
	l := k.defaults.Limits
	l.ExpiresAt = 0
	if k.defaults.Expiry > 0 {
		l.ExpiresAt = k.now().Add(k.defaults.Expiry).Truncate(time.Second).UnixMicro()
	}
	if err := k.checkLimits(in); err != nil {
		return l, err
	}
	return l, setLimits(&l, in, models.Limits{})
}

// ValidateChange checks every rule that does not depend on the key, and returns
// the function that applies the change to one.
func (k *Keys) ValidateChange(in *api.KeyChange) (apply func(*models.Key) error, err error) {
	var name string
	if in.Name.Named {
		if in.Name.Value == nil {
			return nil, api.Invalid(api.CodeInvalidValue, "name", "name must be a string, not null")
		}
		if name, err = keyName(*in.Name.Value); err != nil {
			return nil, err
		}
	}
	setLimits, err := k.ValidateLimits(&in.KeyLimits)
	if err != nil {
		return nil, err
	}
	return func(key *models.Key) error {
		if in.Name.Named {
			key.Name = name
		}
		return setLimits(&key.Limits)
	}, nil
}

// ValidateLimits checks every rule that does not depend on what is limited: a key, a
// user or a team. It returns the function that applies the change.
func (k *Keys) ValidateLimits(in *api.KeyLimits) (apply func(*models.Limits) error, err error) {
	if err := k.checkLimits(in); err != nil {
		return nil, err
	}
	return func(l *models.Limits) error { return setLimits(l, in, models.Limits{}) }, nil
}

// ValidateUserLimits is ValidateLimits for a user, whose budget may be the one that users have by default.
func (k *Keys) ValidateUserLimits(in *api.KeyLimits) (apply func(*models.Limits) error, err error) {
	if err := k.checkLimits(in); err != nil {
		return nil, err
	}
	return func(l *models.Limits) error { return setLimits(l, in, k.userDefaults) }, nil
}

// OfUser are the limits of a user, and those that users have by default where there is none of their own.
func (k *Keys) OfUser(own models.Limits) models.Limits { return own.Or(k.userDefaults) }

// checkLimits checks each value by itself.
func (k *Keys) checkLimits(in *api.KeyLimits) error {
	if at := in.ExpiresAt.Value; at != nil && (*at > lastSecond || *at <= k.now().Unix()) {
		return api.Invalid(api.CodeInvalidValue, "expires_at", "expires_at must be a time in the future, in Unix seconds")
	}
	if err := k.checkModels(in.Models.Value); err != nil {
		return err
	}
	for _, l := range in.All() {
		if n := l.Value.Value; n != nil && (*n < limit.Min || *n > limit.Max) {
			return api.Invalid(api.CodeInvalidValue, l.Name, "%s must be from %d to %d, or null for no limit", l.Name, limit.Min, limit.Max)
		}
	}
	if b := in.Budget.Value; b != nil && (*b < 0 || *b > largestBudget*microDollar) {
		return api.Invalid(api.CodeInvalidValue, "budget_usd", "budget_usd must be from 0 to %d dollars, or null for no budget",
			largestBudget)
	}
	if b := in.SessionBudget.Value; b != nil && (*b <= 0 || *b > largestBudget*microDollar) {
		return api.Invalid(api.CodeInvalidValue, "session_budget_usd",
			"session_budget_usd must be above 0 and at most %d dollars, or null for no such limit", largestBudget)
	}
	if b := in.BudgetExtra.Value; b != nil && (*b <= 0 || *b > largestBudget*microDollar) {
		return api.Invalid(api.CodeInvalidValue, "budget_extra_usd",
			"budget_extra_usd must be above 0 and at most %d dollars, or null to end what was added", largestBudget)
	}
	if at, now := in.ExtraUntil.Value, k.now(); at != nil && (*at <= now.Unix() || *at > now.AddDate(0, 0, longestExtra).Unix()) {
		return api.Invalid(api.CodeInvalidValue, "budget_extra_until",
			"budget_extra_until must be a time of the next %d days, in Unix seconds: change budget_usd for longer", longestExtra)
	}
	if w := in.BudgetWindow.Value; w != nil && !slices.Contains(models.Windows(), models.Window(*w)) {
		return api.Invalid(api.CodeInvalidValue, "budget_window", "budget_window must be day, week, month or total")
	}
	if r := in.BudgetReserve.Value; r != nil && models.Reserve(*r) != models.ReserveWorst {
		return api.Invalid(api.CodeInvalidValue, "budget_reserve",
			"budget_reserve must be worst, or null for what the gateway reserves of each call (BUDGET_RESERVE)")
	}
	return nil
}

func (k *Keys) checkModels(ids *[]string) error {
	const param = "models"
	switch {
	case ids == nil:
		return nil
	case len(*ids) == 0: // the database would store it as no limit
		return api.Invalid(api.CodeInvalidValue, param, "models must name a model, or be null for all models")
	case len(*ids) > modelsPerKey:
		return api.Invalid(api.CodeInvalidValue, param, "models must name at most %d models", modelsPerKey)
	}
	for i, id := range *ids {
		at := fmt.Sprintf("%s[%d]", param, i)
		if strings.Contains(id, ",") { // the database stores the list with commas
			return api.Invalid(api.CodeInvalidValue, at, "%s: the model %s does not exist", at, api.Quoted(id))
		}
		if err := k.checkModel(id); err != nil {
			return api.Invalid(api.CodeInvalidValue, at, "%s: %s", at, api.AsError(err).Message)
		}
		if slices.Contains((*ids)[:i], id) {
			return api.Invalid(api.CodeInvalidValue, at, "%s: the model %s is named twice", at, api.Quoted(id))
		}
	}
	return nil
}

// setLimits sets the limits that are named; null removes one. It fails only if
// budget, window and extra contradict each other. Others hold where there is no own limit.
func setLimits(l *models.Limits, in *api.KeyLimits, others models.Limits) error {
	set(&l.ExpiresAt, in.ExpiresAt, func(at int64) int64 { return time.Unix(at, 0).UnixMicro() })
	set(&l.Models, in.Models, func(ids []string) models.Names { return models.Names(strings.Join(ids, ",")) })
	numbers := l.All()
	for i, n := range in.All() {
		set(numbers[i].Value, *n.Value, func(n int64) int64 { return n })
	}
	set(&l.BudgetReserve, in.BudgetReserve, func(r string) models.Reserve { return models.Reserve(r) })
	set(&l.Budget, in.Budget, func(usd api.USD) int64 { return int64(usd) })
	switch {
	case in.Budget.Named && in.Budget.Value == nil:
		l.BudgetWindow = ""
	case in.Budget.Named && l.BudgetWindow == "":
		l.BudgetWindow = models.Month
	}
	set(&l.SessionBudget, in.SessionBudget, func(usd api.USD) int64 { return int64(usd) })
	window := in.BudgetWindow
	switch {
	case window.Named && window.Value == nil && l.BudgetWindow != "":
		return api.Invalid(api.CodeInvalidValue, "budget_window",
			"budget_window cannot be null while there is a budget: send budget_usd null to remove the budget")
	case window.Value != nil && l.BudgetWindow == "":
		return api.Invalid(api.CodeMissingField, "budget_usd", "budget_usd is missing: without a budget there is no budget_window")
	}
	set(&l.BudgetWindow, window, func(w string) models.Window { return models.Window(w) })
	return setExtra(l, in, others)
}

// setExtra sets by how much the budget is raised, and until when: the limits' own budget or that of others.
// Without a budget, or where one of both is null, it is not raised.
func setExtra(l *models.Limits, in *api.KeyLimits, others models.Limits) error {
	set(&l.BudgetExtra, in.BudgetExtra, func(usd api.USD) int64 { return int64(usd) })
	set(&l.BudgetExtraUntil, in.ExtraUntil, func(at int64) int64 { return time.Unix(at, 0).UnixMicro() })
	budgeted := l.Or(others).BudgetWindow != ""
	switch {
	case in.BudgetExtra.Value == nil && in.ExtraUntil.Value == nil:
		if in.BudgetExtra.Named || in.ExtraUntil.Named || !budgeted {
			l.BudgetExtra, l.BudgetExtraUntil = 0, 0
		}
	case !budgeted:
		return api.Invalid(api.CodeMissingField, "budget_usd",
			"budget_usd is missing: without a budget there is none that budget_extra_usd could raise")
	case l.BudgetExtra == 0:
		return api.Invalid(api.CodeMissingField, "budget_extra_usd", "budget_extra_usd is missing: the dollars to add until budget_extra_until")
	case l.BudgetExtraUntil == 0:
		return api.Invalid(api.CodeMissingField, "budget_extra_until", "budget_extra_until is missing: when what is added ends, in Unix seconds")
	}
	return nil
}

func set[T, U any](limit *T, f api.Field[U], as func(U) T) {
	if !f.Named {
		return
	}
	var none T
	*limit = none
	if f.Value != nil {
		*limit = as(*f.Value)
	}
}
