package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/controllers"
	"modelgateway/models"
	"modelgateway/providers/all"
	"modelgateway/router"
	"modelgateway/services/account"
	"modelgateway/services/admin"
	"modelgateway/services/alert"
	"modelgateway/services/auth"
	"modelgateway/services/budget"
	"modelgateway/services/conversation"
	"modelgateway/services/health"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
	"modelgateway/services/ledger"
	"modelgateway/services/mail"
	"modelgateway/services/metrics"
	"modelgateway/services/operations"
	"modelgateway/services/origin"
	"modelgateway/services/pool"
	"modelgateway/services/prompts"
	"modelgateway/services/ratelimit"
	"modelgateway/services/tracing"
	"modelgateway/web"
)

// gateway holds the parts of the program.
type gateway struct {
	handler        http.Handler
	store          *models.Store
	cache          models.Redis // nil: replicas share nothing
	health         *health.Service
	calls          *inference.Service
	kept           *conversation.Service
	first          *generation // what was read at the start
	watched        []string    // files that are read again when they change
	revisions      *auth.Revisions
	keys           *auth.Keys
	tokens         *auth.Tokens
	mail           *mail.Queue // nil: no mail is sent
	users          *account.Service
	usage          *ledger.Usage
	callRows       *ledger.Calls
	prompts        *prompts.Log
	administration *admin.Service
	ledger         *ledger.Writer
	refusals       *ledger.Refusals
	budgets        *budget.Service
	budgetWatch    *budget.Watch
	alerts         *alert.Alerts
	quotas         *ratelimit.Quotas
	concurrency    *inflight.Limiter
	tracer         *tracing.Tracer // nil: off
	logDropped     func() float64  // lines
	metrics        *metrics.Metrics
	closers        []func() error
	log            *slog.Logger
	started        *warner // the warnings of the start

	settings atomic.Pointer[config.Config]
	catalog  atomic.Pointer[catalog.Catalog] // of the newest generation
	address  atomic.Pointer[net.Addr]        // where the gateway listens; nil: not yet
}

// prepare reads what follows from the settings, and opens what the parts need. The caller
// closes the gateway, also after an error.
func (g *gateway) prepare(cfg config.Config) (*derived, error) {
	warnOfPlatform(runtime.GOOS, cfg.DatabaseURL.Reveal(), g.started)
	of, err := derive(&cfg, g.started)
	if err != nil {
		return nil, err
	}
	g.settings.Store(&cfg)
	g.watched = watched(&cfg, of.catalog)
	g.tracer = tracing.New(tracing.Options{Config: cfg.Tracing, Providers: g.otelName, Version: Version(), Log: g.log, Now: time.Now})
	g.closers = append(g.closers, func() error { return g.tracer.Shutdown(context.Background()) })
	g.first = g.generation(cfg, of, nil)
	return of, g.open(cfg)
}

