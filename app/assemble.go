package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/controllers"
	"modelgateway/middleware"
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
	"modelgateway/services/idp"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
	"modelgateway/services/ledger"
	"modelgateway/services/mail"
	"modelgateway/services/metrics"
	"modelgateway/services/operations"
	"modelgateway/services/pool"
	"modelgateway/services/prompts"
	"modelgateway/services/ratelimit"
	"modelgateway/services/registry"
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
	budgets        *budget.Service
	budgetWatch    *budget.Watch
	alerts         *alert.Alerts // nil: ALERT_WEBHOOK_URL is not set
	quotas         *ratelimit.Quotas
	concurrency    *inflight.Limiter
	tracer         *tracing.Tracer // nil: off
	logDropped     func() float64  // lines
	metrics        *metrics.Metrics
	closers        []func() error
	log            *slog.Logger
	started        *warner // the warnings of the start

	settings atomic.Pointer[config.Config]
	address  atomic.Pointer[net.Addr] // where the gateway listens; nil: not yet
}

// assemble makes the parts and connects them. The caller closes the gateway, also
// after an error.
func assemble(cfg config.Config, started *warner, logDropped func() float64) (*gateway, error) {
	log := started.log
	g := &gateway{log: log, started: started, logDropped: logDropped, metrics: metrics.New()}
	warnOfPlatform(runtime.GOOS, cfg.DatabaseURL.Reveal(), started)
	of, err := derive(&cfg, started)
	if err != nil {
		return g, err
	}
	g.settings.Store(&cfg)
	g.watched = watched(&cfg, of.catalog)
	g.tracer = tracing.New(tracing.Options{Config: cfg.Tracing, Providers: g.otelName, Version: Version(), Log: log, Now: time.Now})
	g.closers = append(g.closers, func() error { return g.tracer.Shutdown(context.Background()) })
	if err := g.open(cfg); err != nil {
		return g, err
	}
	if err := g.inference(cfg, of); err != nil {
		return g, err
	}
	calls := g.calls
	g.concurrency = inflight.New(cfg.MaxInFlight, cfg.MaxInFlightPerCaller, bodyLimit(cfg))
	g.spending(cfg.Spend, calls)
	g.health = &health.Service{
		Upstreams: func() pool.Set { return calls.Router().Upstreams }, Simulated: calls.Simulated,
		Version: Version(), Started: time.Now(), Log: log,
		Database: g.store.Probe, Cache: g.probeCache, NeedsDatabase: cfg.RequireAuth,
	}
	// The page is made at its first request: most gateways never need its memory.
	page := sync.OnceValues(func() (*web.File, error) { return web.Docs(cfg.PublicURL) })
	opts := router.Options{
		Generate: controllers.Generate{
			Service: calls, Conversations: g.kept, Concurrency: g.concurrency, MaxBytes: cfg.MaxRequestBytes,
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
		Counted:   g.metrics, Tracer: g.tracer,
		Log: log, Now: time.Now, TrustedProxies: cfg.TrustedProxies, Hosts: hosts(cfg), Origins: cfg.CORSAllowedOrigins,
	}
	if err := g.accounts(cfg, of.admins, &opts); err != nil {
		return g, err
	}
	g.administration = admin.New(admin.Options{Store: g.store, Keys: g.keys, Accounts: g.users, Emails: of.admins, Now: time.Now})
	opts.Admin = &controllers.Admin{Service: g.administration}
	opts.Managers = &controllers.Managers{Service: g.administration}
	opts.Operations = &controllers.Operations{Providers: &operations.Providers{
		Router: calls.Router, Metrics: g.metrics, Simulated: cfg.Simulator, Replica: g.budgets.Replica(), Started: g.health.Started,
	}, Settings: &operations.Settings{
		Config: g.settings.Load, Known: all.Settings(), Warnings: g.warningsNow, Version: Version(), Started: g.health.Started,
	}, Budget: &operations.Budget{
		Store: g.store, Limit: cfg.Spend.MaxBudget, Window: models.Window(cfg.Spend.BudgetWindow), Now: time.Now,
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
func (g *gateway) inference(cfg config.Config, of *derived) (err error) {
	conversations, err := conversation.NewConversations(conversation.Options{
		Store: g.store, Key: []byte(cfg.EncryptionKey.Reveal()), Previous: []byte(cfg.EncryptionKeyPrevious.Reveal()),
		Keep: cfg.ResponsesStore, Log: g.log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	g.prompts, err = prompts.New(prompts.Options{
		Store: g.store, Key: []byte(cfg.EncryptionKey.Reveal()), Previous: []byte(cfg.EncryptionKeyPrevious.Reveal()),
		Keep: cfg.LogPrompts != config.LogPromptsOff, FailedOnly: cfg.LogPrompts == config.LogPromptsErrors,
		For: time.Duration(cfg.LogPromptsDays) * 24 * time.Hour, Log: g.log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	g.calls = &inference.Service{
		Simulated: cfg.Simulator, Metrics: g.metrics, Tracer: g.tracer, Log: g.log, Now: time.Now, Answer: inference.Answered(),
	}
	g.kept = &conversation.Service{
		Handles: conversation.NewHandles(g.store, time.Now), Conversations: conversations, Router: g.calls.Router,
	}
	g.first = g.generation(cfg, of, nil)
	g.calls.Use(g.first.router)
	for _, p := range all.Settings() {
		used := func(own catalog.Provider) bool { return own.Preset == p.Name }
		if at := cfg.Providers[p.Name]; len(at.Keys) > 0 && !at.Configured() && !slices.ContainsFunc(of.catalog.Own(), used) {
			g.started.add(p.KeySetting(), p.KeySetting()+" is set without "+p.BaseURLSetting()+": "+p.Title+" is not configured")
		}
	}
	g.warnOfNoProvider(&warner{log: g.log})
	return nil
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

// models are those of new calls.
func (g *gateway) models() *registry.Models { return g.calls.Router().Models }

// keySettings names the settings of the providers' keys: A, B or C.
func keySettings() string {
	var names []string
	for _, p := range all.BuiltIn() {
		names = append(names, p.KeySetting())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// keySetting names the setting that configures a provider: that of its key, or of its
// address where it needs no key.
func keySetting(provider string) string {
	for _, p := range all.Settings() {
		switch {
		case p.Name == provider && p.Keyless:
			return p.BaseURLSetting()
		case p.Name == provider:
			return p.KeySetting()
		}
	}
	return ""
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

// issuer is that of the tokens of logins.
const issuer = "modelgateway"

// accounts adds accounts, tokens, keys, logins, mails and rate limits.
func (g *gateway) accounts(cfg config.Config, admins []string, opts *router.Options) error {
	secret := []byte(cfg.JWTSecret.Reveal())
	if len(secret) == 0 {
		g.started.add("JWT_SECRET", "JWT_SECRET is not set: a random one is used, and logins are lost when this process stops")
		secret = []byte(rand.Text() + rand.Text())
	}
	g.revisions = auth.NewRevisions(g.store, time.Now)
	tokens := auth.NewTokens(auth.TokenOptions{
		Secret: secret, Previous: []byte(cfg.JWTSecretPrevious.Reveal()), Expiry: cfg.JWTExpiry,
		Issuer: issuer, Store: g.store, Log: g.log, Now: time.Now, Revisions: g.revisions,
		UserDefaults: limitDefaults(cfg.Spend.Users),
	})
	g.tokens = tokens
	g.keys = auth.NewKeys(auth.KeyOptions{
		Verified: !cfg.SMTP.URL.IsZero(), Store: g.store, Redis: g.cache, Log: g.log, Now: time.Now, Revisions: g.revisions,
		ModelExists: g.modelExists,
		Defaults: auth.KeyDefaults{
			Limits: limitDefaults(cfg.Spend.Keys.LimitDefaults), Expiry: time.Duration(cfg.Spend.Keys.ExpiryDays) * 24 * time.Hour,
		},
		UserDefaults: limitDefaults(cfg.Spend.Users),
	})
	if err := g.mails(cfg.SMTP); err != nil {
		return err
	}
	g.users = account.New(account.Options{
		Store: g.store, Tokens: tokens, Domains: cfg.AllowedEmailDomains, Redis: g.cache, Now: time.Now,
		Registration: cfg.Registration, PublicURL: cfg.PublicURL, Admins: admins, Secret: secret, Mail: g.mail,
	})
	login, err := idp.New(idp.Options{
		Config: cfg.IDP, PublicURL: cfg.PublicURL, Secret: secret, Store: g.store, Redis: g.cache, Now: time.Now,
		Mail: g.mail != nil, Linked: g.users.TellOfIdentity,
		Issue: tokens.Issue, NormalEmail: account.NormalEmail,
		Allowed: func(email string) bool { return account.DomainAllowed(email, cfg.AllowedEmailDomains) },
	})
	if err != nil {
		return fmt.Errorf("IDP_PROVIDER: %w", err)
	}
	opts.Auth = &controllers.Auth{Accounts: g.users, Cookies: opts.Cookies, Now: time.Now}
	opts.Keys = &controllers.Keys{Service: g.keys}
	g.usage = ledger.NewUsage(g.store, time.Now)
	g.callRows = ledger.NewCalls(ledger.CallsOptions{Store: g.store, Price: g.calls.PriceOf, Content: g.prompts.State})
	opts.IDP = &controllers.IDP{Service: login, Accounts: g.users, Cookies: opts.Cookies, Now: time.Now}
	opts.Callers = middleware.Auth{Verified: cfg.RequireVerified, Required: cfg.RequireAuth, Keys: g.keys, Tokens: tokens}
	if opts.CallLimit, err = g.limit("calls", cfg.RateLimitRPM); err != nil {
		return err
	}
	if opts.CountLimit, err = g.limit("counts", cfg.RateLimitRPM); err != nil {
		return err
	}
	if opts.AuthLimit, err = g.limit("auth", cfg.AuthRateLimitRPM); err != nil {
		return err
	}
	const addressesOfANetwork = 5
	opts.NetworkLimit, err = g.limit("auth-networks", addressesOfANetwork*cfg.AuthRateLimitRPM)
	return err
}

// identityProvider is the name of the one that is configured; empty without one.
func identityProvider(c config.IDP) string {
	if c.ClientID == "" {
		return ""
	}
	return c.Name
}

// cookies are the console's, for a gateway at this URL.
func cookies(cfg config.Config) middleware.Cookies {
	public := cfg.PublicURL
	made := middleware.Cookies{Secure: strings.HasPrefix(public, "https://"), Now: time.Now, Proxies: cfg.TrustedProxies}
	if u, err := url.Parse(public); err == nil {
		made.Path = strings.TrimSuffix(u.EscapedPath(), "/")
	}
	return made
}

func (g *gateway) mails(c config.SMTP) (err error) {
	if c.URL.IsZero() {
		return nil
	}
	g.mail, err = mail.New(mail.Options{URL: c.URL.Reveal(), From: c.From, Log: g.log})
	return err
}

func limitDefaults(c config.LimitDefaults) models.Limits {
	l := models.Limits{Models: models.Names(strings.Join(c.Models, ",")), Numbers: c.Numbers}
	if c.Budget >= 0 {
		l.Budget, l.BudgetWindow = c.Budget, models.Window(c.BudgetWindow)
	}
	return l
}

func (g *gateway) limit(name string, perMinute int) (*ratelimit.Requests, error) {
	return ratelimit.NewRequests(ratelimit.RequestOptions{Name: name, PerMinute: perMinute, Redis: g.cache, Log: g.log})
}

// modelExists reports whether a list of models may have an entry.
func (g *gateway) modelExists(model string) bool { return g.models().Matches(model) }
