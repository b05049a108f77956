package tracing

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"modelgateway/providers/upstream"
)

// Attempt is the span of one call to an upstream. Only one goroutine at a time
// may use it. Further calls of End do nothing.
type Attempt struct {
	chat *Chat
	span trace.Span
	call upstream.Trace
	err  error
}

// Attempt begins the span of a call to an upstream. Requests made with the
// returned context carry the span's W3C Trace Context, unless it is turned off.
func (c *Chat) Attempt(ctx context.Context, provider, model string) (context.Context, *Attempt) {
	if c == nil {
		return ctx, nil
	}
	a := &Attempt{chat: c}
	number := c.attempts.Add(1)
	ctx, a.span = c.tracer.tracer.Start(ctx, c.operation+" "+truncated(model), trace.WithSpanKind(trace.SpanKindClient))
	if a.span.IsRecording() {
		a.span.SetAttributes(
			attribute.String("gen_ai.operation.name", c.operation),
			attribute.String("gen_ai.provider.name", c.tracer.providerName(provider)),
			attribute.String("gen_ai.request.model", truncated(model)),
			attribute.Int("modelgateway.attempt", int(number)))
	}
	if c.tracer.propagate {
		headers := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, headers)
		a.call.Parent, a.call.State = headers["traceparent"], headers["tracestate"]
	}
	return upstream.WithTrace(ctx, &a.call), a
}

// FirstToken records that the first event of a stream has arrived.
func (a *Attempt) FirstToken() {
	if a == nil {
		return
	}
	a.chat.firstToken.CompareAndSwap(0, int64(time.Since(a.chat.started)))
	if a.span.IsRecording() {
		a.span.AddEvent("gen_ai.first_token")
	}
}

// Failed records the error of the call. It has to come before End. Nil is
// ignored.
func (a *Attempt) Failed(err error) {
	if a != nil && err != nil {
		a.err = err
	}
}

// End ends the span.
func (a *Attempt) End() {
	if a == nil {
		return
	}
	if a.span.IsRecording() {
		if a.call.Host != "" { // empty when no request was sent
			port, _ := strconv.Atoi(a.call.Port)
			a.span.SetAttributes(attribute.String("server.address", a.call.Host), attribute.Int("server.port", port))
		}
		if a.call.Status != 0 {
			a.span.SetAttributes(attribute.Int("http.response.status_code", a.call.Status))
		}
		if a.call.ID != "" {
			a.span.SetAttributes(attribute.String("modelgateway.upstream_request_id", a.call.ID))
		}
		setError(a.span, a.err)
	}
	a.span.End()
}
