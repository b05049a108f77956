package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/models"
	"modelgateway/providers/all"
)

// Live is the gateway of these settings for a check of its providers: without accounts, limits, fallbacks, retries and mails,
// with a database of its own in memory. It does not listen.
type Live struct {
	Handler   http.Handler
	Catalog   *catalog.Catalog
	Providers []all.Configured // those of the drivers, in their order
	LogIns    []all.Configured // that sign in at a cloud
	Simulated bool
	Close     func()
}

// OpenLive opens such a gateway. The caller closes it.
func OpenLive(ctx context.Context, cfg *config.Config) (*Live, error) {
	own := *cfg
	own.DatabaseURL, own.RedisURL = config.NewSecret(models.InMemory), config.Secret{}
	own.RequireAuth, own.RequireVerified, own.ModelDiscovery, own.StrictParams = false, false, false, false
	own.RateLimitRPM, own.MaxRetries, own.HedgeAfter, own.ResponsesStore = 0, 0, 0, 0
	own.AllowedHosts, own.LogPrompts = []string{"*"}, config.LogPromptsOff
	own.SMTP, own.AlertWebhook, own.Tracing, own.IDP = config.SMTP{}, config.AlertWebhook{}, config.Tracing{}, config.IDP{}
	none := config.LimitDefaults{Budget: -1}
	own.Spend = config.Spend{MaxBudget: -1, Users: none, Keys: config.KeyDefaults{LimitDefaults: none}}
	g, end, err := open(ctx, &own, slog.New(slog.DiscardHandler), func() float64 { return 0 })
	if err != nil {
		return nil, err
	}
	g.first.router.Fallbacks, g.first.router.Patterns = nil, nil
	if err := g.store.Migrate(ctx); err != nil {
		end()
		return nil, fmt.Errorf("the tables in memory: %w", err)
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	g.startSpending(working, &background)
	list, err := catalog.Load(own.ModelsFile, all.CatalogPresets(own)...)
	live := &Live{Handler: g.handler, Catalog: list, Simulated: own.Simulator, Close: func() {
		cancel()
		background.Wait()
		end()
	}}
	if err != nil {
		live.Close()
		return nil, err
	}
	live.Providers = all.New(own)
	made, err := all.Own(own, list.Own())
	if err != nil {
		live.Close()
		return nil, err
	}
	live.LogIns = slices.DeleteFunc(made, func(p all.Configured) bool { return p.LogIn == nil })
	return live, nil
}
