package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"modelgateway/app"
	"modelgateway/config"
	"modelgateway/models"
)

// session is the gateway's services over the database of the settings.
type session struct {
	*app.Services
	*output
	config *config.Config
}

// doing is what a command does in a session.
type doing func(ctx context.Context, s *session, args []string) error

var errEmpty = errors.New("the database is empty: the first start, `modelgateway migrate` and commands that add something make its tables")

// reads makes an action that reads the database. It makes no file for one.
func (p *Program) reads(o *output, do doing) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		cfg, err := app.Settings(p.Environ)
		if err != nil {
			return err
		}
		if _, missing := models.FileMissing(cfg.DatabaseURL.Reveal()); missing {
			return errEmpty
		}
		return p.with(ctx, o, cfg, func(s *session) error {
			if err := s.checkSchema(ctx, false); err != nil {
				return err
			}
			return do(ctx, s, args)
		})
	}
}

// writes makes an action that changes the database. On an empty one it makes the
// schema, so that it can run before the first start.
func (p *Program) writes(o *output, do doing) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		return p.session(ctx, o, func(s *session) error {
			if err := s.checkSchema(ctx, true); err != nil {
				return err
			}
			return do(ctx, s, args)
		})
	}
}

func (p *Program) session(ctx context.Context, o *output, do func(*session) error) error {
	cfg, err := app.Settings(p.Environ)
	if err != nil {
		return err
	}
	return p.with(ctx, o, cfg, do)
}

// with opens the services and closes them after do. What their assembly warns of is
// shown by check and in the log of the server; later warnings are printed.
func (p *Program) with(ctx context.Context, o *output, cfg *config.Config, do func(*session) error) error {
	level := new(slog.LevelVar)
	level.Set(math.MaxInt)
	services, err := app.Open(ctx, cfg, slog.New(slog.NewTextHandler(p.Err, &slog.HandlerOptions{Level: level})))
	if err != nil {
		return err
	}
	defer services.Close()
	level.Set(slog.LevelWarn)
	return do(&session{Services: services, output: o, config: cfg})
}

// checkSchema returns an error unless the database has the schema of this release.
func (s *session) checkSchema(ctx context.Context, create bool) error {
	schema, err := s.Store.Schema(ctx)
	switch {
	case err != nil:
		return noAnswer(err)
	case schema.Missing == 0:
		return nil
	case schema.Applied > 0:
		return fmt.Errorf("the database is of an older release: %d migrations are missing; "+
			"start the server of this release, or run `modelgateway migrate`", schema.Missing)
	case !create:
		return errEmpty
	}
	if err := s.Store.Migrate(ctx); err != nil {
		return err
	}
	s.note("the database was empty: its tables are made")
	return nil
}

func noAnswer(err error) error {
	return fmt.Errorf("DATABASE_URL: the database does not answer: %w", err)
}
