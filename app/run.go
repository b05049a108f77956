// Package app is the program as a value: it puts the gateway's parts together,
// serves until it is stopped, and lets running requests finish.
package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"modelgateway/api"
	"modelgateway/config"
	"modelgateway/models"
)

// Run is the program. It returns when ctx has ended and all running requests have
// finished, or when the program cannot start. Settings are read from environ
// and from the file .env; the log goes to out.
func Run(ctx context.Context, environ []string, out io.Writer) error {
	cfg, err := Settings(environ)
	if err != nil {
		return err
	}
	defer tuneGC()()
	log, lines := startLog(*cfg, environ, out)
	defer lines.Close()
	redirectStandardLog(log)
	if slices.Contains(environ, "GATEWAY_ENV_FILE=") {
		log.Info("the container gets only the settings that docker-compose.yml lists: add the line GATEWAY_ENV_FILE=.env to .env, " +
			"and it gets all settings of that file and refuses misspelt names")
	}
	files := &reloader{cfg: cfg, read: func() (*config.Config, error) { return Settings(environ) }, every: watchEvery}
	if err := run(ctx, files, lines, log); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

func run(ctx context.Context, files *reloader, lines *logWriter, log *slog.Logger) error {
	cfg := files.cfg
	gateway, end, err := open(ctx, cfg, log, lines.lost)
	if err != nil {
		return err
	}
	defer end()
	working, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ends after the last request
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	gateway.start(working, &background)
	files.gateway, files.now = gateway, gateway.first
	background.Go(func() { files.run(working) })
	return gateway.serve(ctx, *cfg, log)
}

// start starts the background work, and waits for the first attempt to migrate the
// schema and for the first probes.
func (g *gateway) start(ctx context.Context, background *sync.WaitGroup) {
	tried := make(chan struct{})
	background.Go(func() { g.migrate(ctx, tried) })
	const maxWait = 3 * time.Second // a frozen database must not delay the listener for longer
	select {
	case <-tried:
	case <-time.After(maxWait):
	}
	probed := make(chan struct{})
	background.Go(func() { g.health.Run(ctx, probed) })
	background.Go(func() { g.revisions.Run(ctx) })
	background.Go(func() { g.keys.Run(ctx) })
	background.Go(func() { g.tokens.Run(ctx) })
	background.Go(func() { g.kept.Conversations.Run(ctx) })
	background.Go(func() { g.prompts.Run(ctx) })
	background.Go(func() { g.calls.PromptCache.Run(ctx) })
	if g.mail != nil {
		background.Go(func() { g.mail.Run(ctx) })
	}
	g.startSpending(ctx, background)
	<-probed
}

const loginAdvice = "PostgreSQL refused the user or the password of DATABASE_URL; the volume of Docker Compose keeps the " +
	"POSTGRES_PASSWORD of its first start: set that one again, or change it with ALTER USER"

// migrate migrates the schema, and tries again while the database is unavailable.
// Meanwhile health reports it, and requests that need no database are served.
func (g *gateway) migrate(ctx context.Context, tried chan<- struct{}) {
	const longest = 2 * time.Second
	for wait := longest / 8; ; wait = min(2*wait, longest) {
		err := g.store.Migrate(ctx)
		if err == nil {
			err = g.showSetup(ctx)
		}
		if err == nil {
			err = g.kept.Handles.Load(ctx)
		}
		if err == nil {
			err = g.calls.PromptCache.Load(ctx)
		}
		if err == nil {
			_, err = g.keys.TakenOver(ctx) // which decides on routes
		}
		if err == nil {
			g.warnOfAdministrators(ctx, &warner{log: g.log})
		}
		if tried != nil {
			close(tried)
			tried = nil
		}
		if err == nil {
			g.health.Probe(ctx) // the last probe may be seconds ago
			return
		}
		attrs := []any{"error", err, "next_try", wait.String()}
		if models.LoginRefused(err) {
			attrs = append(attrs, "advice", loginAdvice)
		}
		g.log.Warn("the database is not ready", attrs...)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// How long clients may take.
const (
	headerTimeout = 10 * time.Second // to send the header of a request
	idleTimeout   = 2 * time.Minute  // until the next request of a connection
)

// serve listens until ctx ends, then lets running requests finish.
func (g *gateway) serve(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Addr())
	if err != nil {
		return fmt.Errorf("the gateway cannot listen: check HOST and PORT: %w", err)
	}
	listener = patientListener{Listener: listener, idle: idleTimeout, header: headerTimeout}
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	server := &http.Server{
		Handler:           g.closing(g.handler),
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       30 * time.Second, // of bodies that are not read; readers of bodies set their own deadline
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10, // the gateway itself refuses more than 32 KiB, with an error of its API
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12},
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	url := localURL(listener.Addr())
	if cfg.Compose {
		url = cfg.PublicURL
	}
	log.Info("listening", "address", listener.Addr().String(), "docs", url+"/docs", "version", Version())
	address := listener.Addr()
	g.address.Store(&address)
	g.warnOfOpenMode(cfg, address, &warner{log: log})
	g.warnOfOpenRegistration(cfg, &warner{log: log})
	if screen, ok := log.Handler().(*terminal); ok && cfg.Simulator {
		_, _ = io.WriteString(screen.out, introduction(url, g.setupToken(ctx)))
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }() // ends with Shutdown or Close below
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	g.health.Drain()
	log.Info("stopping: running requests may finish", "grace", cfg.ShutdownGrace.String())
	time.Sleep(min(cfg.ShutdownGrace/20, 2*time.Second)) // load balancers have to see that /readyz fails before the listener closes
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownGrace)
	defer cancel()
	if server.Shutdown(grace) == nil {
		return nil
	}
	log.Warn("the grace period is over: running requests are ended")
	end(errStopping()) // the last event of a stream
	const errorTime = 2 * time.Second
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), errorTime)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		log.Warn("requests still run after the grace period: their connections are closed", "error", err)
		err = server.Close()
		g.awaitCalls()
		return err
	}
	return nil
}

// awaitCalls waits for calls whose connections were closed, such as those of clients
// that do not read. Their cost still has to be booked, and the ledger accepts no row
// after this.
func (g *gateway) awaitCalls() {
	const maxWait = 5 * time.Second
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		calls, _ := g.concurrency.InUse()
		if calls == 0 {
			return
		}
		if time.Since(began) > maxWait {
			g.log.Error("calls did not end before the gateway stopped: they are missing in the ledger", "calls", calls)
			return
		}
	}
}

// errStopping is the error of calls that still run when the grace period is over.
func errStopping() *api.Error {
	return &api.Error{
		Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeServiceUnavailable, RetryAfter: time.Second,
		Message: "the gateway is stopping: try again in 1s",
	}
}

// closing has clients close their connections while the gateway stops: a request
// that is sent on a connection while the gateway closes it would be lost.
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
			g.log.Warn("the connection to the database or to Redis, or the export of traces, was not closed cleanly at the stop",
				"error", err)
		}
	}
}
