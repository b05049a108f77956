package models

import (
	"slices"
	"strings"
	"time"

	"modelgateway/models/limit"
)

// Limits are the limits of a key. The zero Limits allow everything.
type Limits struct {
	ExpiresAt int64 // Unix microseconds; 0 = never
	Models    Names // models that may be requested; empty = all
	Numbers
	Budget       int64  // micro-dollars in each window; only with BudgetWindow
	BudgetWindow Window // empty = no budget
	LimitedBy    string // LimitedByAdmin, or empty: the owner may change the limits
}

// Numbers are the limits that are whole numbers; 0 = no such limit.
type Numbers = limit.Numbers[int64]

// LimitedByAdmin marks limits that an administrator has set, which the key's
// owner cannot change.
const LimitedByAdmin = "admin"

// Allows says whether a model may be requested.
func (l *Limits) Allows(model string) bool {
	return l == nil || l.Models == "" || slices.Contains(l.Models.List(), model)
}

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
	begin, _ := w.bounds(t)
	if begin.IsZero() {
		return ""
	}
	return begin.Format(time.DateOnly)
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
