package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/app"
	"modelgateway/config"
	"modelgateway/models"
	"modelgateway/services/registry"
)

func (p *Program) models() *cobra.Command {
	c := &cobra.Command{Use: "models [--available] [--discover]", Short: "List the models: provider, context window, prices, state"}
	o := p.output(c, "print the names only")
	available := c.Flags().Bool("available", false, "only models that can be called")
	discover := c.Flags().Bool("discover", false, "ask the providers for their models as well, as a running server does")
	return p.action(c, func(ctx context.Context, _ []string) error {
		cfg, err := app.Settings(p.Environ)
		if err != nil {
			return err
		}
		cfg.DatabaseURL = config.NewSecret(models.InMemory) // none is needed
		return p.with(ctx, o, cfg, func(s *session) error {
			if *discover {
				s.Discover(ctx)
			}
			list := s.Models.List(registry.Query{Available: *available})
			return o.show(list, func() error { return o.models(list.Data, cfg.Spend.DefaultPrice) })
		})
	})
}

// models prints a table. A model without a price has the standard one, if there is one.
func (o *output) models(list []api.Model, standard *config.Price) error {
	rows := make([][]string, len(list))
	for i := range list {
		m := &list[i]
		input, output := none, none
		switch {
		case m.Price != nil:
			input, output = dollars(m.Price.Input), dollars(m.Price.Output)
		case standard != nil:
			input, output = dollars(api.USD(standard.Input)), dollars(api.USD(standard.Output))
		}
		state := m.State
		if m.ShutdownDate != "" {
			state += " " + m.ShutdownDate
		}
		rows[i] = []string{m.ID, m.OwnedBy, yes(m.Available), tokens(m.ContextWindow), input, output, state, cmp.Or(m.Successor, none)}
	}
	return o.table([]string{"MODEL", "PROVIDER", "AVAILABLE", "CONTEXT", "INPUT/1M", "OUTPUT/1M", "STATE", "SUCCESSOR"}, rows)
}

func tokens(n int64) string {
	if n == 0 {
		return none
	}
	return thousands(n)
}
