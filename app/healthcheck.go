package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"modelgateway/config"
	"modelgateway/providers/all"
)

// check asks a probe of the gateway on this machine, at the address of the
// settings. It returns the exit code of the process, 0 or 1. Where a failed check
// restarts the process, the probe should be /livez: a restart does not repair a
// database.
func check(ctx context.Context, probe string, environ []string, out io.Writer) int {
	cfg, err := config.Load(environ, ".env", all.Settings())
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	host := cfg.Host
	if host == "" {
		host = "127.0.0.1"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, strconv.Itoa(cfg.Port))+probe, nil)
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 1
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy stands before this machine
	resp, err := direct.Do(req)
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 1
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		_, _ = fmt.Fprintln(out, resp.Status)
		return 1
	}
	return 0
}
