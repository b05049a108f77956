package models

import "slices"

// Level is one of the accounts that a call is paid from, with the limits that bind the
// caller there.
type Level struct {
	Account string // KeyAccount, UserAccount or TeamAccount
	Name    string // for messages: "this API key", "your account", or "the team" and its name
	Limits
}

// Levels are those of a caller: of its key, its user and its team, in this order, as far
// as it has them. Callers share them: they are not to be changed.
type Levels []Level

// Refusing is the first level at which a model with all of these names may not be
// requested, or nil.
func (all Levels) Refusing(names ...string) *Level {
	for i := range all {
		if !all[i].Allows(names...) {
			return &all[i]
		}
	}
	return nil
}

// ReservingMost says whether one of the levels wants the most that its calls can cost reserved.
func (all Levels) ReservingMost() bool {
	return slices.ContainsFunc(all, func(l Level) bool { return l.BudgetReserve == ReserveWorst })
}

// SessionBudget is the level with the least session budget, or nil.
func (all Levels) SessionBudget() (least *Level) {
	for i := range all {
		if of := all[i].SessionBudget; of > 0 && (least == nil || of < least.SessionBudget) {
			least = &all[i]
		}
	}
	return least
}

// LimitedToModels is the first level at which only some models may be requested, or nil.
func (all Levels) LimitedToModels() *Level {
	for i := range all {
		if all[i].Models != "" {
			return &all[i]
		}
	}
	return nil
}
