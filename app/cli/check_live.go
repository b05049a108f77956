package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"modelgateway/app"
	"modelgateway/app/live"
)

// checkLive asks the providers, and prints each line as soon as its call has ended.
func (p *Program) checkLive(ctx context.Context, o *output, options live.Options) error {
	cfg, err := app.Settings(p.Environ)
	if err != nil {
		return err
	}
	gateway, err := app.OpenLive(ctx, cfg)
	if err != nil {
		return err
	}
	defer gateway.Close()
	show := func(format string, args ...any) {
		if !o.json {
			_, _ = fmt.Fprintf(o.out, format+"\n", args...)
		}
	}
	options.Bounded = func(b live.Bound) {
		show("%s: the calls cost at most $%.4f, with the model %s", b.Provider, b.USD, b.Model)
	}
	options.Checked = func(l live.Line) {
		said := []string{l.Why}
		if len(l.Differences) > 0 {
			said = nil
		}
		for _, d := range l.Differences {
			if d.Minor {
				d.What += " [minor]"
			}
			said = append(said, d.What)
		}
		const under = "\n%*s"
		show("%s", strings.TrimRight(fmt.Sprintf("  %-17s %-16s  %-12s %s", l.Kind, l.Dialect, l.State,
			strings.Join(said, fmt.Sprintf(under, len("  ")+17+1+16+2+12+1, ""))), " "))
	}
	report, err := live.Check(ctx, gateway, options)
	if err != nil {
		return err
	}
	err = o.show(report, func() error {
		differ, minor := 0, 0
		for _, l := range report.Lines {
			switch {
			case l.State != live.Differs:
			case slices.ContainsFunc(l.Differences, func(d live.Difference) bool { return !d.Minor }):
				differ++
			default:
				minor++
			}
		}
		show("%d of %d lines differ; %d more have only something new, which is minor", differ, len(report.Lines), minor)
		return nil
	})
	if err == nil && !report.OK {
		return errSilent
	}
	return err
}
