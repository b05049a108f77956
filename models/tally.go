package models

import (
	"net/http"
	"slices"
	"strings"
)

// ErrorKind says why a call failed: by its outcome, and apart from the other refusals
// those by which a provider limited the gateway. The numbers are stored.
type ErrorKind uint8

// The kinds of errors.
const (
	ErrorOther ErrorKind = iota
	ErrorRateLimited
	ErrorRefused
	ErrorProvider
	ErrorTimeout
	ErrorStopped
	ErrorInternal
	ErrorLost

	errorKinds // their number
)

// String is the code of the kind in the API.
func (k ErrorKind) String() string {
	switch k {
	case ErrorRateLimited:
		return "rate_limited"
	case ErrorRefused:
		return OutcomeRefused
	case ErrorProvider:
		return OutcomeFailed
	case ErrorTimeout:
		return OutcomeTimeout
	case ErrorStopped:
		return OutcomeStopped
	case ErrorInternal:
		return OutcomeInternal
	case ErrorLost:
		return OutcomeLost
	}
	return "other"
}

// Failed says whether the call was neither answered nor ended by its client.
func (c *Call) Failed() bool { return c.Outcome != OutcomeOK && c.Outcome != OutcomeClient }

// errorKind is the kind of a call that failed.
func (c *Call) errorKind() ErrorKind {
	switch c.Outcome {
	case OutcomeRefused:
		if c.Status == http.StatusTooManyRequests {
			return ErrorRateLimited
		}
		return ErrorRefused
	case OutcomeFailed:
		return ErrorProvider
	case OutcomeTimeout:
		return ErrorTimeout
	case OutcomeStopped:
		return ErrorStopped
	case OutcomeInternal:
		return ErrorInternal
	case OutcomeLost:
		return ErrorLost
	}
	return ErrorOther
}

// Errors counts failed calls by kind.
type Errors [errorKinds]int64

// Add adds other counts.
func (e *Errors) Add(o *Errors) {
	for kind, n := range o {
		e[kind] += n
	}
}

// Tally is the sum of several calls with the distribution of their times.
type Tally struct {
	Sum
	FirstToken Times // of the calls that were sent something
	Duration   Times
	Errors     Errors
}

// addCall adds a call.
func (t *Tally) addCall(c *Call) {
	t.AddCall(c)
	if c.FirstTokenUS > 0 {
		t.FirstToken.add(timeBucket(c.FirstTokenUS), 1)
	}
	t.Duration.add(timeBucket(c.DurationUS), 1)
	if c.Failed() {
		t.Errors[c.errorKind()]++
	}
}

// add adds another tally.
func (t *Tally) add(o *Tally) {
	t.Add(&o.Sum)
	for _, n := range o.FirstToken {
		t.FirstToken.add(n.Bucket, n.Calls)
	}
	for _, n := range o.Duration {
		t.Duration.add(n.Bucket, n.Calls)
	}
	t.Errors.Add(&o.Errors)
}

// UsageGroup is whose calls are summed together.
type UsageGroup struct {
	User, Key, Model, Provider string
	Team, Project, Agent       string // empty in sums of the former release, which have no projects and agents
}

func (g *UsageGroup) texts() [groupTexts]*string {
	return [...]*string{&g.User, &g.Key, &g.Model, &g.Provider, &g.Team, &g.Project, &g.Agent}
}

func (g UsageGroup) compare(o UsageGroup) int {
	theirs := o.texts()
	for i, text := range g.texts() {
		if c := strings.Compare(*text, *theirs[i]); c != 0 {
			return c
		}
	}
	return 0
}

// minuteTally are the calls of a group that began in a minute since 1970.
type minuteTally struct {
	minute int64
	Tally
}

// tallyOf is the tally of a minute, which is added where it is missing. The last ones are
// looked at first, since calls come nearly in order.
func tallyOf(all *[]minuteTally, minute int64) *Tally {
	for i := len(*all) - 1; i >= 0; i-- {
		if (*all)[i].minute == minute {
			return &(*all)[i].Tally
		}
	}
	*all = append(*all, minuteTally{minute: minute})
	return &(*all)[len(*all)-1].Tally
}

func sortMinutes(all []minuteTally) {
	slices.SortFunc(all, func(a, b minuteTally) int { return int(a.minute - b.minute) })
}
