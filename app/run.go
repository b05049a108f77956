// Package app is the program as a value: it puts the gateway's parts together,
// serves until it is told to stop, and lets what runs come to its end.
package app

import (
	"context"
	"crypto/tls"
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
	"modelgateway/models/api"
	"modelgateway/providers/all"
	"modelgateway/providers/simulator"
)

// Run is the program. It returns when ctx has ended and all that was begun is
// finished, or when the program cannot start. Settings are read from environ
// and from the file .env; the log goes to out.
func Run(ctx context.Context, environ []string, out io.Writer) error {
	cfg, err := config.Load(environ, ".env", all.Settings())
	if err != nil {
		return err
	}
	defer tuneGC()()
	lines := newLogWriter(out)
	defer lines.Close()
	log := logger(*cfg, out, lines)
	if cfg.Simulator {
		closeSimulator, err := simulate(ctx, cfg, log)
		if err != nil {
			return err
		}
		defer closeSimulator()
	}
	gateway, err := assemble(*cfg, log, lines) //nolint:contextcheck // the tracer is shut down after ctx has ended
	defer gateway.close()
	if err != nil {
		return err
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ends after the last request
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	gateway.start(working, &background, *cfg)
	debug.FreeOSMemory() // the memory that only the start needed
	return gateway.serve(ctx, *cfg, log)
}

// simulate puts the simulator in place of all upstreams.
func simulate(ctx context.Context, cfg *config.Config, log *slog.Logger) (func(), error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
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
	cfg.Providers = all.Simulated("http://" + listener.Addr().String())
	log.Warn("SIMULATOR=true: every answer is made up inside this process, no provider is called, real keys are not used")
	return func() {
		_ = server.Close()
		serving.Wait()
	}, nil
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
	background.Go(func() { g.revisions.Run(ctx) })
	background.Go(func() { g.keys.Run(ctx) })
	g.bookkeeping(ctx, background)
	if cfg.ModelDiscovery {
		background.Go(func() { g.discovery.Run(ctx) })
	}
	<-probed
}

// migrate brings the schema up, trying again for as long as the database is
// not there: meanwhile health says so, and what needs no database is served.
func (g *gateway) migrate(ctx context.Context, tried chan<- struct{}) {
	const longest = 2 * time.Second
	for wait := longest / 8; ; wait = min(2*wait, longest) {
		err := g.store.Migrate(ctx)
		if tried != nil {
			close(tried)
			tried = nil
		}
		if err == nil {
			g.health.Probe(ctx) // the last may be seconds ago
			g.warnOfAdministrators(ctx)
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
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Addr())
	if err != nil {
		return fmt.Errorf("PORT %d: %w", cfg.Port, err)
	}
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	server := &http.Server{
		Handler:           g.closing(g.handler),
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second, // of bodies that are not read; readers of bodies set their own deadline
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10, // the gateway itself refuses more than 32 KiB, in its own words
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12},
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	log.Info("listening", "address", listener.Addr().String(), "version", Version())
	warnOfOpenMode(cfg, listener.Addr(), log)
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
	if server.Shutdown(grace) == nil {
		return nil
	}
	log.Warn("the grace is over: requests that still run are ended")
	end(errStopping()) // streams say so in a last event
	const farewell = 2 * time.Second
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		log.Warn("stopped with requests still running", "error", err)
		err = server.Close()
		g.emptied()
		return err
	}
	return nil
}

// emptied waits for calls whose connections were cut, as those of clients that
// do not read: what they have cost is still to be booked, and the ledger takes
// nothing after this.
func (g *gateway) emptied() {
	const enough = 5 * time.Second
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		calls, _ := g.slots.InUse()
		if calls == 0 {
			return
		}
		if time.Since(began) > enough {
			g.log.Error("the gateway stops and calls are not in the ledger: they have not ended", "calls", calls)
			return
		}
	}
}

// errStopping is what clients are told when the grace period is over.
func errStopping() *api.Error {
	return &api.Error{
		Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeServiceUnavailable, RetryAfter: time.Second,
		Message: "the gateway is stopping; please try again, another one answers or will soon",
	}
}

// closing asks clients to come back on another connection while the gateway
// stops: one that is closed just as it is used again would lose a request.
func (g *gateway) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.health.Draining() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
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
var release string //nolint:gochecknoglobals // set by the linker

// Version is the version that health, the log and the metrics name: that of the
// release, else that of the module, else "dev".
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
