package app

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
)

// Main is the whole process: it runs the gateway with the arguments, the
// environment and the signals of the process, and exits.
func Main() {
	noCoreDumps()
	signal.Ignore(syscall.SIGPIPE) // a closed log pipe must not end the gateway
	logging.Disable()              // the Redis client prints addresses to standard error; its errors are returned as well
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	os.Exit(command(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// command runs the gateway, or checks a running one, for containers without a
// shell. It returns the exit code.
func command(ctx context.Context, args, environ []string, out, faults io.Writer) int {
	flags := flag.NewFlagSet("modelgateway", flag.ContinueOnError)
	flags.SetOutput(faults)
	alive := flags.Bool("healthcheck", false, "check that the gateway on this machine is alive; the exit code is 0 or 1")
	ready := flags.Bool("readycheck", false, "check that the gateway on this machine is ready for requests; the exit code is 0 or 1")
	showVersion := flags.Bool("version", false, "print the version")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	switch {
	case *showVersion:
		_, _ = fmt.Fprintln(out, Version())
		return 0
	case *alive:
		return check(ctx, "/livez", environ, faults)
	case *ready:
		return check(ctx, "/readyz", environ, faults)
	}
	if err := Run(ctx, environ, out); err != nil {
		_, _ = fmt.Fprintln(faults, err)
		return 1
	}
	return 0
}
