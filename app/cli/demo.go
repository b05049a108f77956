package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"modelgateway/app"
	"modelgateway/app/demo"
	"modelgateway/models"
)

// demoDatabase is a database that only the demonstration opens.
const demoDatabase = "sqlite:data/demo.db"

func (p *Program) demo() *cobra.Command {
	c := &cobra.Command{
		Use: "demo", Short: "Serve with simulated providers and a week of simulated traffic, on a database of its own: data/demo.db",
	}
	o := p.output(c, "")
	return p.action(c, func(ctx context.Context, _ []string) error {
		own := *p
		own.Environ = append(slices.Clone(p.Environ), "SIMULATOR=true", "DATABASE_URL="+demoDatabase, "REDIS_URL=")
		if cfg, err := app.Settings(own.Environ); err == nil && cfg.EncryptionKey.IsZero() {
			// For responses that are kept for an hour: the next start cannot read them.
			own.Environ = append(own.Environ, "ENCRYPTION_KEY="+randomKey())
		}
		if path, missing := models.FileMissing(demoDatabase); missing {
			if err := own.fillDemo(ctx, o); err != nil {
				return errors.Join(err, os.Remove(path)) // else the next start would take it for a complete one
			}
		}
		return app.Run(ctx, own.Environ, p.Out)
	})
}

func randomKey() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	return hex.EncodeToString(key[:])
}

func (p *Program) fillDemo(ctx context.Context, o *output) error {
	return p.session(ctx, o, func(s *session) error {
		if err := s.Store.Migrate(ctx); err != nil {
			return err
		}
		if err := demo.Fill(ctx, s.Services, time.Now()); err != nil {
			return err
		}
		s.note("data/demo.db is new: it has a week of simulated traffic; its people, teams and keys have names that begin with demo")
		return nil
	})
}
