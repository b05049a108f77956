package app

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Probe asks a probe of the gateway on this machine, at the address of the settings.
// Where a failed check restarts the process, the probe should be /livez: a restart
// does not repair a database.
func Probe(ctx context.Context, probe string, environ []string) error {
	cfg, err := Settings(environ)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, Local(cfg)+probe, nil)
	if err != nil {
		return err
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy stands before this machine
	resp, err := direct.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: see the log of the gateway", Local(cfg)+probe, resp.Status)
	}
	return nil
}
