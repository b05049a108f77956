package ledger

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // not every machine and image has the time zones

	"modelgateway/api"
)

// step is a length of time into which a period is divided. Days, weeks and months begin at
// midnight in a time zone; the shorter ones are counted from there, and the last one of a
// day ends with it.
type step struct {
	name   string
	length time.Duration // of one that is shorter than a day
	days   int           // 1, or 7 for weeks, which begin on Monday
	months int
}

func allSteps() []step {
	return []step{
		{name: "1m", length: time.Minute},
		{name: "5m", length: 5 * time.Minute},
		{name: "15m", length: 15 * time.Minute},
		{name: "30m", length: 30 * time.Minute},
		{name: "1h", length: time.Hour},
		{name: "2h", length: 2 * time.Hour},
		{name: "6h", length: 6 * time.Hour},
		{name: "1d", days: 1},
		{name: "7d", days: 7},
		{name: "1mo", months: 1},
	}
}

func parseStep(name string) (step, error) {
	all := allSteps()
	i := slices.IndexFunc(all, func(s step) bool { return s.name == name })
	if i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].name
	}
	return step{}, api.Invalid(api.CodeInvalidValue, "step", "step must be one of %s, not %s", strings.Join(names, ", "), api.Quoted(name))
}

// floor is the beginning of the step that a time is in.
func (s step) floor(at time.Time) time.Time {
	y, m, d := at.Date()
	switch {
	case s.months > 0:
		return midnight(y, m, 1, at.Location())
	case s.days > 1:
		const weekdays = 7
		sinceMonday := (int(at.Weekday()) + weekdays - 1) % weekdays
		return midnight(y, m, d-sinceMonday, at.Location())
	case s.days == 1:
		return midnight(y, m, d, at.Location())
	}
	first := midnight(y, m, d, at.Location())
	return first.Add(at.Sub(first) / s.length * s.length)
}

// next is the beginning of the step after the one that begins at a time.
func (s step) next(at time.Time) time.Time {
	y, m, d := at.Date()
	if s.length > 0 {
		next, tomorrow := at.Add(s.length), midnight(y, m, d+1, at.Location())
		if next.After(tomorrow) && tomorrow.After(at) {
			return tomorrow
		}
		return next
	}
	for n := 1; ; n++ { // in some zone a day is left out
		if next := midnight(y, m+time.Month(n*s.months), d+n*s.days, at.Location()); next.After(at) {
			return next
		}
	}
}

// midnight is the first moment of a day, which may be later than 00:00 where clocks are
// put forward at midnight. time.Date does not promise it.
func midnight(y int, m time.Month, d int, loc *time.Location) time.Time {
	const noon = 12
	at := time.Date(y, m, d, noon, 0, 0, 0, loc)
	y, m, d = at.Date()
	for {
		_, offset := at.Zone()
		begin := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Add(-time.Duration(offset) * time.Second).In(loc)
		if from, _ := at.ZoneBounds(); !from.IsZero() && begin.Before(from) {
			begin = from.In(loc)
		}
		before := begin.Add(-time.Second)
		if by, bm, bd := before.Date(); by != y || bm != m || bd != d {
			return begin
		}
		at = before
	}
}
