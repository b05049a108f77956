// Package tracing makes OpenTelemetry spans: one for each HTTP request, below
// it one for each request to a model, and below that one for each attempt at an
// upstream. Spans hold ids, names, times, counts, costs and error codes. They
// never hold a prompt, an answer, an API key or a header.
//
// When tracing is off, New returns nil. The methods of a nil Tracer, Request,
// Chat or Attempt do nothing and return the context that they were given.
package tracing

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"modelgateway/config"
)

// Options of a Tracer.
type Options struct {
	Config    config.Tracing
	Providers func(name string) string // the name of a provider in the semantic conventions; nil: its own
	Version   string
	Log       *slog.Logger
	Now       func() time.Time // only limits how often failures are logged
}

// Tracer makes spans and exports them to a collector in the background. Spans
// that the collector does not accept in time are dropped and counted: no
// request waits for it.
type Tracer struct {
	tracer    trace.Tracer
	provider  *sdk.TracerProvider
	exporter  *exporter
	queue     *countingQueue
	propagate bool
	providers func(name string) string // names in the semantic conventions; nil: their own
}

// New returns nil when the settings have tracing off. It neither reads nor
// changes OpenTelemetry's global tracer, propagator and error handler.
func New(opts Options) *Tracer {
	cfg := opts.Config
	if cfg.Endpoint == "" {
		return nil
	}
	t := &Tracer{propagate: cfg.Propagate, providers: opts.Providers, queue: &countingQueue{limit: int64(cfg.QueueSize)}}
	t.exporter = newExporter(opts, t.queue)
	t.queue.SpanProcessor = sdk.NewBatchSpanProcessor(t.exporter,
		sdk.WithMaxQueueSize(cfg.QueueSize), sdk.WithMaxExportBatchSize(cfg.BatchSize),
		sdk.WithBatchTimeout(cfg.ScheduleDelay), sdk.WithExportTimeout(cfg.ExportTimeout))
	t.provider = sdk.NewTracerProvider(
		sdk.WithSpanProcessor(t.queue), sdk.WithSampler(sampler(cfg)), sdk.WithResource(describe(opts)),
		sdk.WithoutPanicRecording()) // the message of a panic may quote a prompt
	t.tracer = t.provider.Tracer("modelgateway", trace.WithInstrumentationVersion(opts.Version))
	return t
}

// describe returns the resource of all spans. Of two attributes with one name
// the last one counts, so that the operator's win.
func describe(opts Options) *resource.Resource {
	attributes := []attribute.KeyValue{
		attribute.String("service.name", opts.Config.Service), attribute.String("service.version", opts.Version),
	}
	for _, name := range slices.Sorted(maps.Keys(opts.Config.Attributes)) {
		attributes = append(attributes, attribute.String(name, opts.Config.Attributes[name]))
	}
	return resource.NewSchemaless(attributes...)
}

func sampler(cfg config.Tracing) sdk.Sampler {
	switch cfg.Sampler {
	case "always_on":
		return sdk.AlwaysSample()
	case "always_off":
		return sdk.NeverSample()
	case "traceidratio":
		return sdk.TraceIDRatioBased(cfg.SampleRatio)
	case "parentbased_always_off":
		return sdk.ParentBased(sdk.NeverSample())
	case "parentbased_traceidratio":
		return sdk.ParentBased(sdk.TraceIDRatioBased(cfg.SampleRatio))
	default:
		return sdk.ParentBased(sdk.AlwaysSample())
	}
}

// The time for the last spans when the process ends: first to send them, then
// to end the posts that still run.
const (
	flushTimeout = 2500 * time.Millisecond
	abortTimeout = 500 * time.Millisecond
)

// Shutdown exports the spans in the queue, and drops those that have not been
// sent after two and a half seconds. Nothing is logged after it has returned.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	defer time.AfterFunc(flushTimeout, t.exporter.stop).Stop()
	defer t.exporter.stop()
	ctx, cancel := context.WithTimeout(ctx, flushTimeout+abortTimeout)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// Lost counts the spans that did not reach a collector: the queue was full, or
// the collector did not accept them.
func (t *Tracer) Lost() int64 {
	if t == nil {
		return 0
	}
	return t.queue.dropped.Load() + t.exporter.lost.Load()
}
