package live

import (
	"context"

	"modelgateway/providers/all"
)

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
