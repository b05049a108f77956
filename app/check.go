package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modelgateway/config"
	"modelgateway/models"
	"modelgateway/providers/all"
	"modelgateway/services/operations"
)

// Report is what a check of the settings found. Nothing in it is a secret.
type Report struct {
	Config   *config.Config // a setting with a fault has its default
	Database string         // in words
	Faults   []string       // with them the gateway would not start, or not work
	Warnings []string       // as the start logs them
	Keys     map[string]int // how many keys the pool of each configured provider has
}

// Check checks the settings without starting anything, and, unless it is offline,
// whether the database and Redis answer. It changes neither.
func Check(ctx context.Context, environ []string, offline bool) *Report {
	cfg, faults := config.Read(environ, ".env", all.Settings())
	r := &Report{Config: cfg, Faults: faults, Database: database(cfg.DatabaseURL.Reveal())}
	if !r.named("MODELS_FILE") {
		of, err := derive(cfg, silentWarner())
		r.fault(err)
		r.count(of)
	}
	if len(r.Faults) == 0 {
		r.fault(r.assemble(ctx, offline))
	}
	return r
}

// count counts the keys of the configured providers. of is nil where the models file has
// a fault.
func (r *Report) count(of *derived) {
	r.Keys = map[string]int{}
	for _, p := range all.New(*r.Config) {
		r.Keys[p.Name] = len(p.Keys)
	}
	if of == nil {
		return
	}
	for _, p := range of.own {
		r.Keys[p.Name] = len(p.Keys)
	}
}

// named reports whether there is a fault of a setting.
func (r *Report) named(setting string) bool {
	for _, fault := range r.Faults {
		if strings.HasPrefix(fault, setting+":") {
			return true
		}
	}
	return false
}

// fault adds the lines of an error; nil adds none.
func (r *Report) fault(err error) {
	if err != nil {
		r.Faults = append(r.Faults, strings.Split(err.Error(), "\n")...)
	}
}

// assemble collects the warnings of a start, and asks the servers.
func (r *Report) assemble(ctx context.Context, offline bool) error {
	cfg := *r.Config
	path, missing := models.FileMissing(cfg.DatabaseURL.Reveal())
	if missing {
		r.Database += ", which the first start makes"
		if err := creatable(path); err != nil {
			return fmt.Errorf("DATABASE_URL: %w", err)
		}
		cfg.DatabaseURL = config.NewSecret(models.InMemory)
	}
	g, end, err := open(ctx, &cfg, slog.New(slog.DiscardHandler), func() float64 { return 0 })
	if err != nil {
		return err
	}
	defer end()
	var address net.Addr
	if at, err := net.ResolveTCPAddr("tcp", cfg.Addr()); err == nil {
		address = at
	}
	r.warn(g.warnings(&cfg, address))
	if offline {
		return nil
	}
	return errors.Join(r.askDatabase(ctx, g, missing), askRedis(ctx, g))
}

func (r *Report) warn(of []operations.Warning) {
	for _, w := range of {
		r.Warnings = append(r.Warnings, w.Message)
	}
}

func (r *Report) askDatabase(ctx context.Context, g *gateway, missing bool) error {
	schema, err := g.store.Schema(ctx)
	switch {
	case err != nil && models.LoginRefused(err):
		return fmt.Errorf("DATABASE_URL: %s", loginAdvice)
	case err != nil:
		return fmt.Errorf("DATABASE_URL: the database does not answer: %w", err)
	case missing:
	case schema.Applied == 0:
		r.Database += ", empty: the first start makes its tables"
	case schema.Missing > 0:
		r.Database += fmt.Sprintf(", of an older release: the next start applies %d migrations", schema.Missing)
	default:
		r.Database += ", ready"
		now := silentWarner()
		g.warnOfAdministrators(ctx, now)
		r.warn(now.kept)
	}
	return nil
}

func askRedis(ctx context.Context, g *gateway) error {
	if err := g.probeCache(ctx); err != nil {
		return fmt.Errorf("REDIS_URL: Redis does not answer: %w", err)
	}
	return nil
}

// database names a database without its credentials.
func database(address string) string {
	if path, _ := models.FileMissing(address); path != "" {
		return "SQLite, " + path
	}
	u, err := url.Parse(address)
	if err != nil {
		return "PostgreSQL"
	}
	return "PostgreSQL at " + u.Host + ", database " + strings.TrimPrefix(u.Path, "/")
}

// creatable returns an error unless a file could be made at this path, with the
// folders that are missing.
func creatable(path string) error {
	dir := filepath.Dir(path)
	for {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is no folder", dir)
		}
		break
	}
	probe, err := os.CreateTemp(dir, ".modelgateway-check-")
	if err != nil {
		return fmt.Errorf("no file can be made in %s: %w", dir, errors.Unwrap(err))
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}
