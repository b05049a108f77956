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

func (p *Program) calls() *cobra.Command {
	var ask ledger.CallsRequest
	c := &cobra.Command{
		Use:   "calls [ID]",
		Short: "List calls, the newest first, or show one with its attempts",
		Example: "  modelgateway calls --user ada@example.com --outcome failed --from 2026-11-21\n" +
			"  modelgateway calls call_0383518402731450369",
		Args: cobra.MaximumNArgs(1),
	}
	o := p.listOutput(c, "print the ids only")
	flags := c.Flags()
	flags.StringVar(&ask.From, "from", "", "first day, as in 2026-11-21 (UTC), or moment")
	flags.StringVar(&ask.To, "to", "", "last day (UTC), or the moment before which the calls began")
	user := flags.String("user", "", "only calls of this user: e-mail address or id")
	team := flags.String("team", "", "only calls with keys of this team: name or id")
	flags.StringVar(&ask.KeyID, "key", "", "only calls with this key: its id")
	flags.StringVar(&ask.Model, "model", "", "only calls that this model answered")
	flags.StringVar(&ask.Provider, "provider", "", "only calls that this provider answered")
	flags.StringVar(&ask.Agent, "agent", "", "only calls of this program, such as claude-code")
	flags.StringVar(&ask.Project, "project", "", "only calls of this project")
	flags.StringVar(&ask.Session, "session", "", "only calls of this session: its name or its id")
	flags.StringVar(&ask.Dialect, "dialect", "", "only calls of this API: chat, messages, responses or embeddings")
	flags.StringVar(&ask.Outcome, "outcome", "", "only calls with this outcome; failed means any but ok and client_gone")
	flags.StringVar(&ask.Status, "status", "", "only calls with this status: 429, or 4xx")
	flags.StringVar(&ask.RequestID, "request-id", "", "only calls with this x-request-id")
	refused := flags.Bool("refused", false, "list the calls with keys that the gateway itself refused instead, with the message that the client got")
	flags.StringVar(&ask.After, "after", "", "only calls older than this one: its id")
	flags.StringVar(&ask.Limit, "limit", "", "most calls to list; 50 without it, and all with --csv or --jsonl")
	return p.action(c, p.reads(o, func(ctx context.Context, s *session, args []string) error {
		if len(args) == 1 {
			call, err := s.Calls.Get(ctx, ledger.CallsOf{}, args[0])
			if err != nil {
				return err
			}
			return o.show(call, func() error { return o.call(call) })
		}
		of, err := s.keyFilter(ctx, *user, *team)
		if err != nil {
			return err
		}
		ask.UserID, ask.TeamID = of.UserID, of.TeamID
		if *refused {
			return showPages(o, &ask, o.refusals, func() (api.CursorPage[api.Refusal], error) {
				return s.Calls.Refusals(ctx, ledger.CallsOf{}, ask)
			})
		}
		return showPages(o, &ask, o.calls, func() (api.CursorPage[api.Call], error) { return s.Calls.List(ctx, ledger.CallsOf{}, ask) })
	}))
}

// showPages prints a page of a list, or all of it where it is printed as a file without a limit.
func showPages[Row any](
	o *output, ask *ledger.CallsRequest, text func(*api.CursorPage[Row]) error, list func() (api.CursorPage[Row], error),
) error {
	if as := o.file(); as != "" && ask.Limit == "" {
		ask.Limit = strconv.Itoa(ledger.LongestPage)
		return api.WriteFile(o.out, as, func(after string) ([]Row, string, error) {
			ask.After = cmp.Or(after, ask.After)
			page, err := list()
			return page.Data, string(page.NextAfter), err
		})
	}
	page, err := list()
	if err != nil {
		return err
	}
	return showList(o, page, page.Data, func() error { return text(&page) })
}

