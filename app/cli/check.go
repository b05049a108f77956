package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"modelgateway/app"
	"modelgateway/app/live"
)

// checked is what check prints as JSON.
type checked struct {
	OK             bool     `json:"ok"`
	Faults         []string `json:"faults"`
	Warnings       []string `json:"warnings"`
	ListensOn      string   `json:"listens_on"`
	PublicURL      string   `json:"public_url"`
	Database       string   `json:"database"`
	Redis          bool     `json:"redis"`
	Providers      []string `json:"providers"` // that are configured
	Simulator      bool     `json:"simulator"` // answers in their place
	RequiresAuth   bool     `json:"requires_auth"`
	Administrators int      `json:"administrators"` // addresses of ADMIN_EMAILS
}

func (p *Program) check() *cobra.Command {
	c := &cobra.Command{
		Use:   "check [--offline | --live [--provider PROVIDER] [--record DIR]]",
		Short: "Check the settings: what is wrong, what the server would listen on, what its start would warn of",
		Long: `Check the settings of the environment and of the file .env, without starting the server.
Everything that is wrong is listed at once, and the exit code is 1 then. No secret is
printed. The database and Redis are asked whether they answer, and not changed.

With --live it asks the providers instead whether they still speak as the gateway expects. It makes one
tiny call of each kind in each dialect with your keys, for less than a cent a provider: what the calls can
cost is printed first. Each line says "as expected", "differs" with what and where it matters, or
"not offered". The exit code is 1 if something differs but new members, events and models, which clients
do not notice. Nothing is written but this report, in which no secret and no account stands; --record keeps
the answers in a folder, with ids and accounts replaced. OpenAI, Anthropic and Gemini are checked.`,
		Example: "  modelgateway check\n  modelgateway check --live --provider anthropic",
	}
	o := p.output(c, "")
	offline := c.Flags().Bool("offline", false, "ask neither the database nor Redis")
	asked := c.Flags().Bool("live", false, "ask the providers with tiny calls, for less than a cent each")
	var options live.Options
	c.Flags().StringVar(&options.Provider, "provider", "", "with --live: only this one, such as anthropic")
	c.Flags().StringVar(&options.Record, "record", "", "with --live: the folder in which the answers are kept, without ids and accounts")
	c.MarkFlagsMutuallyExclusive("offline", "live")
	return p.action(c, func(ctx context.Context, _ []string) error {
		switch {
		case *asked:
			return p.checkLive(ctx, o, options)
		case options.Provider+options.Record != "":
			return errors.New("--provider and --record belong to --live")
		}
		r := app.Check(ctx, p.Environ, *offline)
		shown := checked{
			OK: len(r.Faults) == 0, Faults: append([]string{}, r.Faults...), Warnings: append([]string{}, r.Warnings...),
			ListensOn: r.Config.Addr(), PublicURL: r.Config.PublicURL, Database: r.Database, Redis: !r.Config.RedisURL.IsZero(),
			Providers: configured(r.Keys), Simulator: r.Config.Simulator,
			RequiresAuth: r.Config.RequireAuth, Administrators: len(r.Config.Spend.AdminEmails),
		}
		if err := o.show(shown, func() error { return o.check(&shown) }); err != nil {
			return err
		}
		if !shown.OK {
			return errSilent
		}
		return nil
	})
}

// configured names the providers with the number of their keys, if there are several.
func configured(keys map[string]int) []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if n := keys[name]; n > 1 {
			names = append(names, fmt.Sprintf("%s (%d keys)", name, n))
		} else {
			names = append(names, name)
		}
	}
	return names
}

func (o *output) check(c *checked) error {
	for _, fault := range c.Faults {
		_, _ = fmt.Fprintln(o.out, "error:", fault)
	}
	for _, warning := range c.Warnings {
		_, _ = fmt.Fprintln(o.out, "warning:", warning)
	}
	listens, redis, providers, credential := c.ListensOn, "none", "none", "not required"
	if strings.HasPrefix(listens, ":") {
		listens = "all interfaces, port " + listens[1:]
	}
	if c.Redis {
		redis = "configured"
	}
	switch {
	case c.Simulator:
		providers = "simulated"
	case len(c.Providers) > 0:
		providers = strings.Join(c.Providers, ", ")
	}
	if c.RequiresAuth {
		credential = "required"
	}
	rows := [][]string{
		{"listens on", listens}, {"public URL", c.PublicURL}, {"database", c.Database}, {"Redis", redis},
		{"providers", providers}, {"credentials", credential}, {"ADMIN_EMAILS", fmt.Sprintf("%d addresses", c.Administrators)},
	}
	if err := o.align(rows); err != nil {
		return err
	}
	if c.OK {
		_, err := fmt.Fprintln(o.out, "the settings are valid")
		return err
	}
	wrong := "1 setting is wrong"
	if n := len(c.Faults); n > 1 {
		wrong = fmt.Sprintf("%d settings are wrong", n)
	}
	_, err := fmt.Fprintf(o.out, "%s: the server would not start, or not work\n", wrong)
	return err
}
