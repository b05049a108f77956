package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modelgateway/tools/rig"
)

// row is what the bodies of one shape cost with one model.
type row struct {
	shape, model string
	costs        []cost // by size
}

// cost is what one body costs.
type cost struct {
	bytes  int
	status int
	code   string        // of the error
	memory int64         // bytes above idle, at most
	cpu    time.Duration // of all threads
}

// meter measures.
type meter struct {
	options
	dir      string
	upstream *rig.Process
}

func (m *meter) start(ctx context.Context) (err error) {
	if m.dir, err = os.MkdirTemp("", "shapes"); err != nil {
		return err
	}
	if m.gateway, err = rig.Build(ctx, m.gateway, m.dir); err != nil {
		return err
	}
	m.upstream, err = rig.StartUpstream("")
	return err
}

func (m *meter) close() {
	m.upstream.Kill()
	_ = os.RemoveAll(m.dir)
}

func (m *meter) measure(ctx context.Context) ([]row, error) {
	var rows []row
	for _, s := range everyShape() {
		if !m.only.MatchString(s.name) {
			continue
		}
		for _, model := range s.models {
			r := row{shape: s.name, model: model}
			for _, size := range m.sizes {
				c, err := m.one(ctx, s.path(), model, s.body(model, size<<20))
				if err != nil {
					return rows, fmt.Errorf("%s, %s, %d MiB: %w", s.name, model, size, err)
				}
				r.costs = append(r.costs, c)
			}
			fmt.Fprintln(os.Stderr, r.line())
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// one sends a body to a fresh gateway that has served one small call.
func (m *meter) one(ctx context.Context, path, model, body string) (c cost, err error) {
	dir := filepath.Join(m.dir, "gateway")
	defer func() { _ = os.RemoveAll(dir) }()
	const limit = "512MiB" // the memory that the gateway is told that it may have
	g, err := rig.StartGateway(ctx, rig.Options{Binary: m.gateway, Dir: dir, Upstream: m.upstream.Addr, Settings: []string{
		"GOMEMLIMIT=" + limit, "MAX_RETRIES=0", "REQUIRE_AUTH=false",
	}})
	if err != nil {
		return c, err
	}
	defer g.Kill()
	if got, err := send(ctx, g, chatPath, message(filled("a"))(model, 200)); err != nil || got.status != http.StatusOK {
		return c, fmt.Errorf("the small call: %d %s, %w", got.status, got.code, err)
	}
	if err := rig.RestartPeak(g.PID); err != nil {
		return c, err
	}
	idle, err := rig.Memory(g.PID, "VmRSS")
	if err != nil {
		return c, err
	}
	before, err := rig.ThreadTime(g.PID)
	if err != nil {
		return c, err
	}
	if c, err = send(ctx, g, path, body); err != nil {
		return c, err
	}
	after, err := rig.ThreadTime(g.PID)
	if err != nil {
		return c, err
	}
	peak, err := rig.Memory(g.PID, "VmHWM")
	c.memory, c.cpu = max(peak-idle, 0), after-before
	return c, err
}

// send makes one call.
func send(ctx context.Context, g *rig.Gateway, path, body string) (cost, error) {
	c := cost{bytes: len(body)}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.Addr+path, strings.NewReader(body))
	if err != nil {
		return c, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return c, err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it has been read to its end
	if err != nil {
		return c, err
	}
	var told struct{ Error struct{ Code, Type string } }
	c.status = resp.StatusCode
	if c.status >= http.StatusBadRequest && json.Unmarshal(text, &told) == nil {
		c.code = cmp.Or(told.Error.Code, told.Error.Type)
	}
	return c, nil
}
