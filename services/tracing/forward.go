package tracing

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"modelgateway/config"
)

// Collector passes on what programs tell of themselves in OTLP over HTTP, to the collector of the gateway's own
// spans. A nil Collector drops it.
type Collector struct {
	client  *client
	base    string // of the signals' URLs; empty: only traces are passed on
	log     *slog.Logger
	now     func() time.Time
	running atomic.Int64
	warned  atomic.Int64 // when a failure was last logged, in Unix seconds
}

// NewCollector returns nil where there is no collector.
func NewCollector(cfg config.Tracing, log *slog.Logger, now func() time.Time) *Collector {
	if cfg.Endpoint == "" {
		return nil
	}
	c := &Collector{client: newClient(cfg), log: log, now: now}
	c.base, _ = strings.CutSuffix(cfg.Endpoint, tracesPath)
	if c.base == cfg.Endpoint {
		c.base = "" // OTEL_EXPORTER_OTLP_TRACES_ENDPOINT has a path of its own
	}
	return c
}

const tracesPath = "/v1/traces"

// Forward posts a body to the path of its signal, such as /v1/logs, and does not wait for it. Where the collector is
// slow or gone the body is lost, and a line in the log says so once a minute.
func (c *Collector) Forward(path string, header http.Header, body []byte) {
	const most = 16 // posts at the same time
	if c == nil || c.base == "" && path != tracesPath {
		return
	}
	url := c.client.cfg.Endpoint
	if path != tracesPath {
		url = c.base + path
	}
	if c.running.Add(1) > most {
		c.running.Add(-1)
		c.failed("too many posts at the same time", path)
		return
	}
	kind, encoding := header.Get("Content-Type"), header.Get("Content-Encoding")
	go func() {
		defer c.running.Add(-1)
		if why := c.post(url, kind, encoding, body); why != "" {
			c.failed(why, path)
		}
	}()
}

func (c *Collector) post(url, kind, encoding string, body []byte) (failure string) {
	ctx, cancel := context.WithTimeout(context.Background(), c.client.cfg.Timeout)
	defer cancel()
	resp, err := c.client.do(ctx, url, kind, encoding, body)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	const longest = 64 << 10
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, longest))
	if resp.StatusCode >= http.StatusMultipleChoices {
		return resp.Status
	}
	return ""
}

func (c *Collector) failed(why, path string) {
	now, last := c.now().Unix(), c.warned.Load()
	if now-last >= int64(time.Minute/time.Second) && c.warned.CompareAndSwap(last, now) {
		c.log.Warn("telemetry of signed-in programs is lost: the collector does not take it", "path", path, "error", why)
	}
}
