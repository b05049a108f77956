package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/services/ledger"
)

func (p *Program) usage() *cobra.Command {
	var ask ledger.UsageRequest
	c := &cobra.Command{
		Use:   "usage [--by day,user,key,team,model,provider]",
		Short: "Show calls, tokens and costs: of the last 30 days by day, unless flags say otherwise",
		Example: "  modelgateway usage --by user,model --from 2026-11-01\n  modelgateway usage --user ada@example.com --by key\n" +
			"  modelgateway usage --by model --previous --time-zone Europe/Berlin",
	}
	o := p.listOutput(c, "")
	c.Flags().StringVar(&ask.GroupBy, "by", "", "day, user, key, team, model, provider, agent or project, or several with commas between")
	c.Flags().StringVar(&ask.From, "from", "", "first day, as in 2026-11-01, or moment, as in 2026-11-01T14:30:00Z")
	c.Flags().StringVar(&ask.To, "to", "", "last day, or the moment before which the period ends")
	c.Flags().StringVar(&ask.TimeZone, "time-zone", "", "time zone of the days, as in Europe/Berlin; UTC without it")
	previous := c.Flags().Bool("previous", false, "with the total of the period before, and times to the first token")
	user := c.Flags().String("user", "", "only calls of this user: e-mail address or id")
	team := c.Flags().String("team", "", "only calls with keys of this team: name or id")
	c.Flags().StringVar(&ask.KeyID, "key", "", "only calls with this key: its id")
	c.Flags().StringVar(&ask.Model, "model", "", "only calls of this model")
	c.Flags().StringVar(&ask.Provider, "provider", "", "only calls of this provider")
	c.Flags().StringVar(&ask.Agent, "agent", "", "only calls of this program, such as claude-code")
	c.Flags().StringVar(&ask.Project, "project", "", "only calls of this project")
	return p.action(c, p.reads(o, func(ctx context.Context, s *session, _ []string) error {
		of, err := s.keyFilter(ctx, *user, *team)
		if err != nil {
			return err
		}
		ask.UserID, ask.TeamID = of.UserID, of.TeamID
		ask.Previous = strconv.FormatBool(*previous)
		report, err := s.Usage.All(ctx, ask)
		if err != nil {
			return err
		}
		list := report.Show()
		if o.csv {
			_, err := o.out.Write(report.CSV(&list))
			return err
		}
		return showList(o, list, list.Data, func() error { return o.usage(&list) })
	}))
}

// usage prints a column for each group, and the total.
func (o *output) usage(list *api.UsageList) error {
	var header []string
	for _, group := range list.GroupBy {
		header = append(header, strings.ToUpper(group))
	}
	header = append(header, "CALLS", "FAILED", "INPUT", "OUTPUT", "COST")
	if list.Total.FirstToken != nil {
		header = append(header, "FIRST TOKEN P50", "P95")
	}
	var rows [][]string
	for i := range list.Data {
		row := &list.Data[i]
		var cells []string
		for _, group := range list.GroupBy {
			cells = append(cells, usageGroup(group, row))
		}
		rows = append(rows, append(cells, sums(&row.UsageTotals)...))
	}
	total := make([]string, len(list.GroupBy))
	total[0] = "total"
	rows = append(rows, append(slices.Clone(total), sums(&list.Total)...))
	if p := list.Previous; p != nil {
		total[0] = "before"
		rows = append(rows, append(total, sums(&p.Total)...))
	}
	if err := o.table(header, rows); err != nil {
		return err
	}
	o.note("from %s to %s, %s", list.From, list.To, cmp.Or(list.TimeZone, "UTC"))
	if p := list.Previous; p != nil {
		o.note("before: from %s to %s, counted up to the same point of that period", p.From, p.To)
	}
	return nil
}

func usageGroup(group string, row *api.UsageRow) string {
	switch group {
	case "day":
		return row.Day
	case "model":
		return row.Model
	case "key":
		return named(row.KeyName, row.KeyID)
	case "provider":
		return cmp.Or(text(row.Provider), none)
	case "agent":
		return cmp.Or(text(row.Agent), none)
	case "project":
		return cmp.Or(text(row.Project), none)
	case "team":
		return named(row.TeamName, row.TeamID)
	default:
		var deletedAt *int64
		if row.UserDeletedAt != 0 {
			deletedAt = &row.UserDeletedAt
		}
		return cmp.Or(person(row.UserEmail, deletedAt), text(row.UserID), none)
	}
}

// named is a name with its id, since names may be equal.
func named(name string, id *api.Maybe) string {
	return cmp.Or(strings.TrimSpace(name+" "+text(id)), none)
}

func text(m *api.Maybe) string {
	if m == nil {
		return ""
	}
	return string(*m)
}

func sums(t *api.UsageTotals) []string {
	cells := []string{
		thousands(t.Calls), thousands(t.Failed), thousands(t.InputTokens), thousands(t.OutputTokens), dollars(t.CostUSD),
	}
	if t.FirstToken != nil {
		cells = append(cells, milliseconds(t.FirstToken.P50), milliseconds(t.FirstToken.P95))
	}
	return cells
}

func milliseconds(ms *int64) string {
	if ms == nil {
		return none
	}
	return thousands(*ms) + " ms"
}
