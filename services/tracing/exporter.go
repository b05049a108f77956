package tracing

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// exporter is the SDK's sdktrace.SpanExporter. It posts spans, and counts and
// logs those that are lost.
type exporter struct {
	client   *client
	queue    *countingQueue
	lost     atomic.Int64
	log      *slog.Logger
	now      func() time.Time
	logged   time.Time // when a failure was last logged; only one goroutine exports
	unlogged int       // spans lost since then

	stopped context.Context
	stop    context.CancelFunc // ends the posts and the waits between them
}

func newExporter(opts Options, queue *countingQueue) *exporter {
	e := &exporter{client: newClient(opts.Config), queue: queue, log: opts.Log, now: opts.Now}
	e.stopped, e.stop = context.WithCancel(context.Background())
	return e
}

var errRejected = errors.New("the collector rejected spans")

// ExportSpans returns no error: the SDK would pass it to a handler that is
// global to the process.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	defer e.queue.pending.Add(-int64(len(spans)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.stopped, cancel)() //nolint:contextcheck // the end of either context ends the export
	rejected, err := e.client.send(ctx, exportRequest(spans))
	switch {
	case err != nil:
		e.failed(len(spans), err)
	case rejected > 0:
		e.failed(int(min(rejected, int64(len(spans)))), errRejected)
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter. The SDK has exported all spans
// before it calls it.
func (e *exporter) Shutdown(context.Context) error {
	e.client.http.CloseIdleConnections()
	return nil
}

// failed counts lost spans, and logs at most once a minute how many were lost
// since the message before.
func (e *exporter) failed(spans int, err error) {
	e.lost.Add(int64(spans))
	e.unlogged += spans
	now := e.now()
	if !e.logged.IsZero() && now.Sub(e.logged) < time.Minute {
		return
	}
	e.log.Warn("traces are lost: the collector did not accept them", "spans", e.unlogged, "dropped", e.queue.dropped.Load(), "error", err)
	e.logged, e.unlogged = now, 0
}
