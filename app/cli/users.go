package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/admin"
)

func (p *Program) users() *cobra.Command {
	return p.group("user", "Users",
		p.userList(), p.userCreate(), p.userInvite(), p.userLimits(), p.userRename(), p.userReset(),
		p.userDisable(), p.userEnable(), p.userDelete(), p.userErase())
}

func (p *Program) userList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the users"}
	o := p.listOutput(c, "print the e-mail addresses only")
	var only models.UserFilter
	c.Flags().StringVar(&only.Containing, "search", "", "only users with this in their name or e-mail address")
	c.Flags().StringVar(&only.TeamID, "team", "", "only members of this team: name or id")
	state := c.Flags().String("state", "", "only users who are active, disabled, admin or unverified")
	signIn := c.Flags().String("sign-in", "", "only users who log in with password or identity_provider, or with none of them yet")
	return p.action(c, p.reads(o, func(ctx context.Context, s *session, _ []string) error {
		if err := s.replaceByID(ctx, &only.TeamID); err != nil {
			return err
		}
		only.State, only.SignIn = models.UsersIn(*state), models.LoginWay(*signIn)
		list := api.Page[api.AdminUser]{Object: api.ObjectList, Data: []api.AdminUser{}}
		err := everyPage(func(page models.Page) (string, bool, error) {
			users, more, err := s.Admin.Users(ctx, only, page)
			for i := range users {
				list.Data = append(list.Data, admin.ShowUser(&users[i]))
			}
			return last(list.Data, func(u *api.AdminUser) string { return u.ID }), more, err
		})
		if err != nil {
			return err
		}
		return showList(o, list, list.Data, func() error { return o.users(list.Data) })
	}))
}

func (o *output) users(users []api.AdminUser) error {
	rows := make([][]string, len(users))
	for i := range users {
		u := &users[i]
		rows[i] = []string{
			u.Email, cmp.Or(u.Name, none), userState(u), teamNames(u.Teams), limitWords(&u.Limits), fmt.Sprint(u.Keys), dollars(u.Spend),
			local(u.CreatedAt), u.ID,
		}
	}
	return o.table([]string{"EMAIL", "NAME", "STATE", "TEAMS", "LIMITS", "KEYS", "SPENT", "CREATED", "ID"}, rows)
}

func teamNames(teams []api.UserTeam) string {
	names := make([]string, len(teams))
	for i, t := range teams {
		names[i] = t.Name
		if t.Role == string(models.RoleManager) {
			names[i] += " (manager)"
		}
	}
	return cmp.Or(strings.Join(names, ", "), none)
}

func userState(u *api.AdminUser) string {
	switch {
	case u.DisabledAt != nil:
		return "disabled"
	case u.Admin:
		return "administrator"
	default:
		return "enabled"
	}
}

// everyPage reads the pages of a list, one after the other. read returns the id of the
// last entry and whether there are more.
func everyPage(read func(models.Page) (last string, more bool, err error)) error {
	page := models.Page{Limit: admin.LongestPage}
	for {
		last, more, err := read(page)
		if err != nil || !more {
			return err
		}
		page.After = last
	}
}

func last[T any](list []T, id func(*T) string) string {
	if len(list) == 0 {
		return ""
	}
	return id(&list[len(list)-1])
}

// userID finds a user by e-mail address or id, also one who is deleted and not erased.
func (s *session) userID(ctx context.Context, name string) (string, error) {
	u, err := s.user(ctx, name)
	if err == nil {
		return u.ID, nil
	}
	if normal, wrong := account.NormalEmail(name); wrong == nil {
		name = normal
	}
	if former, missing := s.Store.DeletedUser(ctx, name); missing == nil {
		return former.ID, nil
	}
	return "", err
}

// user finds a user by e-mail address or id.
func (s *session) user(ctx context.Context, name string) (*models.User, error) {
	find := s.Store.User
	if strings.Contains(name, "@") {
		normal, err := account.NormalEmail(name)
		if err != nil {
			return nil, err
		}
		name, find = normal, s.Store.UserByEmail
	}
	u, err := find(ctx, name)
	if errors.Is(err, models.ErrNotFound) {
		return nil, fmt.Errorf("there is no user %s", api.Quoted(name))
	}
	return u, err
}