// calls prints a line for each call.
func (o *output) calls(list *api.CursorPage[api.Call]) error {
	rows := make([][]string, len(list.Data))
	for i := range list.Data {
		c := &list.Data[i]
		rows[i] = []string{
			c.ID, local(c.BeganAtMS / time.Second.Milliseconds()), whose(c), cmp.Or(string(c.ServedModel), c.Model), c.Outcome,
			strconv.Itoa(c.Status), thousands(c.InputTokens), thousands(c.OutputTokens), dollars(c.CostUSD), took(c.DurationMS),
		}
	}
	err := o.table([]string{"ID", "BEGAN", "WHOSE", "MODEL", "OUTCOME", "STATUS", "INPUT", "OUTPUT", "COST", "TOOK"}, rows)
	if err == nil && list.HasMore {
		o.note("older calls may follow: --after %s", string(list.NextAfter))
	}
	return err
}

// refusals prints a line for each call that was refused.
func (o *output) refusals(list *api.CursorPage[api.Refusal]) error {
	rows := make([][]string, len(list.Data))
	for i := range list.Data {
		r := &list.Data[i]
		rows[i] = []string{
			local(r.AtMS / time.Second.Milliseconds()), r.RequestID, cmp.Or(string(r.KeyName), r.KeyID), cmp.Or(string(r.Model), none),
			strconv.Itoa(r.Status), r.Reason, r.Message,
		}
	}
	err := o.table([]string{"REFUSED", "REQUEST", "KEY", "MODEL", "STATUS", "REASON", "MESSAGE"}, rows)
	if err == nil && list.HasMore {
		o.note("older ones may follow: --after %s", string(list.NextAfter))
	}
	return err
}

// whose is the key of a call, or else its user.
func whose(c *api.Call) string {
	return cmp.Or(string(c.KeyName), string(c.KeyID), person(string(c.UserEmail), c.UserDeletedAt), string(c.UserID), none)
}

// took is a time of milliseconds.
func took(ms float64) string {
	const second, digits = 1000, 2
	if ms >= second {
		return strconv.FormatFloat(ms/second, 'f', digits, 64) + "s"
	}
	return strconv.FormatFloat(ms, 'f', 0, 64) + "ms"
}

// call prints one call, a line for each fact, and its attempts.
func (o *output) call(c *api.CallDetail) error {
	first := none
	if c.FirstTokenMS != nil {
		first = took(*c.FirstTokenMS)
	}
	err := o.align([][]string{
		{"id", c.ID}, {"request", c.RequestID}, {"began", local(c.BeganAtMS / time.Second.Milliseconds())},
		{"user", cmp.Or(person(string(c.UserEmail), c.UserDeletedAt), string(c.UserID), none)},
		{"key", cmp.Or(strings.TrimSpace(string(c.KeyName)+" "+string(c.KeyID)), none)},
		{"team", cmp.Or(string(c.TeamName), string(c.TeamID), none)}, {"client", cmp.Or(string(c.UserAgent), none)},
		{"model", c.Model + " by " + cmp.Or(string(c.Provider), none) + " as " + cmp.Or(string(c.ServedModel), none)},
		{"outcome", strings.TrimSpace(c.Outcome + " " + strconv.Itoa(c.Status) + " " + string(c.ErrorCode))},
		{"provider said", cmp.Or(string(c.ProviderMessage), none)},
		{"tokens", thousands(c.InputTokens) + " in (" + thousands(c.CachedTokens) + " cached), " + thousands(c.OutputTokens) + " out"},
		{"cost", dollars(c.CostUSD)},
		{"times", "first token " + first + ", in all " + took(c.DurationMS) + ", gateway " + took(c.OverheadMS)},
		{"ignored", cmp.Or(strings.Join(c.IgnoredParameters, ", "), none)}, {"content", c.Content}, {""},
	})
	if err != nil {
		return err
	}
	rows := make([][]string, len(c.AttemptList))
	for i := range c.AttemptList {
		a := &c.AttemptList[i]
		status := none
		if a.Status != nil {
			status = strconv.Itoa(*a.Status)
		}
		rows[i] = []string{
			a.Provider, a.Model, cmp.Or(string(a.Key), none), took(a.StartMS), took(a.DurationMS), status,
			cmp.Or(string(a.ErrorCode), none), a.Result,
		}
	}
	return o.table([]string{"PROVIDER", "MODEL", "KEY", "START", "TOOK", "STATUS", "ERROR", "RESULT"}, rows)
}
