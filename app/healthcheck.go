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

// Healthcheck checks that the gateway on this machine, at the address of the
// settings, is alive. It does not check its readiness, since a restart does not
// repair a database. It returns the exit code of the process, 0 or 1.
func Healthcheck(ctx context.Context, environ []string, out io.Writer) int {
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
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, strconv.Itoa(cfg.Port))+"/livez", nil)
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
