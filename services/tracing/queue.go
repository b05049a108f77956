package tracing

import (
	"sync/atomic"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// countingQueue stands before the SDK's BatchSpanProcessor, which drops spans
// when its queue is full and does not report how many.
type countingQueue struct {
	sdk.SpanProcessor
	limit   int64 // the size of the processor's queue, which therefore never is full
	pending atomic.Int64
	dropped atomic.Int64
}

// OnEnd queues a span, or drops it. It never blocks.
func (q *countingQueue) OnEnd(span sdk.ReadOnlySpan) {
	if !span.SpanContext().IsSampled() {
		return // a sampler may have spans recorded but not exported
	}
	if q.pending.Add(1) > q.limit {
		q.pending.Add(-1)
		q.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(span)
}
