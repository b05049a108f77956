package cli

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/services/ledger"
)

func (p *Program) sessions() *cobra.Command {
	var ask ledger.CallsRequest
	c := &cobra.Command{
		Use:   "sessions [ID]",
		Short: "List sessions of agents, the newest first, or show one with the parts of its agents",
		Example: "  modelgateway sessions --user ada@example.com --from 2026-11-21\n" +
			"  modelgateway sessions session_42",
		Args: cobra.MaximumNArgs(1),
	}
	o := p.listOutput(c, "print the ids only")
	flags := c.Flags()
	flags.StringVar(&ask.From, "from", "", "only sessions with calls of this day, as in 2026-11-21 (UTC), this moment or later")
	flags.StringVar(&ask.To, "to", "", "only sessions with calls of this day (UTC) or before, or before this moment")
	user := flags.String("user", "", "only sessions of this user: e-mail address or id")
	flags.StringVar(&ask.KeyID, "key", "", "only sessions with calls with this key: its id")
	flags.StringVar(&ask.Agent, "agent", "", "only sessions of this program, such as claude-code")
	flags.StringVar(&ask.Project, "project", "", "only sessions of this project")
	flags.StringVar(&ask.After, "after", "", "only sessions older than this one: its id")
	flags.StringVar(&ask.Limit, "limit", "", "most sessions to list; 50 without it, and all with --csv or --jsonl")
	return p.action(c, p.reads(o, func(ctx context.Context, s *session, args []string) error {
		if len(args) == 1 {
			one, err := s.Calls.Session(ctx, ledger.CallsOf{}, args[0])
			if err != nil {
				return err
			}
			return showList(o, one, one.Agents, func() error { return o.session(one) })
		}
		of, err := s.keyFilter(ctx, *user, "")
		if err != nil {
			return err
		}
		ask.UserID = of.UserID
		return showPages(o, &ask, o.sessions, func() (api.CursorPage[api.AgentSession], error) {
			return s.Calls.Sessions(ctx, ledger.CallsOf{}, ask)
		})
	}))
}

// sessions prints a line for each session.
func (o *output) sessions(list *api.CursorPage[api.AgentSession]) error {
	rows := make([][]string, len(list.Data))
	for i := range list.Data {
		s := &list.Data[i]
		rows[i] = append([]string{
			s.ID, local(s.BeganAtMS / time.Second.Milliseconds()), s.Name, owner(s), cmp.Or(string(s.Agent), none),
			cmp.Or(string(s.Project), none),
		}, part(&s.SessionPart)...)
	}
	header := []string{"ID", "BEGAN", "NAME", "WHOSE", "PROGRAM", "PROJECT"}
	err := o.table(append(header, partHeader()...), rows)
	if err == nil && list.HasMore {
		o.note("older sessions may follow: --after %s", string(list.NextAfter))
	}
	return err
}

func owner(s *api.AgentSession) string {
	return cmp.Or(string(s.UserEmail), string(s.UserID), string(s.KeyName), string(s.KeyID), none)
}

func partHeader() []string {
	return []string{"TOOK", "CALLS", "FAILED", "INPUT", "CACHED", "OUTPUT", "COST"}
}

func part(p *api.SessionPart) []string {
	cached := none
	if p.CacheShare != nil {
		const percent = 100
		cached = strconv.FormatFloat(percent**p.CacheShare, 'f', 0, 64) + "%"
	}
	return []string{
		(time.Duration(p.DurationMS) * time.Millisecond).Round(time.Second).String(), thousands(p.Calls), thousands(p.Failed),
		thousands(p.InputTokens), cached, thousands(p.OutputTokens), dollars(p.CostUSD),
	}
}

// session prints one session, and a line for each of its agents, indented below the one that started it.
func (o *output) session(s *api.AgentSessionDetail) error {
	err := o.align([][]string{
		{"id", s.ID}, {"name", s.Name}, {"began", local(s.BeganAtMS / time.Second.Milliseconds())}, {"owner", owner(&s.AgentSession)},
		{"program", cmp.Or(string(s.Agent), none)}, {"project", cmp.Or(string(s.Project), none)},
		{"models", strings.Join(s.Models, ", ")}, {""},
	})
	if err != nil {
		return err
	}
	rows := make([][]string, len(s.Agents), len(s.Agents)+1)
	for i := range s.Agents {
		a := &s.Agents[i]
		rows[i] = append([]string{strings.Repeat("  ", a.Depth) + cmp.Or(string(a.AgentID), "main agent")}, part(&a.SessionPart)...)
	}
	rows = append(rows, append([]string{"in all"}, part(&s.SessionPart)...))
	return o.table(append([]string{"AGENT"}, partHeader()...), rows)
}
