package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/admin"
)

func (p *Program) teams() *cobra.Command {
	return p.group("team", "Teams, their members and limits",
		p.teamList(), p.teamCreate(), p.teamMembers(), p.teamAdd(), p.teamRemove(), p.teamLimits(), p.teamDelete())
}

func (p *Program) teamList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the teams"}
	o := p.listOutput(c, "print the names only")
	return p.action(c, p.reads(o, func(ctx context.Context, s *session, _ []string) error {
		list := api.Page[api.Team]{Object: api.ObjectList, Data: []api.Team{}}
		err := everyPage(func(page models.Page) (string, bool, error) {
			teams, more, err := s.Admin.Teams(ctx, page)
			for i := range teams {
				list.Data = append(list.Data, admin.ShowTeam(&teams[i]))
			}
			return last(list.Data, func(t *api.Team) string { return t.ID }), more, err
		})
		if err != nil {
			return err
		}
		return showList(o, list, list.Data, func() error { return o.teams(list.Data) })
	}))
}

func (o *output) teams(teams []api.Team) error {
	rows := make([][]string, len(teams))
	for i := range teams {
		t := &teams[i]
		rows[i] = []string{
			t.Name, fmt.Sprint(t.Members), fmt.Sprint(t.Keys), limitWords(&t.Limits), dollars(t.Spend), local(t.CreatedAt), t.ID,
		}
	}
	return o.table([]string{"NAME", "MEMBERS", "KEYS", "LIMITS", "SPENT", "CREATED", "ID"}, rows)
}

func (p *Program) teamCreate() *cobra.Command {
	c := &cobra.Command{
		Use: "create --name NAME [limits]", Short: "Create a team: its limits bind all calls with its keys",
		Example: "  modelgateway team create --name research --budget-usd 500 --budget-window month",
	}
	o := p.output(c, "print the id only")
	in := api.NewTeam{}
	c.Flags().StringVar(&in.Name, "name", "", "name of the team")
	limits := limitFlags(c)
	_ = c.MarkFlagRequired("name")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, _ []string) error {
		in.KeyLimits = *limits
		s.discover(ctx, limits)
		team, err := s.Admin.CreateTeam(ctx, admin.CommandLine(), in)
		if err != nil {
			return err
		}
		shown := admin.ShowTeam(team)
		return o.show(shown, func() error {
			if o.quiet {
				_, err := fmt.Fprintln(o.out, shown.ID)
				return err
			}
			o.note("team %s, %s: %s", shown.Name, shown.ID, limitWords(&shown.Limits))
			return nil
		})
	}))
}

func (p *Program) teamLimits() *cobra.Command {
	c := &cobra.Command{Use: "limits TEAM [limits]", Short: "Change the limits of a team", Args: words("TEAM")}
	return p.changesLimits(c, func(ctx context.Context, s *session, name string, limits api.KeyLimits) (any, string, error) {
		id, err := s.team(ctx, name)
		if err != nil {
			return nil, "", err
		}
		team, err := s.Admin.ChangeTeam(ctx, admin.CommandLine(), id, api.TeamChange{KeyLimits: limits})
		if err != nil {
			return nil, "", err
		}
		shown := admin.ShowTeam(team)
		return shown, "team " + shown.Name + ": " + limitWords(&shown.Limits), nil
	})
}

func (p *Program) teamDelete() *cobra.Command {
	c := &cobra.Command{Use: "delete TEAM", Short: "Delete a team: its keys are revoked, its members stay users", Args: words("TEAM")}
	o := p.output(c, "print nothing")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		id, err := s.team(ctx, args[0])
		if err != nil {
			return err
		}
		if err := s.Admin.DeleteTeam(ctx, admin.CommandLine(), id); err != nil {
			return err
		}
		return o.done(api.Deleted{ID: id, Object: "team", Deleted: true}, "team "+args[0]+" is deleted")
	}))
}

func (p *Program) teamMembers() *cobra.Command {
	c := &cobra.Command{Use: "members TEAM", Short: "List the members of a team", Args: words("TEAM")}
	o := p.output(c, "print the e-mail addresses only")
	return p.action(c, p.reads(o, func(ctx context.Context, s *session, args []string) error {
		id, err := s.team(ctx, args[0])
		if err != nil {
			return err
		}
		members, err := s.Admin.Members(ctx, admin.CommandLine(), id)
		if err != nil {
			return err
		}
		list := api.ShowList(members, admin.ShowMember)
		rows := make([][]string, len(members))
		for i, m := range list.Data {
			rows[i] = []string{m.Email, cmp.Or(m.Name, none), m.Role, local(m.CreatedAt)}
		}
		return o.show(list, func() error { return o.table([]string{"EMAIL", "NAME", "ROLE", "SINCE"}, rows) })
	}))
}

func (p *Program) teamAdd() *cobra.Command {
	c := &cobra.Command{
		Use: "add TEAM USER [--role manager]", Short: "Make a user a member of a team, or change a member's role",
		Args: words("TEAM", "USER"),
	}
	o := p.output(c, "print nothing")
	role := c.Flags().String("role", string(models.RoleMember), "member, or manager: invites members, sees the team's usage, holds its keys")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		id, user, err := s.teamAndUser(ctx, args)
		if err != nil {
			return err
		}
		m, err := s.setRole(ctx, id, user.ID, *role)
		if err != nil {
			return err
		}
		return o.done(admin.ShowMember(m), user.Email+" is a "+*role+" of "+args[0])
	}))
}

// setRole adds a member, or changes the role of one. The command line sends no mail, and thus no invitation.
func (s *session) setRole(ctx context.Context, teamID, userID, role string) (*models.Member, error) {
	m, _, err := s.Admin.AddMember(ctx, admin.CommandLine(), teamID, api.NewTeamMember{UserID: userID, Role: role})
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.CodeMemberExists {
		return s.Admin.ChangeMember(ctx, admin.CommandLine(), teamID, userID, api.RoleChange{Role: role})
	}
	return m, err
}

func (p *Program) teamRemove() *cobra.Command {
	c := &cobra.Command{
		Use: "remove TEAM USER", Short: "End a user's membership: their keys of the team are revoked", Args: words("TEAM", "USER"),
	}
	o := p.output(c, "print nothing")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		id, user, err := s.teamAndUser(ctx, args)
		if err != nil {
			return err
		}
		if err := s.Admin.RemoveMember(ctx, admin.CommandLine(), id, user.ID); err != nil {
			return err
		}
		removed := api.Deleted{ID: user.ID, Object: "team_member", Deleted: true}
		return o.done(removed, user.Email+" is no member of "+args[0]+" any more")
	}))
}

func (s *session) teamAndUser(ctx context.Context, args []string) (teamID string, u *models.User, err error) {
	if teamID, err = s.team(ctx, args[0]); err != nil {
		return "", nil, err
	}
	u, err = s.user(ctx, args[1])
	return teamID, u, err
}

// team finds the id of a team by its name or its id.
func (s *session) team(ctx context.Context, name string) (id string, err error) {
	err = everyPage(func(page models.Page) (string, bool, error) {
		teams, more, err := s.Admin.Teams(ctx, page)
		for i := range teams {
			if t := &teams[i]; t.Name == name || t.ID == name {
				id = t.ID
			}
		}
		return last(teams, func(t *admin.TeamState) string { return t.ID }), more, err
	})
	if err == nil && id == "" {
		return "", fmt.Errorf("there is no team %s", api.Quoted(name))
	}
	return id, err
}
