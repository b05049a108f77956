package tracing

import (
	"sync/atomic"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// waiting stands before OpenTelemetry's queue of spans, which drops what it has
// no room for and tells nobody how much that was.
type waiting struct {
	sdk.SpanProcessor
	most    int64 // as in the queue, which therefore is never full
	spans   atomic.Int64
	dropped atomic.Int64
}

// OnEnd hands a span over, or drops it. It never waits.
func (w *waiting) OnEnd(span sdk.ReadOnlySpan) {
	if !span.SpanContext().IsSampled() {
		return // a sampler may want spans recorded and not sent
	}
	if w.spans.Add(1) > w.most {
		w.spans.Add(-1)
		w.dropped.Add(1)
		return
	}
	w.SpanProcessor.OnEnd(span)
}
