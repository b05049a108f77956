package tracing

import (
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers here are those of opentelemetry/proto/trace/v1/trace.proto,
// common/v1/common.proto and collector/trace/v1/trace_service.proto, 1.11.

// message is a protobuf message being written.
type message []byte

func (m *message) text(field protowire.Number, s string) {
	if s != "" {
		*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), strings.ToValidUTF8(s, "\ufffd"))
	}
}

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) number(field protowire.Number, n uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), n)
}

func (m *message) time(field protowire.Number, t time.Time) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), uint64(t.UnixNano()))
}

func (m *message) within(field protowire.Number, write func(*message)) {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	start := len(*m)
	write(m)
	var room [10]byte // a length comes before what it is the length of, and is known after it
	*m = slices.Insert(*m, start, protowire.AppendVarint(room[:0], uint64(len(*m)-start))...)
}

func (m *message) attributes(field protowire.Number, all []attribute.KeyValue) {
	for _, a := range all {
		m.within(field, func(m *message) {
			m.text(1, string(a.Key))
			m.within(2, func(m *message) { m.value(a.Value) })
		})
	}
}

// value writes the kinds of values that spans here have.
func (m *message) value(v attribute.Value) {
	switch v.Type() {
	case attribute.BOOL:
		m.number(2, protowire.EncodeBool(v.AsBool()))
	case attribute.INT64:
		m.number(3, uint64(v.AsInt64()))
	case attribute.FLOAT64:
		*m = protowire.AppendFixed64(protowire.AppendTag(*m, 4, protowire.Fixed64Type), math.Float64bits(v.AsFloat64()))
	case attribute.STRINGSLICE:
		m.within(5, func(m *message) {
			for _, s := range v.AsStringSlice() {
				m.within(1, func(m *message) { m.bytes(1, []byte(strings.ToValidUTF8(s, "\ufffd"))) })
			}
		})
	default:
		m.bytes(1, []byte(strings.ToValidUTF8(v.String(), "\ufffd")))
	}
}

// encode writes an ExportTraceServiceRequest. All spans are of one resource and
// one scope.
func encode(spans []sdk.ReadOnlySpan) []byte {
	var request message
	if len(spans) == 0 {
		return request
	}
	request.within(1, func(m *message) { // ResourceSpans
		m.within(1, func(m *message) { m.attributes(1, spans[0].Resource().Attributes()) })
		m.within(2, func(m *message) { // ScopeSpans
			m.within(1, func(m *message) {
				scope := spans[0].InstrumentationScope()
				m.text(1, scope.Name)
				m.text(2, scope.Version)
			})
			for _, span := range spans {
				m.within(2, func(m *message) { m.span(span) })
			}
		})
	})
	return request
}

func (m *message) span(s sdk.ReadOnlySpan) {
	of, parent := s.SpanContext(), s.Parent()
	traceID, spanID := of.TraceID(), of.SpanID()
	m.bytes(1, traceID[:])
	m.bytes(2, spanID[:])
	m.text(3, of.TraceState().String())
	if parent.SpanID().IsValid() {
		id := parent.SpanID()
		m.bytes(4, id[:])
	}
	m.text(5, s.Name())
	m.number(6, uint64(s.SpanKind())) // the same numbers: internal is 1, server 2, client 3
	m.time(7, s.StartTime())
	m.time(8, s.EndTime())
	m.attributes(9, s.Attributes())
	if n := s.DroppedAttributes(); n > 0 {
		m.number(10, uint64(n))
	}
	for _, event := range s.Events() {
		m.within(11, func(m *message) {
			m.time(1, event.Time)
			m.text(2, event.Name)
			m.attributes(3, event.Attributes)
		})
	}
	if s.Status().Code == codes.Error {
		m.within(15, func(m *message) { m.number(3, 2) }) // STATUS_CODE_ERROR
	}
	m.flags(of, parent)
}

// flags are W3C's, and whether the parent is of another process.
func (m *message) flags(of, parent trace.SpanContext) {
	const known, remote = 0x100, 0x200
	flags := uint32(of.TraceFlags()) | known
	if parent.IsRemote() {
		flags |= remote
	}
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, 16, protowire.Fixed32Type), flags)
}

// rejectedSpans reads an ExportTraceServiceResponse: how many spans the
// collector did not take although it took the post. What it cannot read has
// none.
func rejectedSpans(answer []byte) int {
	partial, ok := field(answer, 1, protowire.BytesType)
	if !ok {
		return 0
	}
	inner, _ := protowire.ConsumeBytes(partial)
	raw, ok := field(inner, 1, protowire.VarintType)
	if !ok {
		return 0
	}
	n, _ := protowire.ConsumeVarint(raw)
	return int(min(n, 1<<20))
}

// field finds a field and returns what follows its tag.
func field(b []byte, want protowire.Number, kind protowire.Type) ([]byte, bool) {
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, false
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(number, typ, b)
		if size < 0 {
			return nil, false
		}
		if number == want && typ == kind {
			return b[:size], true
		}
		b = b[size:]
	}
	return nil, false
}
