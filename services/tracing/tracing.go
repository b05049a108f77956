// Package tracing makes OpenTelemetry spans of requests, of the chats in them
// and of the attempts of each chat. A span says who, when, how much and how it
// ended: never a prompt, an answer, a key or a header.
//
// Where tracing is off everything here is nil: methods of nil do nothing and
// return the context they were given.
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
	Config  config.Tracing
	Version string
	Log     *slog.Logger
	Now     func() time.Time // only for how often the log is told of failures
}

// Tracer makes spans and sends them to a collector, apart from the requests:
// what the collector does not take in time is dropped and counted.
type Tracer struct {
	tracer    trace.Tracer
	provider  *sdk.TracerProvider
	exporter  *exporter
	waiting   *waiting
	propagate bool
}

// New is nil where the settings have tracing off. Nothing of OpenTelemetry's
// global state is used.
func New(opts Options) *Tracer {
	cfg := opts.Config
	if cfg.Endpoint == "" {
		return nil
	}
	described := []attribute.KeyValue{attribute.String("service.name", cfg.Service), attribute.String("service.version", opts.Version)}
	for _, name := range slices.Sorted(maps.Keys(cfg.Attributes)) {
		described = append(described, attribute.String(name, cfg.Attributes[name])) // the last of two counts
	}
	t := &Tracer{propagate: cfg.Propagate, waiting: &waiting{most: int64(cfg.QueueSize)}}
	t.exporter = newExporter(opts, t.waiting)
	t.waiting.SpanProcessor = sdk.NewBatchSpanProcessor(t.exporter,
		sdk.WithMaxQueueSize(cfg.QueueSize), sdk.WithMaxExportBatchSize(cfg.BatchSize),
		sdk.WithBatchTimeout(cfg.ScheduleDelay), sdk.WithExportTimeout(cfg.ExportTimeout))
	t.provider = sdk.NewTracerProvider(
		sdk.WithSpanProcessor(t.waiting), sdk.WithSampler(sampler(cfg)),
		sdk.WithResource(resource.NewSchemaless(described...)), sdk.WithoutPanicRecording()) // a panic's words may be a prompt's
	t.tracer = t.provider.Tracer("modelgateway", trace.WithInstrumentationVersion(opts.Version))
	return t
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

// How long the last spans may take at the end of the process, and how long it
// may take to drop them then.
const (
	farewell = 2500 * time.Millisecond
	giveUp   = 500 * time.Millisecond
)

// Shutdown sends what waits, and drops what has not been sent after two and a
// half seconds. Nothing is logged any more when it has returned.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	defer time.AfterFunc(farewell, t.exporter.stop).Stop()
	defer t.exporter.stop()
	ctx, cancel := context.WithTimeout(ctx, farewell+giveUp)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// Lost counts the spans that no collector has got: too many waited, or it did
// not take them.
func (t *Tracer) Lost() int64 {
	if t == nil {
		return 0
	}
	return t.waiting.dropped.Load() + t.exporter.lost.Load()
}
