package cli

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/app"
	"modelgateway/catalog"
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
			list := s.Models.List(registry.Query{Available: *available, All: true})
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
		rows[i] = []string{
			m.ID, m.OwnedBy, yes(m.Available), tokens(m.ContextWindow), input, output, fees(m.Price), state, cmp.Or(m.Successor, none),
		}
	}
	return o.table([]string{"MODEL", "PROVIDER", "AVAILABLE", "CONTEXT", "INPUT/1M", "OUTPUT/1M", "FEES", "STATE", "SUCCESSOR"}, rows)
}

// fees are what a call costs beside tokens, without those of tools that few calls use.
func fees(price *api.ModelPrice) string {
	var all []string
	for _, unit := range []catalog.Unit{catalog.Requests, catalog.Images, catalog.Seconds, catalog.Characters} {
		if name := unit.String(); price != nil && price.Fees[name] > 0 {
			all = append(all, name+" "+strconv.FormatFloat(price.Fees[name], 'f', -1, 64))
		}
	}
	return cmp.Or(strings.Join(all, ", "), none)
}

func tokens(n int64) string {
	if n == 0 {
		return none
	}
	return thousands(n)
}
