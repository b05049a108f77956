package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/services/admin"
	"modelgateway/services/auth"
)

func (p *Program) keyCreate() *cobra.Command {
	c := &cobra.Command{
		Use:   "create --user USER | --team TEAM --name NAME [limits]",
		Short: "Create a key, and print it: it is shown only now",
		Long: `Create a key of a user, of a team, or of a user in a team, and print it: it is shown only
now. The owner cannot change limits that are named here.`,
		Example: "  KEY=$(modelgateway key create --user ada@example.com --name laptop --budget-usd 50 -q)",
	}
	o := p.output(c, "print the key only")
	in := api.AdminNewKey{}
	user := c.Flags().String("user", "", "whose key it is: e-mail address or id")
	team := c.Flags().String("team", "", "team that pays for its calls as well: name or id")
	c.Flags().StringVar(&in.Name, "name", "", "name of the key, such as where it is used")
	limits := limitFlags(c)
	_ = c.MarkFlagRequired("name")
	c.MarkFlagsOneRequired("user", "team")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, _ []string) error {
		in.KeyLimits = *limits
		of, err := s.keyFilter(ctx, *user, *team)
		if err != nil {
			return err
		}
		in.UserID, in.TeamID = of.UserID, of.TeamID
		s.discover(ctx, limits)
		key, text, err := s.Admin.CreateKey(ctx, admin.CommandLine(), in)
		if err != nil {
			return err
		}
		about := fmt.Sprintf("key %s, %s; it is shown only now:", key.ID, api.Quoted(key.Name))
		return o.secret(auth.ShowCreatedKey(key, text), text, about)
	}))
}

// discover asks the providers for their models if limits name one that is in no
// catalogue: a running server may know it.
func (s *session) discover(ctx context.Context, limits *api.KeyLimits) {
	if limits.Models.Value == nil {
		return
	}
	for _, name := range *limits.Models.Value {
		if _, err := s.Models.Resolve(name); err != nil {
			s.Discover(ctx)
			return
		}
	}
}

func (p *Program) keyRotate() *cobra.Command {
	c := &cobra.Command{
		Use:   "rotate KEY_ID [--overlap 24h]",
		Short: "Give a key a new secret, and print it: it is shown only now",
		Long: `Give a key a new secret, and print it: it is shown only now. Id, limits and spend stay.
The former secret works until the overlap ends.`,
	}
	o := p.output(c, "print the new secret only")
	overlap := c.Flags().Duration("overlap", 24*time.Hour, "how long the former secret works, up to 168h; 0 ends it at once")
	c.Args = words("KEY_ID")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		seconds := int64(*overlap / time.Second)
		in := api.AdminKeyRotation{KeyRotation: api.KeyRotation{OverlapSeconds: &seconds}}
		key, text, err := s.Admin.RotateKey(ctx, admin.CommandLine(), args[0], in)
		if err != nil {
			return err
		}
		rotated := auth.ShowRotatedKey(key, text)
		about := fmt.Sprintf("key %s, %s; the former secret works until %s. The new one is shown only now:",
			key.ID, api.Quoted(key.Name), local(rotated.PreviousExpiresAt))
		return o.secret(rotated, text, about)
	}))
}

func (p *Program) keyRevoke() *cobra.Command {
	c := &cobra.Command{Use: "revoke KEY_ID", Short: "End a key for ever", Args: words("KEY_ID")}
	o := p.output(c, "print nothing")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		id := args[0]
		if err := s.Admin.RevokeKey(ctx, admin.CommandLine(), id); err != nil {
			return err
		}
		return o.done(api.Deleted{ID: id, Object: api.ObjectKey, Deleted: true}, "key "+id+" is revoked")
	}))
}

func (p *Program) keyLimits() *cobra.Command {
	c := &cobra.Command{
		Use:   "limits KEY_ID [limits]",
		Short: "Change the limits of a key: its owner cannot change them any more",
		Args:  words("KEY_ID"),
	}
	o := p.output(c, "print nothing")
	limits := limitFlags(c)
	release := c.Flags().Bool("release", false, "let the owner change the limits again")
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		change := api.AdminKeyChange{KeyChange: api.KeyChange{KeyLimits: *limits}}
		change.LimitedBy.Named = *release
		if !limits.Any() && !*release {
			return errNoLimit
		}
		s.discover(ctx, limits)
		key, err := s.Admin.ChangeKey(ctx, admin.CommandLine(), args[0], change)
		if err != nil {
			return err
		}
		shown := admin.ShowKey(key)
		return o.done(shown, fmt.Sprintf("key %s, %s: %s", shown.ID, api.Quoted(shown.Name), limitWords(&shown.Limits)))
	}))
}

var errNoLimit = errors.New("no limit is named: --help lists them")
