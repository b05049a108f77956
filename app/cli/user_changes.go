package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/services/admin"
)

func (p *Program) userDisable() *cobra.Command {
	c := &cobra.Command{Use: "disable USER", Short: "Refuse a user's keys and logins: within a second, on every replica"}
	return p.setDisabled(c, true, "is disabled: keys and logins are refused within a second")
}

func (p *Program) userEnable() *cobra.Command {
	c := &cobra.Command{Use: "enable USER", Short: "Accept a disabled user's keys again; earlier logins stay ended"}
	return p.setDisabled(c, false, "is enabled: the keys work, and the user has to log in again")
}

func (p *Program) setDisabled(c *cobra.Command, disabled bool, result string) *cobra.Command {
	c.Args = words("USER")
	o := p.output(c, "print nothing")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		u, err := s.user(ctx, args[0])
		if err != nil {
			return err
		}
		state, err := s.Admin.ChangeUser(ctx, admin.CommandLine(), u.ID, api.UserChange{Disabled: &disabled})
		if err != nil {
			return err
		}
		return o.done(admin.ShowUser(state), u.Email+" "+result)
	}))
}

func (p *Program) userRename() *cobra.Command {
	c := &cobra.Command{Use: "rename USER NAME", Short: "Change the name of a user", Args: words("USER", "NAME")}
	o := p.output(c, "print nothing")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		u, err := s.user(ctx, args[0])
		if err != nil {
			return err
		}
		name := api.Field[string]{Named: true, Value: &args[1]}
		state, err := s.Admin.ChangeUser(ctx, admin.CommandLine(), u.ID, api.UserChange{Name: name})
		if err != nil {
			return err
		}
		return o.done(admin.ShowUser(state), u.Email+" is "+api.Quoted(state.Name)+" now")
	}))
}

func (p *Program) userDelete() *cobra.Command {
	c := &cobra.Command{Use: "delete USER", Short: "Delete a user for ever: the keys are revoked, the ledger stays", Args: words("USER")}
	o := p.output(c, "print nothing")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		u, err := s.user(ctx, args[0])
		if err != nil {
			return err
		}
		if err := s.Admin.DeleteUser(ctx, admin.CommandLine(), u.ID); err != nil {
			return err
		}
		return o.done(api.Deleted{ID: u.ID, Object: api.ObjectUser, Deleted: true}, u.Email+" is deleted")
	}))
}

func (p *Program) userErase() *cobra.Command {
	c := &cobra.Command{
		Use:   "erase USER [--delete]",
		Short: "Remove the address and the name of a deleted user from everything, the audit too; the ledger stays", Args: words("USER"),
	}
	deleteToo := c.Flags().Bool("delete", false, "a user who is still there is deleted first")
	o := p.output(c, "print nothing")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		id, err := s.userID(ctx, args[0])
		if err != nil {
			return err
		}
		err = s.Admin.EraseUser(ctx, admin.CommandLine(), id, *deleteToo)
		if refused, ok := errors.AsType[*api.Error](err); ok && refused.Param == "delete" {
			return fmt.Errorf("%s is not deleted: --delete deletes and erases in one go", args[0])
		}
		if err != nil {
			return err
		}
		return o.done(api.Deleted{ID: id, Object: api.ObjectUser, Deleted: true}, id+" is erased: only the id is left")
	}))
}

func (p *Program) userLimits() *cobra.Command {
	c := &cobra.Command{
		Use: "limits USER [limits]", Short: "Change the limits that all calls of a user have together", Args: words("USER"),
	}
	return p.changesLimits(c, func(ctx context.Context, s *session, email string, limits api.KeyLimits) (any, string, error) {
		u, err := s.user(ctx, email)
		if err != nil {
			return nil, "", err
		}
		state, err := s.Admin.ChangeUser(ctx, admin.CommandLine(), u.ID, api.UserChange{KeyLimits: limits})
		if err != nil {
			return nil, "", err
		}
		shown := admin.ShowUser(state)
		return shown, shown.Email + ": " + limitWords(&shown.Limits), nil
	})
}
