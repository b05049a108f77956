package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"modelgateway/config"
)

// exporter posts spans by OTLP over HTTP. OpenTelemetry's own exporter for that
// brings the whole of gRPC with it, 3 MB of program and a megabyte and a half of
// memory also where tracing is off, and tells its errors to a global handler.
type exporter struct {
	cfg     config.Tracing
	client  *http.Client
	waiting *waiting
	lost    atomic.Int64
	log     *slog.Logger
	now     func() time.Time
	told    time.Time // when the log was told of a failure; one goroutine exports
	untold  int       // spans lost since

	stopped context.Context
	stop    context.CancelFunc
}

func newExporter(opts Options, waiting *waiting) *exporter {
	e := &exporter{cfg: opts.Config, waiting: waiting, log: opts.Log, now: opts.Now}
	e.client = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: opts.Config.TLS, TLSHandshakeTimeout: opts.Config.Timeout,
			MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		},
		Timeout:       opts.Config.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the credential stays with its collector
	}
	e.stopped, e.stop = context.WithCancel(context.Background())
	return e
}

// ExportSpans never fails: what could not be sent is lost, counted and logged.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	defer e.waiting.spans.Add(-int64(len(spans)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.stopped, cancel)()
	rejected, err := e.deliver(ctx, encode(spans))
	if err != nil {
		rejected = len(spans)
	}
	if rejected > 0 {
		e.failed(rejected, err)
	}
	return nil
}

// Shutdown has nothing left to send.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// failed logs at most once a minute, with all that was lost since the last time.
func (e *exporter) failed(spans int, err error) {
	e.lost.Add(int64(spans))
	e.untold += spans
	now := e.now()
	if !e.told.IsZero() && now.Sub(e.told) < time.Minute {
		return
	}
	e.log.Warn("traces are lost: the collector does not take them", "spans", e.untold, "dropped", e.waiting.dropped.Load(), "error", err)
	e.told, e.untold = now, 0
}

var errRejected = errors.New("the collector rejected spans")

// deliver posts until the collector has it, refuses it or ctx ends, and says
// how many spans it took the post and rejected.
func (e *exporter) deliver(ctx context.Context, message []byte) (rejected int, err error) {
	body, err := e.compressed(message)
	if err != nil {
		return 0, err
	}
	const first, longest = 500 * time.Millisecond, 5 * time.Second
	for pause := first; ; pause = min(2*pause, longest) {
		rejected, wait, err := e.post(ctx, body)
		if err == nil || wait < 0 {
			return rejected, err
		}
		wait = max(wait, pause/2+time.Duration(rand.Int64N(int64(pause))))
		if until, ok := ctx.Deadline(); ok && time.Until(until) < wait {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(wait):
		}
	}
}

// final says that a post is not to be tried again.
const final time.Duration = -1

// post sends once. Beside an error it says how long the collector wants to be
// left alone, or final.
func (e *exporter) post(ctx context.Context, body []byte) (rejected int, wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.cfg.Endpoint, bytes.NewReader(body))
	if err != nil {
		return 0, final, fmt.Errorf("post spans: %w", err)
	}
	for name, value := range e.cfg.Headers {
		req.Header.Set(name, value.Reveal())
	}
	req.Header.Set("User-Agent", "modelgateway")
	req.Header.Set("Content-Type", "application/x-protobuf")
	if e.cfg.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, 0, fmt.Errorf("post spans: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if err == nil {
			rejected = rejectedSpans(answer)
		}
		if rejected > 0 {
			return rejected, final, errRejected
		}
		return 0, 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout: // OTLP 1.9, failures that pass
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return 0, time.Duration(min(max(seconds, 0), 3600)) * time.Second, fmt.Errorf("post spans: %s", resp.Status)
	default:
		return 0, final, fmt.Errorf("post spans: %s", resp.Status)
	}
}

func (e *exporter) compressed(message []byte) ([]byte, error) {
	if !e.cfg.Gzip {
		return message, nil
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(message); err != nil {
		return nil, fmt.Errorf("compress spans: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress spans: %w", err)
	}
	return out.Bytes(), nil
}
