package app

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"

	"modelgateway/config"
	"modelgateway/providers/all"
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
	cfg := g.settings.Load()
	kept := slices.Concat(g.warnings(cfg, *g.address.Load()), now.kept)
	if !cfg.RequireAuth && !slices.ContainsFunc(kept, func(w operations.Warning) bool { return w.Setting == requireAuth }) {
		// The start says nothing of open mode that only this machine reaches, or that is simulated; the console always does.
		kept = append(kept, operations.Warning{
			Setting: requireAuth,
			Message: "anyone who reaches this address can use it: calls need no key; REQUIRE_AUTH=true (with JWT_SECRET) changes that",
		})
	}
	return kept
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

// warnOfNoProvider warns if there is no provider that could be called.
func (g *gateway) warnOfNoProvider(warn *warner) {
	if !g.hasProvider() {
		warn.add("", "no provider is configured: every request to a model is answered with 503; set "+keySettings()+trial(*g.settings.Load()))
	}
}

// trial continues what has to be set where no provider is configured.
func trial(cfg config.Config) string {
	text := ", or SIMULATOR=true to try the gateway without keys"
	if cfg.Compose {
		text += ": SIMULATOR=true docker compose up"
	}
	return text
}

// keySettings names the settings of the providers' keys: A, B or C.
func keySettings() string {
	var names []string
	for _, p := range all.BuiltIn() {
		names = append(names, p.KeySetting())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// keySetting names the setting that configures a provider.
func keySetting(provider string) string {
	for _, p := range all.Settings() {
		if p.Name == provider {
			return p.NameSetting()
		}
	}
	return ""
}
