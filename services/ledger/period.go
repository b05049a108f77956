package ledger

import (
	"sort"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

const (
	usageSteps = 1000 // in one answer

	// quarter is the length of the shortest times of which there are sums after
	// models.UsageMinutesKept.
	quarter = 15 * time.Minute
)

// period is the time of a report.
type period struct {
	from, to time.Time // in the time zone of the report; to is excluded
	byDay    bool      // asked for by days
	step     step
	starts   []int64 // of its steps, in Unix seconds; empty without steps

	counted time.Time // the end of what is counted; zero: to
}

// text is a bound as it is shown: as a day where days were asked for. The last day is
// that before the end.
func (p *period) text(at time.Time, end bool) string {
	if !p.byDay {
		return at.UTC().Format(time.RFC3339)
	}
	if end {
		at = at.Add(-time.Second)
	}
	return at.Format(time.DateOnly)
}

// parseZone reads the name of a time zone. Local would be that of the server.
func parseZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, api.Invalid(api.CodeInvalidValue, "time_zone",
			"time_zone must be the name of a time zone such as Europe/Berlin or UTC, not %s", api.Quoted(name))
	}
	return loc, nil
}

// parsePeriod reads the period of a request, and divides it into steps.
func parsePeriod(req *UsageRequest, now time.Time) (*period, error) {
	loc, err := parseZone(req.TimeZone)
	if err != nil {
		return nil, err
	}
	now = now.In(loc)
	p := &period{}
	if req.Step != "" {
		if p.step, err = parseStep(req.Step); err != nil {
			return nil, err
		}
	}
	if err := p.bounds(req, now); err != nil {
		return nil, err
	}
	return p, p.divide(now)
}

// bounds reads the bounds of the period.
func (p *period) bounds(req *UsageRequest, now time.Time) (err error) {
	y, m, d := now.Date()
	p.to = midnight(y, m, d+1, now.Location())
	p.byDay = true
	fromMoment, toMoment := false, false
	if req.To != "" {
		if p.to, toMoment, err = parseBound("to", req.To, now.Location()); err != nil {
			return err
		}
		if !toMoment {
			y, m, d := p.to.Date()
			p.to = midnight(y, m, d+1, now.Location())
		}
	}
	y, m, d = p.to.Date()
	p.from = midnight(y, m, d-usageDefaultDays, now.Location())
	if req.From != "" {
		if p.from, fromMoment, err = parseBound("from", req.From, now.Location()); err != nil {
			return err
		}
	}
	if fromMoment && req.To == "" {
		p.to = now
	}
	p.byDay = !fromMoment && !toMoment
	if !p.from.Before(p.to) {
		return api.Invalid(api.CodeInvalidValue, "from", "from, %s, must be before to, %s", p.text(p.from, false), p.text(p.to, true))
	}
	const slack = 25 * time.Hour // a day, and the hour that clocks are changed by
	if p.to.Sub(p.from) >= usageDays*24*time.Hour+slack || p.byDay && p.from.AddDate(0, 0, usageDays).Before(p.to) {
		return api.Invalid(api.CodeInvalidValue, "from", "%s to %s are more than %d days",
			p.text(p.from, false), p.text(p.to, true), usageDays)
	}
	return nil
}

// parseBound reads a day, which is that of a time zone, or a moment.
func parseBound(param, text string, loc *time.Location) (at time.Time, moment bool, err error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		y, m, d := day.Date()
		return midnight(y, m, d, loc), false, nil
	}
	at, err = time.Parse(time.RFC3339, text)
	const years = 9999 // that can be written
	if err != nil || at.UTC().Year() > years || at.UTC().Year() < 1 {
		return at, false, api.Invalid(api.CodeInvalidValue, param,
			"%s must be a day as in 2026-11-21 or a moment as in 2026-11-21T14:30:00Z, not %s", param, api.Quoted(text))
	}
	return at.In(loc), true, nil
}

// divide divides the period into steps, and widens it to whole ones. Without steps
// moments are widened to quarter hours.
func (p *period) divide(now time.Time) error {
	if p.step.name == "" {
		whole := step{length: quarter}
		p.from = whole.floor(p.from)
		if end := whole.floor(p.to); end.Before(p.to) {
			p.to = whole.next(end)
		}
		return nil
	}
	p.from = p.step.floor(p.from)
	if p.step.length > 0 && p.step.length < quarter && p.from.Before(now.Add(-models.UsageMinutesKept)) {
		return api.Invalid(api.CodeInvalidValue, "step",
			"a step below 15m is possible for the last %d days only: ask for a step of 15m or more, or for a later from",
			models.UsageMinutesKept/(24*time.Hour))
	}
	at := p.from
	for ; at.Before(p.to); at = p.step.next(at) {
		if len(p.starts) == usageSteps {
			return api.Invalid(api.CodeInvalidValue, "step", "there are more than %d steps of %s in the period: ask for a longer step",
				usageSteps, p.step.name)
		}
		p.starts = append(p.starts, at.Unix())
	}
	p.to = at
	return nil
}

// previous is the period of the same length before this one: of as many days, weeks or
// months where it is of whole days. It ends as long before the end of this one as this
// one has lasted until now.
func (p *period) previous(now time.Time) *period {
	before := &period{byDay: p.byDay, step: p.step}
	y, m, d := p.from.Date()
	days := 0
	for at := p.from; at.Before(p.to); days++ {
		at = step{days: 1}.next(at)
	}
	switch {
	case p.step.months > 0:
		before.from = midnight(y, m-time.Month(len(p.starts)), d, p.from.Location())
	case p.from.Equal(step{days: 1}.floor(p.from)) && p.to.Equal(step{days: 1}.floor(p.to)):
		before.from = midnight(y, m, d-days, p.from.Location())
	default:
		before.from = p.from.Add(-p.to.Sub(p.from))
		if p.step.length > 0 {
			before.from = p.step.floor(before.from)
		}
	}
	before.to = p.from
	if lasted := now.Sub(p.from); lasted > 0 && now.Before(p.to) {
		before.counted = before.from.Add(lasted)
	}
	if p.step.name != "" {
		for at := before.from; at.Before(before.to) && len(before.starts) < len(p.starts); at = p.step.next(at) {
			before.starts = append(before.starts, at.Unix())
		}
	}
	return before
}

// end is the end of what is counted.
func (p *period) end() time.Time {
	if p.counted.IsZero() {
		return p.to
	}
	return p.counted
}

// stepOf is the index of the step that a time is in.
func (p *period) stepOf(at int64) int {
	return sort.Search(len(p.starts), func(i int) bool { return p.starts[i] > at }) - 1
}

// borders are the times, in order, at which calls have to be told apart.
func (p *period) borders(byDay bool) []int64 {
	all := []int64{p.from.Unix(), p.end().Unix()}
	all = append(all, p.starts...)
	if byDay {
		day := step{days: 1}
		for at := day.floor(p.from); at.Before(p.to); at = day.next(at) {
			all = append(all, at.Unix())
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return all
}
