package tracing

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
)

// Chat is the span of one request to a model, the parent of its attempts. Its
// operation is chat or embeddings. The names of its attributes follow OpenTelemetry's semantic conventions for GenAI.
// They are written out, because the Go module of the conventions has no GenAI
// names after version 1.41.
type Chat struct {
	tracer     *Tracer
	operation  string // see operationOf
	span       trace.Span
	started    time.Time
	attempts   atomic.Int32
	firstToken atomic.Int64 // nanoseconds from started to the first event of a stream; 0 = none
}

// ChatStart describes a request to a model before the first attempt.
type ChatStart struct {
	Provider  string // of the requested model
	Request   *llm.Request
	RequestID string
	KeyID     string // of the caller's API key; empty without one
	Session   string // that the call belongs to; empty = unknown
	Project   string // that the call is for; empty = none
}

// ChatEnd describes the result of a chat.
type ChatEnd struct {
	Provider      string // that answered
	Model         string // that answered, as the answer names it
	ID            string // of the answer
	FinishReasons []string
	Usage         *llm.Usage // nil = unknown
	Priced        bool       // Cost is known
	Cost          int64      // micro-dollars
	Fallback      string     // the fallback model that answered, or empty
	Err           error
}

// Chat begins the span of a chat. The caller has to call End.
func (t *Tracer) Chat(ctx context.Context, start ChatStart) (context.Context, *Chat) {
	if t == nil {
		return ctx, nil
	}
	c := &Chat{tracer: t, operation: operationOf(start.Request), started: time.Now()}
	ctx, c.span = t.tracer.Start(ctx, c.operation+" "+truncated(start.Request.Model), trace.WithTimestamp(c.started))
	if c.span.IsRecording() {
		start.Provider = t.providerName(start.Provider)
		var buffer [16]attribute.KeyValue
		c.span.SetAttributes(start.attributes(buffer[:0])...)
	}
	return ctx, c
}

// operationOf is the name that the conventions give to what a request asks for.
func operationOf(r *llm.Request) string {
	if r.Kind == llm.KindEmbedding {
		return "embeddings"
	}
	return "chat"
}

func (s ChatStart) attributes(all []attribute.KeyValue) []attribute.KeyValue {
	r := s.Request
	all = append(all,
		attribute.String("gen_ai.operation.name", operationOf(r)),
		attribute.String("gen_ai.provider.name", s.Provider),
		attribute.String("gen_ai.request.model", truncated(r.Model)),
		attribute.Bool("gen_ai.request.stream", r.Stream),
		attribute.String("modelgateway.request_id", s.RequestID),
	)
	for _, a := range []struct{ name, value string }{
		{"modelgateway.key_id", s.KeyID}, {"gen_ai.conversation.id", s.Session}, {"modelgateway.project", s.Project},
	} {
		if a.value != "" {
			all = append(all, attribute.String(a.name, a.value))
		}
	}
	if r.Choices != 1 {
		all = append(all, attribute.Int64("gen_ai.request.choice.count", r.Choices))
	}
	for _, a := range []struct {
		name string
		n    *int64
	}{{"gen_ai.request.max_tokens", r.MaxOutput}, {"gen_ai.request.seed", r.Seed}} {
		if a.n != nil {
			all = append(all, attribute.Int64(a.name, *a.n))
		}
	}
	for _, a := range []struct {
		name string
		n    *float64
	}{
		{"gen_ai.request.temperature", r.Temperature}, {"gen_ai.request.top_p", r.TopP},
		{"gen_ai.request.frequency_penalty", r.FrequencyPenalty}, {"gen_ai.request.presence_penalty", r.PresencePenalty},
	} {
		if a.n != nil {
			all = append(all, attribute.Float64(a.name, *a.n))
		}
	}
	if r.TopK != nil {
		all = append(all, attribute.Float64("gen_ai.request.top_k", float64(*r.TopK))) // the conventions want a double
	}
	return all
}

// maxText bounds the texts that clients and upstreams choose, such as the name
// of a model, in bytes.
const maxText = 128

func truncated(text string) string {
	if len(text) > maxText {
		return text[:maxText]
	}
	return text
}

// providerName returns the name that the conventions give a provider.
func (t *Tracer) providerName(provider string) string {
	if t.providers == nil {
		return provider
	}
	return cmp.Or(t.providers(provider), provider)
}

// Recording reports whether the span is exported. When it is not, a caller need
// not collect the values of a ChatEnd.
func (c *Chat) Recording() bool { return c != nil && c.span.IsRecording() }

// End ends the span.
func (c *Chat) End(end ChatEnd) {
	if c == nil {
		return
	}
	if c.span.IsRecording() {
		end.Provider = c.tracer.providerName(end.Provider)
		var buffer [16]attribute.KeyValue
		c.span.SetAttributes(end.attributes(buffer[:0])...)
		if first := c.firstToken.Load(); first > 0 {
			c.span.SetAttributes(attribute.Float64("gen_ai.response.time_to_first_chunk", time.Duration(first).Seconds()))
		}
		c.span.SetAttributes(attribute.Int("modelgateway.attempts", int(c.attempts.Load())))
		setError(c.span, end.Err)
	}
	c.span.End()
}

func (e ChatEnd) attributes(all []attribute.KeyValue) []attribute.KeyValue {
	for _, a := range []struct{ name, value string }{
		{"gen_ai.provider.name", e.Provider}, {"gen_ai.response.model", e.Model},
		{"gen_ai.response.id", e.ID}, {"modelgateway.fallback", e.Fallback},
	} {
		if a.value != "" {
			all = append(all, attribute.String(a.name, truncated(a.value)))
		}
	}
	if len(e.FinishReasons) > 0 {
		all = append(all, attribute.StringSlice("gen_ai.response.finish_reasons", e.FinishReasons))
	}
	if e.Usage == nil {
		return all
	}
	all = append(all,
		attribute.Int64("gen_ai.usage.input_tokens", e.Usage.Input), // cached tokens included, as the conventions want it
		attribute.Int64("gen_ai.usage.output_tokens", e.Usage.Output),
	)
	if e.Priced {
		all = append(all, attribute.Float64("modelgateway.cost_usd", float64(e.Cost)/1e6))
	}
	if e.Usage.HasCache {
		all = append(all,
			attribute.Int64("gen_ai.usage.cache_read.input_tokens", e.Usage.Cached),
			attribute.Int64("gen_ai.usage.cache_creation.input_tokens", e.Usage.CacheWrite))
	}
	if e.Usage.Reasoning > 0 {
		all = append(all, attribute.Int64("gen_ai.usage.reasoning.output_tokens", e.Usage.Reasoning))
	}
	return all
}

// setError records a failure in a span, if err is one. A span that was canceled
// is no error.
func setError(span trace.Span, err error) {
	if err == nil {
		return
	}
	kind := errorType(err)
	span.SetAttributes(attribute.String("error.type", kind))
	if kind != canceled {
		span.SetStatus(codes.Error, "") // without a message: an upstream's may quote the prompt
	}
}

const canceled = "canceled"

// errorType returns the upstream's status if it answered, or else our error code.
func errorType(err error) string {
	if r, ok := errors.AsType[*providers.Refusal](err); ok {
		if r.Status >= 300 {
			return strconv.Itoa(r.Status)
		}
		return api.CodeProviderError
	}
	if e, ok := errors.AsType[*api.Error](err); ok {
		if e.UpstreamStatus >= 300 {
			return strconv.Itoa(e.UpstreamStatus)
		}
		return e.Code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return canceled
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	default:
		return api.CodeInternal
	}
}
