package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/services/admin"
)

func (p *Program) administrators() *cobra.Command {
	return p.group("admin", "Administrators", p.adminCreate())
}

func (p *Program) adminCreate() *cobra.Command {
	c := &cobra.Command{
		Use:   "create --email EMAIL [--password-stdin]",
		Short: "Make an administrator of a user, or of a new one",
		Long: `Make an administrator of the user with this address, or of a new user. Without a
password a link is printed with which the administrator sets one; an existing user keeps
theirs. But one whose address was not verified may have been registered by another
person: the password and the logins of such a user end, and where the gateway sends
mail the keys, too. Without mail no address is verified, and the keys stay: see
"modelgateway key list --user EMAIL".`,
		Example: "  modelgateway admin create --email root@example.com\n  printf %s \"$PASSWORD\" | modelgateway admin create --email root@example.com --password-stdin",
	}
	o := p.output(c, "print the link only")
	in := api.NewUser{}
	c.Flags().StringVar(&in.Email, "email", "", "e-mail address, with which the administrator logs in")
	c.Flags().StringVar(&in.Name, "name", "", "name of a new user")
	stdin := c.Flags().Bool("password-stdin", false, "read the password from standard input")
	_ = c.MarkFlagRequired("email")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, _ []string) error {
		if err := p.readPassword(*stdin, &in.Password); err != nil {
			return err
		}
		created, err := s.Admin.CreateAdministrator(ctx, admin.CommandLine(), in, s.SendsMail)
		if err != nil {
			return err
		}
		return o.created(s.Admin.ShowCreatedUser(created), "an administrator")
	}))
}

func (p *Program) userCreate() *cobra.Command {
	c := &cobra.Command{
		Use:   "create --email EMAIL [limits] [--key NAME]",
		Short: "Create a user, with limits for all their calls, and with a first key",
		Long: `Create a user, with limits for all their calls, and with a first key. Without a password
a link is printed with which the user sets one; a user who only uses the key
needs none.`,
		Example: "  modelgateway user create --email ada@example.com --budget-usd 50 --budget-window month --key laptop",
	}
	o := p.output(c, "print the key only, or without --key the link")
	in := api.NewUser{}
	c.Flags().StringVar(&in.Email, "email", "", "e-mail address, with which the user logs in")
	c.Flags().StringVar(&in.Name, "name", "", "name of the user")
	c.Flags().StringVar(&in.TeamID, "team", "", "team to which the user belongs: name or id")
	c.Flags().StringVar(&in.Role, "role", "", "member or manager of the team")
	key := c.Flags().String("key", "", "name of a first key, which is printed")
	stdin := c.Flags().Bool("password-stdin", false, "read the user's password from standard input")
	limits := limitFlags(c)
	_ = c.MarkFlagRequired("email")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, _ []string) error {
		in.KeyLimits = *limits
		if *key != "" {
			in.Key = &api.NewKey{Name: *key}
		}
		if err := p.readPassword(*stdin, &in.Password); err != nil {
			return err
		}
		if err := s.replaceByID(ctx, &in.TeamID); err != nil {
			return err
		}
		if in.Role != "" && in.TeamID == "" {
			return errors.New("--role needs --team: it is the role in that team")
		}
		s.discover(ctx, limits)
		created, err := s.Admin.CreateUser(ctx, admin.CommandLine(), in)
		if err != nil {
			return err
		}
		return o.created(s.Admin.ShowCreatedUser(created), "a user")
	}))
}

// created prints a new user: the key and the link alone on their lines.
func (o *output) created(shown api.CreatedUser, what string) error {
	return o.show(shown, func() error {
		o.note("%s is %s, %s; %s", shown.Email, what, shown.ID, limitWords(&shown.Limits))
		if shown.Key != nil {
			o.note("key %s, %s; it is shown only now:", shown.Key.ID, api.Quoted(shown.Key.Name))
			if _, err := fmt.Fprintln(o.out, shown.Key.Key); err != nil || o.quiet {
				return err
			}
		}
		if shown.Link == nil {
			return nil
		}
		return o.link(shown.Link, "with it "+shown.Email+" sets a password")
	})
}

// link prints a link alone on its line.
func (o *output) link(l *api.Link, purpose string) error {
	o.note("%s; it works once, until %s:", purpose, local(l.ExpiresAt))
	_, err := fmt.Fprintln(o.out, *l.URL)
	return err
}

func (p *Program) userInvite() *cobra.Command {
	c := &cobra.Command{
		Use:   "invite [--email EMAIL] [--team TEAM]",
		Short: "Print a link with which one person can register",
	}
	o := p.output(c, "print the link only")
	in := api.NewInvitation{}
	c.Flags().StringVar(&in.Email, "email", "", "the only address that can register with it")
	c.Flags().StringVar(&in.TeamID, "team", "", "team to which the person will belong: name or id")
	c.Flags().StringVar(&in.Role, "role", "", "member or manager of the team")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, _ []string) error {
		if err := s.replaceByID(ctx, &in.TeamID); err != nil {
			return err
		}
		link, err := s.Admin.Invite(ctx, admin.CommandLine(), in)
		if err != nil {
			return err
		}
		shown := admin.ShowCreatedInvitation(link)
		who := string(shown.Email)
		if who == "" {
			who = "one person"
		}
		return o.show(shown, func() error {
			return o.link(&api.Link{URL: shown.URL, ExpiresAt: shown.ExpiresAt}, "with it "+who+" can register")
		})
	}))
}

func (p *Program) userReset() *cobra.Command {
	c := &cobra.Command{
		Use: "reset-password USER", Args: words("USER"),
		Short: "Print a link with which a user sets a new password; earlier logins end then",
	}
	o := p.output(c, "print the link only")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		u, err := s.user(ctx, args[0])
		if err != nil {
			return err
		}
		link, err := s.Admin.ResetLink(ctx, admin.CommandLine(), u.ID)
		if err != nil {
			return err
		}
		shown := admin.ShowLink(link)
		return o.show(shown, func() error { return o.link(shown, "with it "+u.Email+" sets a new password") })
	}))
}

// readPassword reads a password from the first line of standard input.
func (p *Program) readPassword(wanted bool, into *string) error {
	if !wanted {
		return nil
	}
	const longest = 1 << 10
	line, err := bufio.NewReader(io.LimitReader(p.In, longest)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the password: %w", err)
	}
	if *into = strings.TrimRight(line, "\r\n"); *into == "" {
		return errors.New("standard input has no password")
	}
	return nil
}

// replaceByID replaces the name of a team by its id; empty stays empty.
func (s *session) replaceByID(ctx context.Context, team *string) (err error) {
	if *team != "" {
		*team, err = s.team(ctx, *team)
	}
	return err
}
