package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"modelgateway/app"
)

func (p *Program) serve() *cobra.Command {
	return p.action(&cobra.Command{Use: "serve", Short: "Serve until SIGTERM; the same as no command"},
		func(ctx context.Context, _ []string) error { return app.Run(ctx, p.Environ, p.Out) })
}

func (p *Program) version() *cobra.Command {
	return p.action(&cobra.Command{Use: "version", Short: "Print the version"},
		func(context.Context, []string) error {
			_, err := fmt.Fprintln(p.Out, app.Version())
			return err
		})
}

func (p *Program) healthcheck() *cobra.Command {
	var ready bool
	c := p.action(&cobra.Command{Use: "healthcheck [--ready]", Short: "Check that the server on this machine is alive, or ready for requests"},
		func(ctx context.Context, _ []string) error {
			probe := "/livez"
			if ready {
				probe = "/readyz"
			}
			return app.Probe(ctx, probe, p.Environ)
		})
	c.Flags().BoolVar(&ready, "ready", false, "ready for requests: it has its database and does not stop")
	return c
}
