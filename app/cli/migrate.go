package cli

import (
	"context"

	"github.com/spf13/cobra"
)

func (p *Program) migrate() *cobra.Command {
	c := &cobra.Command{Use: "migrate", Short: "Bring the tables of the database up to this release, as the start of the server does"}
	o := p.output(c, "")
	return p.action(c, func(ctx context.Context, _ []string) error {
		return p.session(ctx, o, func(s *session) error {
			before, err := s.Store.Schema(ctx)
			if err != nil {
				return noAnswer(err)
			}
			if err := s.Store.Migrate(ctx); err != nil {
				return err
			}
			return o.show(migrated{Applied: before.Missing, Total: before.Applied + before.Missing}, func() error {
				o.note("%d migrations were applied; the database has all %d", before.Missing, before.Applied+before.Missing)
				return nil
			})
		})
	})
}

// migrated is what migrate prints as JSON: there is no endpoint like it.
type migrated struct {
	Applied int `json:"applied"`
	Total   int `json:"total"`
}
