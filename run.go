package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"modelgateway/config"
	"modelgateway/controllers"
	"modelgateway/models"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/providers/simulator"
	"modelgateway/router"
	"modelgateway/services"
	"modelgateway/web"
)

// run is the program: it returns when ctx has ended and everything that was
// begun is finished, or when it cannot start.
func run(ctx context.Context, environ []string, out io.Writer) error {
	cfg, err := config.Load(environ, ".env")
	if err != nil {
		return err
	}
	lines := newLogWriter(out)
	defer lines.Close()
	log := logger(*cfg, out, lines)
	if err := unsupported(*cfg); err != nil {
		return err
	}
	if cfg.Simulator {
		closeSimulator, err := simulate(cfg, log)
		if err != nil {
			return err
		}
		defer closeSimulator()
	}
	gateway, err := assemble(*cfg, log)
	if err != nil {
		return err
	}
	defer gateway.close()
	working, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	gateway.start(working, &background, *cfg)
	return gateway.serve(ctx, *cfg, log)
}

// unsupported names settings that ask for what this version does not do.
func unsupported(cfg config.Config) error {
	var asked []error
	if cfg.RequireAuth {
		asked = append(asked, errors.New("REQUIRE_AUTH: this version has no accounts yet and cannot require credentials"))
	}
	if cfg.IDP.ClientID != "" {
		asked = append(asked, errors.New("IDP_CLIENT_ID: this version has no login yet"))
	}
	return errors.Join(asked...)
}

// simulate puts the simulator in place of all three upstreams.
func simulate(cfg *config.Config, log *slog.Logger) (func(), error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	const delay = 20 * time.Millisecond
	server := &http.Server{
		Handler:           simulator.New(simulator.Options{ChunkDelay: delay, Now: time.Now}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	for _, p := range []*config.Provider{&cfg.OpenAI, &cfg.Anthropic, &cfg.Gemini} {
		p.BaseURL = "http://" + listener.Addr().String()
		p.Keys = []config.Secret{config.NewSecret("simulated")}
	}
	log.Warn("SIMULATOR=true: every answer is made up inside this process, no provider is called, real keys are not used")
	return func() {
		_ = server.Close()
		serving.Wait()
	}, nil
}

// gateway is the program's parts, put together.
type gateway struct {
	handler   http.Handler
	store     *models.Store
	health    *services.Health
	discovery *services.Discovery
	closers   []func() error
	log       *slog.Logger
}

func assemble(cfg config.Config, log *slog.Logger) (*gateway, error) {
	g := &gateway{log: log}
	list, err := catalog.Load(cfg.ModelsFile)
	if err != nil {
		return nil, fmt.Errorf("MODELS_FILE: %w", err)
	}
	database, cache, err := g.open(cfg)
	if err != nil {
		g.close()
		return nil, err
	}
	upstreams, listers := map[string]*services.Upstream{}, map[string]providers.Lister{}
	for name, provider := range all.Configured(cfg) {
		upstreams[name] = services.NewUpstream(name, provider, time.Now)
		if lister, ok := provider.(providers.Lister); ok {
			listers[name] = lister
		}
	}
	if len(upstreams) == 0 {
		log.Warn("no provider is configured: chat completions will be answered with 503; set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or SIMULATOR=true to try things out")
	}
	configured := func(name string) bool { return upstreams[name] != nil }
	listed := services.NewModels(list, configured, time.Now)
	chat := &services.Chat{
		Models: listed, Upstreams: upstreams, Redirect: cfg.ModelRedirectRetired, Simulated: cfg.Simulator, Now: time.Now,
	}
	g.discovery = &services.Discovery{Models: listed, Listers: listers, Log: log}
	g.health = &services.Health{Chat: chat, Version: version(), Started: time.Now(), Database: database, Cache: cache, Log: log}
	page, err := web.Docs(cfg.PublicURL)
	if err != nil {
		return nil, err
	}
	g.handler, err = router.New(router.Options{
		Chat:   &controllers.Chat{Service: chat, MaxBytes: cfg.MaxRequestBytes, KeepAlive: cfg.StreamKeepalive, Now: time.Now},
		Models: &controllers.Models{Service: listed},
		Health: &controllers.Health{Service: g.health},
		Docs:   &controllers.Docs{OpenAPI: web.OpenAPI(), Page: page},
		Log:    log, Now: time.Now, TrustedProxies: cfg.TrustedProxies, Origins: cfg.CORSAllowedOrigins,
	})
	return g, err
}

// open opens the database and the cache and returns their probes.
func (g *gateway) open(cfg config.Config) (database, cache services.Probe, err error) {
	store, err := models.Open(cfg.DatabaseURL.Reveal())
	if err != nil {
		return nil, nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	g.store = store
	g.closers = append(g.closers, store.Close)
	if cfg.RedisURL.IsZero() {
		return store.Probe, func(context.Context) error { return nil }, nil // memory is always there
	}
	client, err := models.OpenRedis(cfg.RedisURL.Reveal())
	if err != nil {
		return nil, nil, errors.New("REDIS_URL is not an address of Redis") // the cause may hold the password
	}
	g.closers = append(g.closers, client.Close)
	return store.Probe, func(ctx context.Context) error { return client.Ping(ctx).Err() }, nil
}

// start begins what runs beside the requests, and waits for the first try at
// the schema and the first probes.
func (g *gateway) start(ctx context.Context, background *sync.WaitGroup, cfg config.Config) {
	tried := make(chan struct{})
	background.Go(func() { g.migrate(ctx, tried) })
	const enough = 3 * time.Second // a frozen database must not keep the gateway from saying so
	select {
	case <-tried:
	case <-time.After(enough):
	}
	probed := make(chan struct{})
	background.Go(func() { g.health.Run(ctx, probed) })
	if cfg.ModelDiscovery {
		background.Go(func() { g.discovery.Run(ctx) })
	}
	<-probed
}

// migrate brings the schema up, trying again for as long as the database is
// not there: meanwhile health says so, and what needs no database is served.
func (g *gateway) migrate(ctx context.Context, tried chan<- struct{}) {
	const longest = 5 * time.Second
	for wait := longest / 20; ; wait = min(2*wait, longest) {
		err := g.store.Migrate(ctx)
		if tried != nil {
			close(tried)
			tried = nil
		}
		if err == nil {
			return
		}
		g.log.Warn("the database is not ready", "error", err, "next_try", wait.String())
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// serve listens until ctx ends, then lets what runs come to its end.
func (g *gateway) serve(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	listener, err := net.Listen("tcp", cfg.Addr())
	if err != nil {
		return fmt.Errorf("PORT %d: %w", cfg.Port, err)
	}
	server := &http.Server{
		Handler:           g.handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second, // for bodies that nobody reads; who reads one sets its own
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10, // the gateway itself refuses more than 32 KiB, in its own words
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12},
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	log.Info("listening", "address", listener.Addr().String(), "version", version())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }() // ends with Shutdown or Close below
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	g.health.Drain()
	log.Info("stopping: live requests may finish", "grace", cfg.ShutdownGrace.String())
	time.Sleep(min(cfg.ShutdownGrace/20, 2*time.Second)) // balancers are to see that readyz says no before the door closes
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		log.Warn("stopped with requests still running", "error", err)
		return server.Close()
	}
	return nil
}

// close closes what assemble opened, the last first.
func (g *gateway) close() {
	for _, end := range slices.Backward(g.closers) {
		if err := end(); err != nil {
			g.log.Warn("close", "error", err)
		}
	}
}

// release is the version, set by the linker in release builds.
var release string

func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
