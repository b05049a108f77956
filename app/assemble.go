package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/config"
	"modelgateway/controllers"
	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/router"
	"modelgateway/services/account"
	"modelgateway/services/admin"
	"modelgateway/services/auth"
	"modelgateway/services/budget"
	"modelgateway/services/health"
	"modelgateway/services/idp"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
	"modelgateway/services/ledger"
	"modelgateway/services/metrics"
	"modelgateway/services/pool"
	"modelgateway/services/ratelimit"
	"modelgateway/services/registry"
	"modelgateway/services/routing"
	"modelgateway/services/tracing"
	"modelgateway/web"
)

// gateway holds the parts of the program.
type gateway struct {
	handler        http.Handler
	store          *models.Store
	cache          *redis.Client // nil: replicas share nothing
	health         *health.Service
	discovery      *registry.Discovery
	revisions      *auth.Revisions
	keys           *auth.Keys
	administration *admin.Service
	ledger         *ledger.Writer
	budgets        *budget.Service
	quotas         *ratelimit.Quotas
	concurrency    *inflight.Limiter
	tracer         *tracing.Tracer // nil: off
	logDropped     func() float64  // lines
	metrics        *metrics.Metrics
	closers        []func() error
	log            *slog.Logger
}

// assemble makes the parts and connects them. The caller closes the gateway, also
// after an error.
func assemble(cfg config.Config, log *slog.Logger, lines *logWriter) (*gateway, error) {
	g := &gateway{log: log, logDropped: lines.lost, metrics: metrics.New()}
	list, err := catalog.Load(cfg.ModelsFile)
	if err != nil {
		return g, fmt.Errorf("MODELS_FILE: %w", err)
	}
	g.tracer = tracing.New(tracing.Options{Config: cfg.Tracing, Providers: all.OTelNames(), Version: Version(), Log: log, Now: time.Now})
	g.closers = append(g.closers, func() error { return g.tracer.Shutdown(context.Background()) })
	if err := g.open(cfg); err != nil {
		return g, err
	}
	if err := g.known(cfg, list, "DEFAULT_KEY_MODELS", cfg.Spend.Keys.Models); err != nil {
		return g, err
	}
	calls, err := g.inference(cfg, list)
	if err != nil {
		return g, err
	}
	g.concurrency = inflight.New(cfg.MaxInFlight, cfg.MaxInFlightPerCaller, bodyLimit(cfg))
	g.spending(cfg.Spend, calls)
	g.health = &health.Service{
		Upstreams: calls.Router.Upstreams, Simulated: calls.Simulated, Version: Version(), Started: time.Now(), Log: log,
		Database: g.store.Probe, Cache: g.probeCache, NeedsDatabase: cfg.RequireAuth,
	}
	// The page is made at its first request: most gateways never need its memory.
	page := sync.OnceValues(func() ([]byte, error) { return web.Docs(cfg.PublicURL) })
	opts := router.Options{
		Generate: controllers.Generate{
			Service: calls, Concurrency: g.concurrency, MaxBytes: cfg.MaxRequestBytes, Strict: cfg.StrictParams,
			KeepAlive: cfg.StreamKeepalive, Now: time.Now,
		},
		Models:  &controllers.Models{Service: calls.Router.Models},
		Health:  &controllers.Health{Service: g.health},
		Docs:    &controllers.Docs{OpenAPI: web.OpenAPI(), Page: page},
		Metrics: &controllers.Metrics{Handler: g.metrics.Handler(), Required: cfg.RequireAuth, Token: cfg.MetricsToken.Reveal()},
		Counted: g.metrics, Tracer: g.tracer,
		Log: log, Now: time.Now, TrustedProxies: cfg.TrustedProxies, Origins: cfg.CORSAllowedOrigins,
	}
	if err := g.accounts(cfg, &opts); err != nil {
		return g, err
	}
	if opts.Admin, err = g.admin(cfg); err != nil {
		return g, err
	}
	g.registerMetrics(cfg, &opts.Generate, map[string]*ratelimit.Requests{"calls": opts.CallLimit, "auth": opts.AuthLimit})
	g.handler, err = router.New(opts)
	return g, err
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

// inference makes the service that calls the providers.
func (g *gateway) inference(cfg config.Config, list *catalog.Catalog) (*inference.Service, error) {
	upstreams, listers := pool.Set{}, map[string]registry.Listing{}
	for _, p := range all.New(cfg) {
		upstreams[p.Name] = pool.NewUpstream(p.Name, p.Provider, p.Keys, time.Now)
		if lister, ok := p.Provider.(providers.Lister); ok {
			listers[p.Name] = registry.Listing{Lister: lister, Key: p.Keys[0].Reveal()}
		}
	}
	if len(upstreams) == 0 {
		g.log.Warn(
			"no provider is configured: chat completions will be answered with 503; set " + keySettings() +
				", or SIMULATOR=true to try the gateway without keys",
		)
	}
	listed := registry.New(list, upstreams.Serves, time.Now)
	g.discovery = &registry.Discovery{Models: listed, Listers: listers, Log: g.log}
	fallbacks, err := g.fallbacks(cfg, list)
	router := &routing.Router{
		Models: listed, Upstreams: upstreams, Redirect: cfg.ModelRedirectRetired, Metrics: g.metrics, Now: time.Now,
		Fallbacks: fallbacks, Retries: cfg.MaxRetries, HedgeAfter: cfg.HedgeAfter,
		FirstToken: cfg.StreamFirstToken, MaxStream: cfg.StreamMax,
	}
	return &inference.Service{
		Router: router, Images: all.Images(), Simulated: cfg.Simulator, Metrics: g.metrics, Tracer: g.tracer, Log: g.log, Now: time.Now,
	}, err
}

// keySettings names the settings of the providers' keys: A, B or C.
func keySettings() string {
	var names []string
	for _, p := range all.Settings() {
		names = append(names, p.KeySetting())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// bodyLimit is how many bytes running requests may have reserved together: an
// eighth of GOMEMLIMIT at most, because a body is copied while it is translated, and
// the garbage collector needs as much again, but always enough for one body.
func bodyLimit(cfg config.Config) int64 {
	bytes := cfg.MaxInFlightBytes
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		bytes = min(bytes, limit/8)
	}
	return max(bytes, cfg.MaxRequestBytes+cfg.MaxRequestBytes/16)
}

// accounts adds accounts, tokens, keys, logins and rate limits.
func (g *gateway) accounts(cfg config.Config, opts *router.Options) error {
	secret := []byte(cfg.JWTSecret.Reveal())
	if len(secret) == 0 {
		g.log.Warn("JWT_SECRET is not set: a random one is used, and logins are lost when this process stops")
		secret = []byte(rand.Text() + rand.Text())
	}
	g.revisions = auth.NewRevisions(g.store, time.Now)
	tokens := auth.NewTokens(auth.TokenOptions{
		Secret: secret, Previous: []byte(cfg.JWTSecretPrevious.Reveal()), Expiry: cfg.JWTExpiry,
		Issuer: "modelgateway", Store: g.store, Now: time.Now, Revisions: g.revisions,
	})
	g.keys = auth.NewKeys(auth.KeyOptions{
		Store: g.store, Redis: g.cache, Log: g.log, Now: time.Now, Revisions: g.revisions,
		ModelExists: func(model string) bool { _, err := opts.Models.Service.Resolve(model); return err == nil },
		Defaults:    keyDefaults(cfg.Spend.Keys),
	})
	accounts := account.New(account.Options{
		Store: g.store, Tokens: tokens, Domains: cfg.AllowedEmailDomains, Redis: g.cache, Now: time.Now,
	})
	login, err := idp.New(idp.Options{
		Config: cfg.IDP, PublicURL: cfg.PublicURL, Secret: secret, Store: g.store, Redis: g.cache, Now: time.Now,
		Issue: tokens.Issue, NormalEmail: account.NormalEmail,
		Allowed: func(email string) bool { return account.DomainAllowed(email, cfg.AllowedEmailDomains) },
	})
	if err != nil {
		return fmt.Errorf("IDP_PROVIDER: %w", err)
	}
	opts.Auth = &controllers.Auth{Accounts: accounts, Now: time.Now}
	opts.Keys = &controllers.Keys{Service: g.keys}
	opts.Usage = &controllers.Usage{Service: ledger.NewUsage(g.store, time.Now)}
	opts.IDP = &controllers.IDP{Service: login, Now: time.Now}
	opts.Callers = middleware.Auth{Required: cfg.RequireAuth, Keys: g.keys, Tokens: tokens}
	if opts.CallLimit, err = g.limit("calls", cfg.RateLimitRPM); err != nil {
		return err
	}
	if opts.AuthLimit, err = g.limit("auth", cfg.AuthRateLimitRPM); err != nil {
		return err
	}
	const addressesOfANetwork = 5
	opts.NetworkLimit, err = g.limit("auth-networks", addressesOfANetwork*cfg.AuthRateLimitRPM)
	return err
}

// admin adds the administrators' endpoints. It is called after accounts.
func (g *gateway) admin(cfg config.Config) (*controllers.Admin, error) {
	emails := make([]string, len(cfg.Spend.AdminEmails))
	for i, email := range cfg.Spend.AdminEmails {
		normal, err := account.NormalEmail(email)
		if err != nil {
			return nil, fmt.Errorf("ADMIN_EMAILS: address %d of the list is not valid", i+1)
		}
		emails[i] = normal
	}
	g.administration = admin.New(admin.Options{Store: g.store, Keys: g.keys, Emails: emails, Now: time.Now})
	return &controllers.Admin{Service: g.administration}, nil
}

func keyDefaults(c config.KeyDefaults) auth.KeyDefaults {
	d := auth.KeyDefaults{
		Limits: models.Limits{Models: models.Names(strings.Join(c.Models, ",")), Numbers: c.Numbers},
		Expiry: time.Duration(c.ExpiryDays) * 24 * time.Hour,
	}
	if c.Budget >= 0 {
		d.Budget, d.BudgetWindow = c.Budget, models.Window(c.BudgetWindow)
	}
	return d
}

func (g *gateway) limit(name string, perMinute int) (*ratelimit.Requests, error) {
	return ratelimit.NewRequests(ratelimit.RequestOptions{Name: name, PerMinute: perMinute, Redis: g.cache, Log: g.log})
}
