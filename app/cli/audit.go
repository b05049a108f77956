package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/admin"
)

func (p *Program) audit() *cobra.Command {
	var ask admin.AuditQuery
	c := &cobra.Command{
		Use:   "audit [--action key.]",
		Short: "Show what administrators and managers did, the latest first",
		Example: `  modelgateway audit --by ada@example.com --from 2026-11-01
  modelgateway audit --action key. --search eval-nightly`,
	}
	o := p.listOutput(c, "print the ids only")
	by := c.Flags().String("by", "", "only what this user did: e-mail address or id")
	c.Flags().StringVar(&ask.Target, "target", "", "only changes of the user, key or team with this id")
	c.Flags().StringVar(&ask.Action, "action", "", "only this action, as in key.limit; with a dot at its end all that begin with it")
	c.Flags().StringVar(&ask.From, "from", "", "first day, as in 2026-11-01 (UTC), or moment")
	c.Flags().StringVar(&ask.To, "to", "", "last day (UTC), or moment")
	c.Flags().StringVar(&ask.Q, "search", "", "only what has this text in the address of the actor, the action, the target or the detail")
	limit := c.Flags().Int("limit", admin.UsualPage, "most entries; 0 is all")
	return p.action(c, p.reads(o, func(ctx context.Context, s *session, _ []string) error {
		if *by != "" {
			var err error
			if ask.ActorID, err = s.userID(ctx, *by); err != nil {
				return err
			}
		}
		list, err := s.auditList(ctx, ask, *limit)
		if err != nil {
			return err
		}
		return showList(o, list, list.Data, func() error { return o.audit(list.Data) })
	}))
}

// auditList reads pages until there are so many entries; 0 is all.
func (s *session) auditList(ctx context.Context, ask admin.AuditQuery, limit int) (*api.AuditList, error) {
	list := &api.AuditList{Object: api.ObjectList, Data: []api.AuditEntry{}}
	page := models.Page{Limit: admin.LongestPage}
	for {
		if limit > 0 {
			page.Limit = min(limit-len(list.Data), admin.LongestPage)
		}
		found, err := s.Admin.Audit(ctx, ask, page)
		if err != nil {
			return nil, err
		}
		shown := found.Show()
		list.Data = append(list.Data, shown.Data...)
		list.HasMore, list.NextAfter = shown.HasMore, shown.NextAfter
		if !shown.HasMore || limit > 0 && len(list.Data) >= limit {
			return list, nil
		}
		page.After = found.Next
	}
}

func (o *output) audit(entries []api.AuditEntry) error {
	rows := make([][]string, len(entries))
	for i := range entries {
		e := &entries[i]
		rows[i] = []string{
			local(e.At), e.ActorEmail, e.Action, cmp.Or(string(e.TargetName), e.Target), changes(e.Detail), cmp.Or(e.Address, none),
		}
		if o.quiet {
			rows[i][0] = e.ID
		}
	}
	return o.table([]string{"TIME", "WHO", "ACTION", "WHAT", "CHANGE", "ADDRESS"}, rows)
}

// changes are the members of a detail that differ before and after.
func changes(detail []byte) string {
	var states struct {
		Before map[string]any `json:"before"`
		After  map[string]any `json:"after"`
	}
	if json.Unmarshal(detail, &states) != nil || states.Before == nil || states.After == nil {
		return none
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(states.After)) {
		before, after := value(states.Before[name]), value(states.After[name])
		if before != after {
			words = append(words, name+" "+before+" → "+after)
		}
	}
	return cmp.Or(strings.Join(words, ", "), none)
}

func value(of any) string {
	switch of := of.(type) {
	case nil:
		return "none"
	case float64:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.6f", of), "0"), ".")
	case bool:
		return yes(of)
	case []any:
		words := make([]string, len(of))
		for i, item := range of {
			words[i] = value(item)
		}
		return strings.Join(words, "+")
	}
	return api.Quoted(fmt.Sprint(of))
}
