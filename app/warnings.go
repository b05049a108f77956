package app

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"

	"modelgateway/config"
	"modelgateway/services/operations"
)

// warner logs warnings about settings and keeps them, for a check of the settings and for
// administrators.
type warner struct {
	log  *slog.Logger
	kept []operations.Warning
}

// add adds a warning about a setting; empty for none. args are as those of slog.
func (w *warner) add(setting, message string, args ...any) {
	w.log.Warn(message, args...)
	words := append([]string{message}, attrWords(slog.Group("", args...).Value.Group())...)
	w.kept = append(w.kept, operations.Warning{Setting: setting, Message: strings.Join(words, " ")})
}

func silentWarner() *warner { return &warner{log: slog.New(slog.DiscardHandler)} }

// warningsNow are the warnings of a gateway that listens.
func (g *gateway) warningsNow(ctx context.Context) []operations.Warning {
	now := silentWarner()
	g.warnOfAdministrators(ctx, now)
	return slices.Concat(g.warnings(g.settings.Load(), *g.address.Load()), now.kept)
}

// warnings are those that need no database: those of the start, and those that a change of
// the models file may have ended. address is where the gateway listens; nil: not known.
func (g *gateway) warnings(cfg *config.Config, address net.Addr) []operations.Warning {
	now := silentWarner()
	g.warnOfNoProvider(now)
	if address != nil {
		g.warnOfOpenMode(*cfg, address, now)
	}
	g.warnOfOpenRegistration(*cfg, now)
	return slices.Concat(g.started.kept, now.kept)
}
