package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/services/ledger"
)

func (p *Program) statement() *cobra.Command {
	c := &cobra.Command{
		Use:     "statement <month>",
		Short:   "Show what was spent in a calendar month by team, person, project and model",
		Example: "  modelgateway statement 2026-10\n  modelgateway statement 2026-10 --time-zone Europe/Berlin --csv > statement.csv",
		Args:    words("a month as in 2026-10"),
	}
	o := p.listOutput(c, "")
	zone := c.Flags().String("time-zone", "", "time zone of the month, as in Europe/Berlin; UTC without it")
	return p.action(c, p.reads(o, func(ctx context.Context, s *session, args []string) error {
		statement, err := s.Usage.Statement(ctx, args[0], *zone)
		if err != nil {
			return err
		}
		cells := ledger.StatementCells(statement.Lines)
		if o.csv {
			return showList(o, statement, cells, nil)
		}
		return showList(o, statement, statement.Lines, func() error { return o.statement(statement, cells) })
	}))
}

// statement prints the lines, with a sum after those of each person in a team, after each team,
// and at the end.
func (o *output) statement(s *api.Statement, lines []api.StatementCells) error {
	var rows [][]string
	add := func(l api.StatementCells) {
		rows = append(rows, []string{
			l.Team, l.User, l.Project, l.Model, thousands(l.Calls), thousands(l.InputTokens), thousands(l.CachedTokens),
			thousands(l.OutputTokens), microDollars(l.CostUSD),
		})
	}
	person, team, total := api.StatementCells{}, api.StatementCells{}, api.StatementCells{Team: "total"}
	for i := range lines {
		l := lines[i]
		add(l)
		for _, sum := range []*api.StatementCells{&person, &team, &total} {
			sum.Calls += l.Calls
			sum.InputTokens += l.InputTokens
			sum.CachedTokens += l.CachedTokens
			sum.OutputTokens += l.OutputTokens
			sum.CostUSD += l.CostUSD
		}
		teamEnds := i+1 == len(lines) || lines[i+1].Team != l.Team
		if teamEnds || lines[i+1].User != l.User {
			person.Team, person.User, person.Project = l.Team, l.User, "total"
			add(person)
			person = api.StatementCells{}
		}
		if teamEnds {
			team.Team, team.User = l.Team, "total"
			add(team)
			team = api.StatementCells{}
		}
	}
	add(total)
	header := []string{"TEAM", "PERSON", "PROJECT", "MODEL", "CALLS", "INPUT", "CACHED", "OUTPUT", "COST"}
	if err := o.table(header, rows); err != nil {
		return err
	}
	o.note("%s, %s", s.Month, s.TimeZone)
	if s.DaysBefore != "" {
		o.note("before %s there are sums of days in UTC only", s.DaysBefore)
	}
	if !s.Complete {
		o.note("not complete: calls of the month may still be written, until a day after its end")
	}
	return nil
}

// microDollars shows all digits: a table of rounded amounts does not add up.
func microDollars(amount api.USD) string {
	const micro = 1_000_000
	if amount < 0 {
		return "-" + microDollars(-amount)
	}
	return fmt.Sprintf("$%d.%06d", amount/micro, amount%micro)
}
