package tracing

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"modelgateway/models/api"
)

// Chat is the span of one chat completion, with all that was tried for it. Its
// attributes have the names of the GenAI semantic conventions, which have left
// OpenTelemetry's Go module after version 1.41.
type Chat struct {
	tracer   *Tracer
	span     trace.Span
	model    string
	began    time.Time
	attempts atomic.Int32
	first    atomic.Int64 // nanoseconds from began to the first event of a stream
}

// ChatStart is what is known of a chat before anybody is asked.
type ChatStart struct {
	Provider  string // of the model that was asked for
	Request   *api.ChatRequest
	RequestID string
	KeyID     string // of the caller's API key, where one was used
}

// ChatEnd is how a chat ended.
type ChatEnd struct {
	Provider      string // who answered
	Model         string // that answered, in the answer's words
	ID            string // of the answer
	FinishReasons []string
	Usage         *api.Usage // nil where none is known
	Priced        bool       // Cost is known
	Cost          int64      // micro-dollars
	Fallback      string     // the model that stood in, or empty
	Err           error
}

// Chat begins the span of a chat, which is to be ended.
func (t *Tracer) Chat(ctx context.Context, start ChatStart) (context.Context, *Chat) {
	if t == nil {
		return ctx, nil
	}
	c := &Chat{tracer: t, model: start.Request.Model, began: time.Now()}
	ctx, c.span = t.tracer.Start(ctx, "chat "+bounded(c.model), trace.WithTimestamp(c.began))
	if c.span.IsRecording() {
		var room [16]attribute.KeyValue
		c.span.SetAttributes(start.attributes(room[:0])...)
	}
	return ctx, c
}

func (s ChatStart) attributes(all []attribute.KeyValue) []attribute.KeyValue {
	r := s.Request
	all = append(all,
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", wellKnown(s.Provider)),
		attribute.String("gen_ai.request.model", bounded(r.Model)),
		attribute.Bool("gen_ai.request.stream", r.Stream),
		attribute.String("modelgateway.request_id", s.RequestID),
	)
	if s.KeyID != "" {
		all = append(all, attribute.String("modelgateway.key_id", s.KeyID))
	}
	if r.N != nil && *r.N != 1 {
		all = append(all, attribute.Int64("gen_ai.request.choice.count", *r.N))
	}
	most := r.MaxCompletionTokens
	if most == nil {
		most = r.MaxTokens
	}
	for _, a := range []struct {
		name string
		n    *int64
	}{{"gen_ai.request.max_tokens", most}, {"gen_ai.request.seed", r.Seed}} {
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
		all = append(all, attribute.Float64("gen_ai.request.top_k", float64(*r.TopK))) // a double in the conventions
	}
	return all
}

// longestModel bounds what a client calls a model, which goes into names.
const longestModel = 128

func bounded(model string) string {
	if len(model) > longestModel {
		return model[:longestModel]
	}
	return model
}

// wellKnown is a provider's name in the conventions.
func wellKnown(provider string) string {
	if provider == "gemini" {
		return "gcp.gemini"
	}
	return provider
}

// Recording says whether what End is told goes anywhere: who would have to
// gather it first may save the trouble.
func (c *Chat) Recording() bool { return c != nil && c.span.IsRecording() }

// End ends the span.
func (c *Chat) End(end ChatEnd) {
	if c == nil {
		return
	}
	if c.span.IsRecording() {
		var room [16]attribute.KeyValue
		c.span.SetAttributes(end.attributes(room[:0])...)
		if first := c.first.Load(); first > 0 {
			c.span.SetAttributes(attribute.Float64("gen_ai.response.time_to_first_chunk", time.Duration(first).Seconds()))
		}
		c.span.SetAttributes(attribute.Int("modelgateway.attempts", int(c.attempts.Load())))
		fail(c.span, end.Err)
	}
	c.span.End()
}

func (e ChatEnd) attributes(all []attribute.KeyValue) []attribute.KeyValue {
	for _, a := range []struct{ name, value string }{
		{"gen_ai.provider.name", wellKnown(e.Provider)}, {"gen_ai.response.model", e.Model}, {"gen_ai.response.id", e.ID}, {"modelgateway.fallback", e.Fallback},
	} {
		if a.value != "" {
			all = append(all, attribute.String(a.name, bounded(a.value)))
		}
	}
	if len(e.FinishReasons) > 0 {
		all = append(all, attribute.StringSlice("gen_ai.response.finish_reasons", e.FinishReasons))
	}
	if e.Usage == nil {
		return all
	}
	all = append(all,
		attribute.Int64("gen_ai.usage.input_tokens", e.Usage.PromptTokens), // with those of caches, in the conventions as well
		attribute.Int64("gen_ai.usage.output_tokens", e.Usage.CompletionTokens),
	)
	if e.Priced {
		all = append(all, attribute.Float64("modelgateway.cost_usd", float64(e.Cost)/1e6))
	}
	if d := e.Usage.PromptTokensDetails; d != nil {
		all = append(all,
			attribute.Int64("gen_ai.usage.cache_read.input_tokens", d.CachedTokens),
			attribute.Int64("gen_ai.usage.cache_creation.input_tokens", d.CacheWriteTokens))
	}
	if d := e.Usage.CompletionTokensDetails; d != nil && d.ReasoningTokens > 0 {
		all = append(all, attribute.Int64("gen_ai.usage.reasoning.output_tokens", d.ReasoningTokens))
	}
	return all
}

// fail says in a span how it failed, if it did. Nobody is at fault for what
// was cancelled.
func fail(span trace.Span, err error) {
	if err == nil {
		return
	}
	what := errorType(err)
	span.SetAttributes(attribute.String("error.type", what))
	if what != canceled {
		span.SetStatus(codes.Error, "") // in no words: a provider's may quote the prompt
	}
}

const canceled = "canceled"

// errorType is the upstream's status where it has answered, or else our code.
func errorType(err error) string {
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
