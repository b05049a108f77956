package tracing

import (
	"context"
	"encoding/hex"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"modelgateway/providers/upstream"
)

// Attempt is the span of one call of an upstream. It is of one goroutine at a
// time, and ends once: further Ends do nothing.
type Attempt struct {
	chat *Chat
	span trace.Span
	call upstream.Trace
	err  error
}

// Attempt begins the span of a call. Calls made with the context it returns
// carry the span to the upstream, where W3C Trace Context is not turned off.
func (c *Chat) Attempt(ctx context.Context, provider, model string) (context.Context, *Attempt) {
	if c == nil {
		return ctx, nil
	}
	a := &Attempt{chat: c}
	number := c.attempts.Add(1)
	ctx, a.span = c.tracer.tracer.Start(ctx, "chat "+bounded(model), trace.WithSpanKind(trace.SpanKindClient))
	if a.span.IsRecording() {
		a.span.SetAttributes(
			attribute.String("gen_ai.operation.name", "chat"),
			attribute.String("gen_ai.provider.name", wellKnown(provider)),
			attribute.String("gen_ai.request.model", bounded(model)),
			attribute.Int("modelgateway.attempt", int(number)))
	}
	if c.tracer.propagate {
		of := a.span.SpanContext()
		a.call.Parent, a.call.State = traceparent(of), of.TraceState().String()
	}
	return upstream.WithTrace(ctx, &a.call), a
}

// traceparent writes W3C Trace Context, version 00.
func traceparent(of trace.SpanContext) string {
	var b [55]byte
	traceID, spanID := of.TraceID(), of.SpanID()
	copy(b[:], "00-")
	hex.Encode(b[3:], traceID[:])
	b[35] = '-'
	hex.Encode(b[36:], spanID[:])
	b[52] = '-'
	hex.Encode(b[53:], []byte{byte(of.TraceFlags() & (trace.FlagsSampled | trace.FlagsRandom))})
	return string(b[:])
}

// FirstToken says that the first event of a stream has come.
func (a *Attempt) FirstToken() {
	if a == nil {
		return
	}
	a.chat.first.CompareAndSwap(0, int64(time.Since(a.chat.began)))
	if a.span.IsRecording() {
		a.span.AddEvent("gen_ai.first_token")
	}
}

// Failed says how the call failed, before it is ended. Nil is no failure.
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
		if a.call.Host != "" { // else nobody was asked
			port, _ := strconv.Atoi(a.call.Port)
			a.span.SetAttributes(attribute.String("server.address", a.call.Host), attribute.Int("server.port", port))
		}
		if a.call.Status != 0 {
			a.span.SetAttributes(attribute.Int("http.response.status_code", a.call.Status))
		}
		fail(a.span, a.err)
	}
	a.span.End()
}
