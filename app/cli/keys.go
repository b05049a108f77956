package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/admin"
)

func (p *Program) keys() *cobra.Command {
	return p.group("key", "Virtual API keys", p.keyList(), p.keyCreate(), p.keyRotate(), p.keyRevoke(), p.keyLimits())
}

func (p *Program) keyList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the keys that are not revoked"}
	o := p.listOutput(c, "print the ids only")
	user := c.Flags().String("user", "", "only keys of this user: e-mail address or id")
	team := c.Flags().String("team", "", "only keys of this team: name or id")
	return p.action(c, p.reads(o, func(ctx context.Context, s *session, _ []string) error {
		only, err := s.keyFilter(ctx, *user, *team)
		if err != nil {
			return err
		}
		list := api.Page[api.AdminKey]{Object: api.ObjectList, Data: []api.AdminKey{}}
		err = everyPage(func(page models.Page) (string, bool, error) {
			keys, more, err := s.Admin.Keys(ctx, admin.CommandLine(), admin.KeyQuery{KeyFilter: only}, page)
			for i := range keys {
				list.Data = append(list.Data, admin.ShowKey(&keys[i]))
			}
			return last(list.Data, func(k *api.AdminKey) string { return k.ID }), more, err
		})
		if err != nil {
			return err
		}
		return showList(o, list, list.Data, func() error { return o.keys(list.Data) })
	}))
}

func (o *output) keys(keys []api.AdminKey) error {
	rows := make([][]string, len(keys))
	for i := range keys {
		k := &keys[i]
		shown := k.Prefix
		switch {
		case k.Pending:
			shown = "not fetched yet"
		case !strings.Contains(shown, "..."): // as in those of LiteLLM: sk-...abcd
			shown += "…"
		}
		if k.Origin != "" {
			shown += " (" + k.Origin + ")"
		}
		rows[i] = []string{
			k.ID, k.Name, cmp.Or(string(k.UserEmail), none), cmp.Or(string(k.TeamName), none), shown,
			budget(&k.Limits), dollars(k.Spend), localOr(k.LastUsedAt, "never"), localOr(k.ExpiresAt, "never"),
		}
	}
	return o.table([]string{"ID", "NAME", "USER", "TEAM", "KEY", "BUDGET", "SPENT", "LAST USED", "EXPIRES"}, rows)
}

// keyFilter selects the keys of a user and of a team; empty selects all.
func (s *session) keyFilter(ctx context.Context, user, team string) (f models.KeyFilter, err error) {
	if user != "" {
		if f.UserID, err = s.userID(ctx, user); err != nil {
			return f, err
		}
	}
	f.TeamID = team
	return f, s.replaceByID(ctx, &f.TeamID)
}
