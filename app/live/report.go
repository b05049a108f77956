package live

import (
	"context"

	"modelgateway/providers/all"
)

// The states of a line.
const (
	Expected   = "as expected"
	Differs    = "differs"
	NotOffered = "not offered"
)

// Line is the result of one kind of call in one dialect.
type Line struct {
	Provider    string       `json:"provider"`
	Dialect     string       `json:"dialect"` // empty: none of the clients'
	Kind        string       `json:"kind"`
	State       string       `json:"state"`
	Differences []Difference `json:"differences"`
	Why         string       `json:"why"` // nothing can be said; empty where something can
}

// Bound is what the calls of a provider can cost at most.
type Bound struct {
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	USD      float64 `json:"usd"`
}

// Report is the result of a check.
type Report struct {
	OK     bool    `json:"ok"` // nothing differs but what is minor
	Bounds []Bound `json:"bounds"`
	Lines  []Line  `json:"lines"`
}

// logIn gets a credential of a cloud.
func (r *Report) logIn(ctx context.Context, p all.Configured, o Options) {
	line := Line{Provider: p.Name, Kind: "log-in", State: Expected, Differences: []Difference{}, Why: "of " + p.Name}
	if err := p.LogIn.Check(ctx); err != nil {
		line.State, r.OK = Differs, false
		line.Differences = []Difference{{What: p.Name + ": " + err.Error()}}
	}
	r.Lines = append(r.Lines, line)
	if o.Checked != nil {
		o.Checked(line)
	}
}
