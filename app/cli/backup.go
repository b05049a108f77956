package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"modelgateway/app"
	"modelgateway/models"
)

// backedUp is what backup and restore print as JSON.
type backedUp struct {
	File       string `json:"file"`
	Bytes      int64  `json:"bytes"`
	Migrations int    `json:"migrations"` // that the copy has
	Missing    int    `json:"missing"`    // that the next start applies
}

func (p *Program) backup() *cobra.Command {
	c := &cobra.Command{
		Use: "backup FILE", Args: words("a file"), Short: "Copy the SQLite database into a new file, also while the gateway runs",
		Long: `Copy the SQLite database of DATABASE_URL into a new file, as it is at one moment. The
gateway may be running. The copy is checked, and only this user may read it.

ENCRYPTION_KEY, JWT_SECRET and the other settings are not in it: keep them as well, apart
from it. For PostgreSQL, docs/backup.md has the commands.`,
		Example: "  modelgateway backup /backups/gateway-$(date +%F).db",
	}
	o := p.output(c, "")
	return p.action(c, func(ctx context.Context, args []string) error {
		cfg, err := app.Settings(p.Environ)
		if err != nil {
			return err
		}
		made, err := models.BackUp(ctx, cfg.DatabaseURL.Reveal(), args[0])
		if err != nil {
			return backupAdvice(err, "pg_dump")
		}
		return o.done(shownBackup(args[0], made), fmt.Sprintf("%s has the database, %s bytes; keep ENCRYPTION_KEY, JWT_SECRET and "+
			"the other settings as well: they are not in it", args[0], thousands(made.Bytes)))
	})
}

func (p *Program) restore() *cobra.Command {
	c := &cobra.Command{
		Use: "restore FILE [--replace]", Args: words("a file"), Short: "Make the SQLite database from a backup, while no gateway runs",
		Long: `Make the SQLite database of DATABASE_URL from a file that backup has made. The file is
checked first, and nothing is changed where it is not sound or is of a later release. No
gateway may have the database open. The next start migrates a backup of an older release.

What happened after the backup is undone: keys that were revoked since then are valid
again, and money that was spent since then is not counted.`,
	}
	o := p.output(c, "")
	replace := c.Flags().Bool("replace", false, "replace the database if there is one")
	return p.action(c, func(ctx context.Context, args []string) error {
		cfg, err := app.Settings(p.Environ)
		if err != nil {
			return err
		}
		address := cfg.DatabaseURL.Reveal()
		made, err := models.Restore(ctx, args[0], address, *replace)
		if err != nil {
			return backupAdvice(err, "pg_restore")
		}
		path, _ := strings.CutPrefix(address, "sqlite:")
		return o.done(shownBackup(path, made), fmt.Sprintf("%s has what %s has; the next start applies %d migrations",
			path, args[0], made.Schema.Missing))
	})
}

func shownBackup(file string, b *models.Backup) backedUp {
	return backedUp{File: file, Bytes: b.Bytes, Migrations: b.Schema.Applied, Missing: b.Schema.Missing}
}

// backupAdvice adds to an error what to do. program is the one for PostgreSQL.
func backupAdvice(err error, program string) error {
	advice := ""
	switch {
	case errors.Is(err, models.ErrNotEmbedded):
		return fmt.Errorf("DATABASE_URL is not an SQLite file; for PostgreSQL use %s: docs/backup.md has the commands", program)
	case errors.Is(err, models.ErrInUse):
		advice = "stop it first"
	case errors.Is(err, models.ErrNewer):
		advice = "restore it with that release or a later one"
	case errors.Is(err, models.ErrExists) && program == "pg_restore":
		advice = "--replace replaces it"
	case errors.Is(err, models.ErrExists):
		advice = "a backup replaces no file"
	default:
		return err
	}
	return fmt.Errorf("%w; %s", err, advice)
}