// assemble makes the parts and connects them.
func (g *gateway) assemble(cfg config.Config, of *derived) error {
	if err := g.inference(cfg, of); err != nil {
		return err
	}
	calls := g.calls
	g.concurrency = inflight.New(cfg.MaxInFlight, cfg.MaxInFlightPerCaller, bodyLimit(cfg))
	g.spending(cfg.Spend, of)
	g.health = &health.Service{
		Upstreams: func() pool.Set { return calls.Router().Upstreams }, Simulated: calls.Simulated,
		Version: Version(), Started: time.Now(), Log: g.log,
		Database: g.store.Probe, Cache: g.probeCache, NeedsDatabase: cfg.RequireAuth,
	}
	// The page is made at its first request: most gateways never need its memory.
	page := sync.OnceValues(func() (*web.File, error) { return web.Docs(cfg.PublicURL) })
	opts := router.Options{
		Generate: controllers.Generate{
			Service: calls, Conversations: g.kept, Origins: origin.New(g.store, g.log, time.Now),
			Concurrency: g.concurrency, MaxBytes: cfg.MaxRequestBytes,
			Strict: cfg.StrictParams, KeepAlive: cfg.StreamKeepalive, Now: time.Now,
		},
		Count:     controllers.Count{Service: calls, Conversations: g.kept, Concurrency: g.concurrency, MaxBytes: cfg.MaxRequestBytes},
		Responses: controllers.Responses{Service: g.kept, Concurrency: g.concurrency},
		Models:    &controllers.Models{Service: g.models},
		Health:    &controllers.Health{Service: g.health},
		Docs:      &controllers.Docs{OpenAPI: web.OpenAPI(), Page: page, CSS: web.DocsStyle, JavaScript: web.DocsScript},
		Console:   &controllers.Console{Files: new(web.Files), Version: Version()},
		Cookies:   cookies(cfg),
		Metrics:   &controllers.Metrics{Handler: g.metrics.Handler(), Required: cfg.RequireAuth, Token: cfg.MetricsToken.Reveal()},
		Counted:   g.metrics, Tracer: g.tracer, Refused: g.refusals.Add,
		LiteLLM: func() bool { return cfg.LiteLLMRoutes || g.keys.HasTakenOver() },
		Log:     g.log, Now: time.Now, TrustedProxies: cfg.TrustedProxies, Hosts: hosts(cfg), Origins: cfg.CORSAllowedOrigins,
	}
	if err := g.accounts(cfg, of, &opts); err != nil {
		return err
	}
	g.administration = admin.New(admin.Options{Store: g.store, Keys: g.keys, Accounts: g.users, Emails: of.admins, Now: time.Now})
	opts.Admin = &controllers.Admin{Service: g.administration}
	opts.Operations = &controllers.Operations{Admin: g.administration, Alerts: g.alerts, Providers: &operations.Providers{
		Lister: g.lister,
		Router: calls.Router, Metrics: g.metrics, Simulated: cfg.Simulator, Replica: g.budgets.Replica(), Started: g.health.Started,
	}, Settings: &operations.Settings{
		Config: g.settings.Load, Known: all.Settings(), Warnings: g.warningsNow, Version: Version(), Started: g.health.Started,
	}, Budget: &operations.Budget{
		Store: g.store, Limit: cfg.Spend.MaxBudget, Window: models.Window(cfg.Spend.BudgetWindow), Now: time.Now,
		Spent: g.budgetWatch.Greatest,
	}}
	opts.Session = &controllers.Session{
		Accounts: g.users, Admin: g.administration, Tokens: g.tokens, Cookies: opts.Cookies,
		Methods: api.LoginMethods{
			Object: api.ObjectLoginMethods, Registration: cfg.Registration, IdentityProvider: api.Maybe(identityProvider(cfg.IDP)),
			Open: !cfg.RequireAuth, Mail: g.mail != nil, Simulated: cfg.Simulator, Version: Version(), PublicURL: cfg.PublicURL,
		},
	}
	opts.Contents = &controllers.Contents{Log: g.prompts, Calls: g.callRows}
	opts.Calls = &controllers.Calls{Service: g.callRows, Admin: g.administration}
	opts.Usage = &controllers.Usage{Service: g.usage, Admin: g.administration}
	g.registerMetrics(cfg, &opts.Generate, map[string]*ratelimit.Requests{
		"calls": opts.CallLimit, "counts": opts.CountLimit, "auth": opts.AuthLimit,
	})
	var err error
	g.handler, err = router.New(opts)
	return err
}

// open opens the database and the cache without waiting for either.
func (g *gateway) open(cfg config.Config) error {
	store, err := models.Open(cfg.DatabaseURL.Reveal())
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	g.store = store
	g.closers = append(g.closers, store.Close)
	if cfg.RedisURL.IsZero() {
		return nil
	}
	g.cache, err = models.OpenRedis(cfg.RedisURL.Reveal())
	if err != nil {
		return errors.New("REDIS_URL is not an address of Redis") // the cause may quote the password
	}
	g.closers = append(g.closers, g.cache.Close)
	return nil
}

func (g *gateway) probeCache(ctx context.Context) error {
	if g.cache == nil {
		return nil // the cache is this process
	}
	return g.cache.Ping(ctx).Err()
}
