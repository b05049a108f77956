package tracing

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// exportRequest translates spans into the message that OTLP posts. There is at
// least one span, and all are of one resource and one scope.
func exportRequest(spans []sdk.ReadOnlySpan) *collectorpb.ExportTraceServiceRequest {
	resource, scope := spans[0].Resource(), spans[0].InstrumentationScope()
	scoped := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: scope.Name, Version: validUTF8(scope.Version)}}
	for _, span := range spans {
		scoped.Spans = append(scoped.Spans, otlpSpan(span))
	}
	return &collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: keyValues(resource.Attributes())}, ScopeSpans: []*tracepb.ScopeSpans{scoped},
	}}}
}

func otlpSpan(s sdk.ReadOnlySpan) *tracepb.Span {
	span, parent := s.SpanContext(), s.Parent()
	traceID, spanID := span.TraceID(), span.SpanID()
	out := &tracepb.Span{
		TraceId: traceID[:], SpanId: spanID[:], TraceState: span.TraceState().String(),
		Name: validUTF8(s.Name()), Kind: tracepb.Span_SpanKind(s.SpanKind()), // OpenTelemetry's API has the same numbers
		StartTimeUnixNano: uint64(s.StartTime().UnixNano()), EndTimeUnixNano: uint64(s.EndTime().UnixNano()),
		Attributes: keyValues(s.Attributes()), DroppedAttributesCount: uint32(s.DroppedAttributes()),
		Flags: uint32(span.TraceFlags()) | uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK),
	}
	if id := parent.SpanID(); id.IsValid() {
		out.ParentSpanId = id[:]
	}
	if parent.IsRemote() {
		out.Flags |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	for _, event := range s.Events() {
		out.Events = append(out.Events, &tracepb.Span_Event{
			Name: event.Name, TimeUnixNano: uint64(event.Time.UnixNano()), Attributes: keyValues(event.Attributes),
		})
	}
	if s.Status().Code == codes.Error {
		out.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
	}
	return out
}

func keyValues(attributes []attribute.KeyValue) []*commonpb.KeyValue {
	all := make([]*commonpb.KeyValue, len(attributes))
	for i, a := range attributes {
		all[i] = &commonpb.KeyValue{Key: validUTF8(string(a.Key)), Value: anyValue(a.Value)}
	}
	return all
}

// anyValue translates the types of values that our spans use; all others are
// sent as text.
func anyValue(v attribute.Value) *commonpb.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRINGSLICE:
		list := new(commonpb.ArrayValue)
		for _, s := range v.AsStringSlice() {
			list.Values = append(list.Values, stringValue(s))
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
	default:
		return stringValue(v.String())
	}
}

func stringValue(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: validUTF8(s)}}
}

// validUTF8 replaces invalid bytes: one of them, as a client can put into a
// path, would make protobuf refuse the whole batch.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
