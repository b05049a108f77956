package tracing

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Request is the span of one HTTP request.
type Request struct{ span trace.Span }

// methods are the HTTP methods that may stand in a span's name. Clients can
// send any other word.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace,
}

// untraced are the routes that probes and scrapers request every few seconds.
var untraced = []string{"/health", "/livez", "/readyz", "/metrics"}

// Request begins the span of a request, as a child of the client's span. route
// is the pattern that matched, or empty: then the path may hold anything, and
// the span does not show it.
func (t *Tracer) Request(ctx context.Context, r *http.Request, route string) (context.Context, *Request) {
	if t == nil || slices.Contains(untraced, route) {
		return ctx, nil
	}
	parent := ctx
	if t.propagate {
		parent = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	method, name := r.Method, r.Method
	if !slices.Contains(methods, method) {
		method, name = "_OTHER", "HTTP"
	}
	if route != "" {
		name += " " + route
	}
	ctx, span := t.tracer.Start(parent, name, trace.WithSpanKind(trace.SpanKindServer)) //nolint:spancheck // ended by End
	if span.IsRecording() {
		span.SetAttributes(attribute.String("http.request.method", method), attribute.String("url.scheme", scheme(r)))
		if route != "" {
			span.SetAttributes(attribute.String("http.route", route), attribute.String("url.path", r.URL.Path))
		}
	}
	return ctx, &Request{span: span} //nolint:spancheck // as above
}

func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// End ends the span with the status that was sent to the client.
func (r *Request) End(status int, requestID string) {
	if r == nil {
		return
	}
	if r.span.IsRecording() {
		r.span.SetAttributes(attribute.Int("http.response.status_code", status), attribute.String("modelgateway.request_id", requestID))
		if status >= http.StatusInternalServerError {
			r.span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
			r.span.SetStatus(codes.Error, "")
		}
	}
	r.span.End()
}
