package models

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"modelgateway/api/limit"
)

// Limits are the limits of a key, a user or a team. The zero Limits allow everything.
type Limits struct {
	ExpiresAt int64 // Unix microseconds; 0 = never
	Models    Names // models that may be requested, see Allows; empty = all
	Numbers
	Budget       int64  // micro-dollars in each window; only with BudgetWindow
	BudgetWindow Window // empty = no budget

	BudgetExtra      int64 // micro-dollars by which the budget is raised until BudgetExtraUntil, see BudgetAt
	BudgetExtraUntil int64 // Unix microseconds

	SessionBudget int64 // micro-dollars that each session of a client may cost; 0 = no such limit

	BudgetReserve Reserve // of calls that this account pays for; empty = what the gateway reserves
}

// Numbers are the limits that are whole numbers; 0 = no such limit.
type Numbers = limit.Numbers[int64]

// LimitedByAdmin marks limits that an administrator has set, which the key's
// owner cannot change.
const LimitedByAdmin = "admin"

// LimitedByManager marks limits that a manager of the key's team has set, which the
// key's owner cannot change.
const LimitedByManager = "manager"

// Allows says whether a model may be requested that has all of these names. An entry of
// Models that ends in * allows all names that begin as it does: claude-*, or anthropic/*.
func (l *Limits) Allows(names ...string) bool {
	if l.Models == "" {
		return true
	}
	for entry := range strings.SplitSeq(string(l.Models), ",") {
		prefix, open := strings.CutSuffix(entry, "*")
		if slices.ContainsFunc(names, func(name string) bool { return name == entry || open && strings.HasPrefix(name, prefix) }) {
			return true
		}
	}
	return false
}

// Or are the limits, and those of others where there is none: each by itself, but the
// expiry, which others do not set.
func (l Limits) Or(others Limits) Limits {
	l.Models = cmp.Or(l.Models, others.Models)
	numbers := others.All()
	for i, n := range l.All() {
		*n.Value = cmp.Or(*n.Value, *numbers[i].Value)
	}
	if l.BudgetWindow == "" {
		l.Budget, l.BudgetWindow = others.Budget, others.BudgetWindow
	}
	return l
}

// BudgetAt is the budget for calls that begin at a time, of a window: with what it is raised by then.
func (l *Limits) BudgetAt(at time.Time) int64 {
	if at.UnixMicro() < l.BudgetExtraUntil {
		return l.Budget + l.BudgetExtra
	}
	return l.Budget
}

// Reserve says what of a call's cost is reserved in budgets before the call.
type Reserve string

// ReserveWorst reserves the most that a call can cost, so that budgets are not exceeded.
const ReserveWorst Reserve = "worst"

// Names is a list of names in one column, separated by commas.
type Names string

// List returns the names; nil when there are none.
func (n Names) List() []string {
	if n == "" {
		return nil
	}
	return strings.Split(string(n), ",")
}

// Window is a period for which a budget is given, in UTC.
type Window string

// The windows. A week begins on Monday.
const (
	Day   Window = "day"
	Week  Window = "week"
	Month Window = "month"
	Total Window = "total"
)

// Windows lists them, the shortest first.
func Windows() []Window { return []Window{Day, Week, Month, Total} }

// FirstDay is the first day of the window that contains t, such as 2026-11-21; empty
// for Total.
func (w Window) FirstDay(t time.Time) string {
	begin := w.Begin(t)
	if begin.IsZero() {
		return ""
	}
	return begin.Format(time.DateOnly)
}

// Begin is the begin of the window that contains t; the zero time for Total.
func (w Window) Begin(t time.Time) time.Time {
	begin, _ := w.bounds(t)
	return begin
}

// End is the end of the window that contains t; the zero time for Total.
func (w Window) End(t time.Time) time.Time {
	_, end := w.bounds(t)
	return end
}

func (w Window) bounds(t time.Time) (begin, end time.Time) {
	y, m, d := t.UTC().Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	switch w {
	case Day:
		return today, today.AddDate(0, 0, 1)
	case Week:
		const days = 7
		monday := today.AddDate(0, 0, -(int(today.Weekday())+days-1)%days)
		return monday, monday.AddDate(0, 0, days)
	case Month:
		first := today.AddDate(0, 0, 1-d)
		return first, first.AddDate(0, 1, 0)
	}
	return time.Time{}, time.Time{}
}

// DayOf is the day, in UTC, that a call at t is summed under.
func DayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }
