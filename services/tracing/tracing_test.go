package tracing

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"modelgateway/config"
	"modelgateway/llm"
	"modelgateway/tests/longtest"
)

// settings are the defaults, with spans sent at once.
func settings(endpoint string) config.Tracing {
	return config.Tracing{
		Endpoint: endpoint, Timeout: time.Second, Service: "modelgateway", Propagate: true,
		Sampler: "parentbased_always_on", SampleRatio: 1, QueueSize: 8, BatchSize: 4,
		ScheduleDelay: time.Millisecond, ExportTimeout: 10 * time.Second,
	}
}

func begin(t testing.TB, cfg config.Tracing, log io.Writer) *Tracer {
	t.Helper()
	tracer := New(Options{Config: cfg, Version: "1", Log: slog.New(slog.NewTextHandler(log, nil)), Now: time.Now})
	t.Cleanup(func() { _ = tracer.Shutdown(context.Background()) })
	return tracer
}

// traceCall makes the spans of one call, as the gateway does.
func traceCall(ctx context.Context, t *Tracer, r *http.Request, req *llm.Request) {
	ctx, request := t.Request(ctx, r, "/v1/chat/completions")
	ctx, chat := t.Chat(ctx, ChatStart{Provider: "openai", Request: req, RequestID: "req_1", KeyID: "key_1"})
	_, attempt := chat.Attempt(ctx, "openai", req.Model)
	attempt.FirstToken()
	attempt.Failed(nil)
	attempt.End()
	chat.End(ChatEnd{Provider: "openai", Model: req.Model, ID: "x", Usage: &usage, Priced: true, Cost: 12})
	request.End(http.StatusOK, "req_1")
}

var usage = llm.Usage{Input: 3, Output: 4, HasCache: true, Cached: 2, CacheWrite: 1, HasReasoning: true, Reasoning: 1}

func TestTracingThatIsOffDoesNothing(t *testing.T) {
	tracer := New(Options{})
	if tracer != nil || tracer.Shutdown(t.Context()) != nil || tracer.Lost() != 0 {
		t.Fatal("not off")
	}
	ctx, r, req := t.Context(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil), &llm.Request{Choices: 1, Model: "gpt-4"}
	chatted, chat := tracer.Chat(ctx, ChatStart{Request: req})
	attempted, _ := chat.Attempt(ctx, "openai", "gpt-4")
	requested, _ := tracer.Request(ctx, r, "/")
	if chatted != ctx || attempted != ctx || requested != ctx || chat.Recording() {
		t.Error("another context, or a span")
	}
	traceCall(ctx, tracer, r, req)
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not happen in time: %s", what)
		}
	}
}

func TestSpansThatDoNotFitTheQueueAreDroppedAndCounted(t *testing.T) {
	hold := make(chan struct{})
	var taken atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-hold
		body, _ := io.ReadAll(r.Body)
		taken.Add(int64(len(spans(t, body))))
	}))
	defer server.Close()
	cfg := settings(server.URL)
	cfg.Timeout = 10 * time.Second
	tracer := begin(t, cfg, io.Discard)
	const all = 100
	for range all {
		_, span := tracer.Request(t.Context(), httptest.NewRequest(http.MethodGet, "/v1/models", nil), "/v1/models")
		span.End(http.StatusOK, "r")
	}
	if n := tracer.Lost(); n != all-8 {
		t.Errorf("%d lost, of %d with a queue of 8", n, all)
	}
	close(hold)
	waitFor(t, "the others are sent", func() bool { return taken.Load() == 8 })
	waitFor(t, "the queue is empty", func() bool { return tracer.queue.pending.Load() == 0 })
	if n := tracer.Lost(); n != all-8 {
		t.Errorf("%d lost in the end", n)
	}
}

func spans(t testing.TB, body []byte) []*tracepb.Span {
	t.Helper()
	var data tracepb.TracesData
	if err := proto.Unmarshal(body, &data); err != nil {
		t.Error(err)
		return nil
	}
	if len(data.ResourceSpans) == 0 {
		return nil
	}
	return data.ResourceSpans[0].ScopeSpans[0].Spans
}

func TestAPostIsRetriedIfTheCollectorMayAcceptItLater(t *testing.T) {
	for name, tt := range map[string]struct {
		statuses []int // of the posts; the last for all others
		answer   string
		posts    int64
		lost     int64
	}{
		"taken":    {statuses: []int{200}, posts: 1},
		"later":    {statuses: []int{503, 429, 200}, posts: 3},
		"refused":  {statuses: []int{400}, posts: 1, lost: 1},
		"moved":    {statuses: []int{307}, posts: 1, lost: 1},
		"our key":  {statuses: []int{401}, posts: 1, lost: 1},
		"rejected": {statuses: []int{200}, answer: rejecting(t, 1), posts: 1, lost: 1},
		"nonsense": {statuses: []int{200}, answer: "\xff\xff\xff", posts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var posts, done atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n := posts.Add(1)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.statuses[min(int(n), len(tt.statuses))-1])
				_, _ = io.WriteString(w, tt.answer)
				done.Add(1)
			}))
			defer server.Close()
			tracer := begin(t, settings(server.URL), io.Discard)
			_, span := tracer.Request(t.Context(), httptest.NewRequest(http.MethodGet, "/v1/models", nil), "/v1/models")
			span.End(http.StatusOK, "r")
			waitFor(t, "it is sent", func() bool { return done.Load() == tt.posts && tracer.queue.pending.Load() == 0 })
			if posts.Load() != tt.posts || tracer.Lost() != tt.lost {
				t.Errorf("%d posts, %d lost; want %d, %d", posts.Load(), tracer.Lost(), tt.posts, tt.lost)
			}
		})
	}
}

// rejecting is the body of an answer that accepts the post and rejects spans.
func rejecting(t testing.TB, spans int64) string {
	t.Helper()
	body, err := proto.Marshal(&collectorpb.ExportTraceServiceResponse{
		PartialSuccess: &collectorpb.ExportTracePartialSuccess{RejectedSpans: spans, ErrorMessage: "too old"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestOnlyTheRejectedSpansOfABatchAreLost(t *testing.T) {
	for said, lost := range map[int64]int64{0: 0, 1: 1, 3: 3, 99: 3, -1: 0} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, rejecting(t, said))
		}))
		e := newExporter(Options{Config: settings(server.URL), Log: slog.New(slog.DiscardHandler), Now: time.Now}, &countingQueue{})
		span := tracetest.SpanStub{Name: "n"}.Snapshot()
		if err := e.ExportSpans(t.Context(), []sdk.ReadOnlySpan{span, span, span}); err != nil || e.lost.Load() != lost {
			t.Errorf("%d rejected: %v, %d lost", said, err, e.lost.Load())
		}
		server.Close()
	}
}

func TestFailuresAreLoggedOnceAMinute(t *testing.T) {
	now := time.Unix(1e9, 0)
	var log bytes.Buffer
	e := newExporter(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now }}, &countingQueue{})
	for i, want := range []int{1, 1, 2} {
		e.failed(5, errors.New("gone"))
		if n := strings.Count(log.String(), "traces are lost"); n != want {
			t.Errorf("logged %d times after failure %d", n, i+1)
		}
		now = now.Add(40 * time.Second)
	}
	if !strings.Contains(log.String(), "spans=10") || e.lost.Load() != 15 {
		t.Errorf("%d lost: %s", e.lost.Load(), log.String())
	}
}

func TestTheLogHasNoAddressOfACollector(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, address := range []string{closed.URL + "/v1/canary?token=canary", "http://[canary"} {
		cfg := settings(address)
		cfg.ExportTimeout = 100 * time.Millisecond // which leaves no time for a second post
		var log bytes.Buffer
		e := newExporter(Options{Config: cfg, Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now}, &countingQueue{})
		ctx, cancel := context.WithTimeout(t.Context(), cfg.ExportTimeout)
		_ = e.ExportSpans(ctx, []sdk.ReadOnlySpan{tracetest.SpanStub{Name: "n"}.Snapshot()})
		cancel()
		if text := log.String(); !strings.Contains(text, "post spans: ") || strings.Contains(text, "canary") {
			t.Errorf("%s: the log: %s", address, text)
		}
	}
}

func TestShutdownSendsTheQueueWithinItsDeadline(t *testing.T) {
	var taken atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		taken.Add(int64(len(spans(t, body))))
	}))
	defer server.Close()
	frozen := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client disconnects
		<-r.Context().Done()
	}))
	defer frozen.Close()
	for address, lost := range map[string]int64{server.URL: 0, frozen.URL: 7} {
		cfg := settings(address)
		cfg.ScheduleDelay, cfg.Timeout = time.Hour, time.Minute
		cfg.ExportTimeout = time.Minute
		tracer := begin(t, cfg, io.Discard)
		for range 7 {
			_, span := tracer.Request(t.Context(), httptest.NewRequest(http.MethodGet, "/v1/models", nil), "/v1/models")
			span.End(http.StatusOK, "r")
		}
		began, late := time.Now(), longtest.Lateness(t)
		err := tracer.Shutdown(t.Context())
		took := time.Since(began)
		if err != nil || took > flushTimeout+abortTimeout+late() || tracer.Lost() != lost || tracer.queue.pending.Load() != 0 {
			t.Errorf("%v after %v, %d lost", err, took, tracer.Lost())
		}
	}
	if taken.Load() != 7 {
		t.Errorf("%d spans were sent", taken.Load())
	}
}

// Every type of value arrives, and invalid UTF-8 is replaced: protobuf refuses a
// whole message for one such byte.
func TestSpansAreEncodedAsOTLP(t *testing.T) {
	state, err := trace.ParseTraceState("a=1")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1700000000, 5)
	of := trace.NewSpanContext(trace.SpanContextConfig{TraceID: [16]byte{1}, SpanID: [8]byte{2}, TraceFlags: 1, TraceState: state})
	stub := tracetest.SpanStub{
		Name: "n\xff", SpanContext: of, SpanKind: trace.SpanKindClient, StartTime: at, EndTime: at.Add(time.Second),
		Parent: trace.NewSpanContext(trace.SpanContextConfig{TraceID: [16]byte{1}, SpanID: [8]byte{3}, Remote: true}),
		Attributes: []attribute.KeyValue{
			attribute.String("s", ""), attribute.Bool("b", true), attribute.Int64("i", -1), attribute.Float64("f", 0.5),
			attribute.StringSlice("l", []string{"", "x"}),
		},
		Events: []sdk.Event{{Name: "e", Time: at}}, DroppedAttributes: 2,
	}
	body, err := newClient(config.Tracing{}).encode(exportRequest([]sdk.ReadOnlySpan{stub.Snapshot(), stub.Snapshot()}))
	if err != nil {
		t.Fatal(err)
	}
	all := spans(t, body)
	if len(all) != 2 {
		t.Fatal(all)
	}
	s := all[1]
	if s.Name != "n\ufffd" || s.TraceId[0] != 1 || s.SpanId[0] != 2 || s.ParentSpanId[0] != 3 || s.TraceState != "a=1" ||
		s.Kind != tracepb.Span_SPAN_KIND_CLIENT || s.StartTimeUnixNano != uint64(at.UnixNano()) || s.EndTimeUnixNano != uint64(at.UnixNano())+1e9 ||
		s.Flags != 0x301 || s.DroppedAttributesCount != 2 || s.Events[0].Name != "e" || s.Events[0].TimeUnixNano != uint64(at.UnixNano()) {
		t.Errorf("%v", s)
	}
	v := map[string]string{}
	for _, a := range s.Attributes {
		v[a.Key] = strings.ReplaceAll(a.Value.String(), "  ", " ")
	}
	for key, want := range map[string]string{
		"s": `string_value:""`, "b": "bool_value:true", "i": "int_value:-1", "f": "double_value:0.5",
		"l": `array_value:{values:{string_value:""} values:{string_value:"x"}}`,
	} {
		if v[key] != want {
			t.Errorf("%s is %s, not %s", key, v[key], want)
		}
	}
}

// sentSpans are the spans of one call.
func sentSpans(t *testing.T, req *llm.Request) []*tracepb.Span {
	t.Helper()
	got := make(chan []*tracepb.Span, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- spans(t, body)
	}))
	defer server.Close()
	cfg := settings(server.URL)
	cfg.ScheduleDelay = time.Hour
	tracer := begin(t, cfg, io.Discard)
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions?key=secret", nil)
	traceCall(t.Context(), tracer, r, req)
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return <-got
}

func TestSpansAreNamedAfterTheOperation(t *testing.T) {
	for kind, want := range map[llm.Kind]string{llm.KindChat: "chat", llm.KindEmbedding: "embeddings"} {
		n := 0
		for _, s := range sentSpans(t, &llm.Request{Kind: kind, Choices: 1, Model: "m"}) {
			for _, a := range s.Attributes {
				if a.Key != "gen_ai.operation.name" {
					continue
				}
				n++
				if got := a.Value.GetStringValue(); got != want || !strings.HasPrefix(s.Name, want+" ") {
					t.Errorf("%s: the operation of %q is %s", kind, s.Name, got)
				}
			}
		}
		if n != 2 {
			t.Errorf("%s: %d spans have an operation, of a call and its attempt", kind, n)
		}
	}
}

func TestAttemptsAreNumberedAndCostsAreDollars(t *testing.T) {
	v := map[string]string{}
	for _, s := range sentSpans(t, &llm.Request{Choices: 1, Model: strings.Repeat("m", 1000)}) {
		for _, a := range s.Attributes {
			v[s.Kind.String()+" "+a.Key] = strings.ReplaceAll(a.Value.String(), "  ", " ")
		}
		if len(s.Name) > 200 {
			t.Errorf("a name of %d bytes", len(s.Name))
		}
	}
	for key, want := range map[string]string{
		"SPAN_KIND_SERVER url.path":                                   `string_value:"/v1/chat/completions"`,
		"SPAN_KIND_CLIENT modelgateway.attempt":                       "int_value:1",
		"SPAN_KIND_INTERNAL modelgateway.cost_usd":                    "double_value:1.2e-05",
		"SPAN_KIND_INTERNAL modelgateway.key_id":                      `string_value:"key_1"`,
		"SPAN_KIND_INTERNAL gen_ai.usage.cache_read.input_tokens":     "int_value:2",
		"SPAN_KIND_INTERNAL gen_ai.usage.cache_creation.input_tokens": "int_value:1",
		"SPAN_KIND_INTERNAL gen_ai.usage.reasoning.output_tokens":     "int_value:1",
		"SPAN_KIND_CLIENT gen_ai.usage.input_tokens":                  "", // a sum over all spans would count them twice
	} {
		if v[key] != want {
			t.Errorf("%s is %s, not %s", key, v[key], want)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	off := config.Tracing{}
	all, none := settings(server.URL), settings(server.URL)
	all.QueueSize, all.BatchSize, all.ScheduleDelay = 2048, 512, 5*time.Second
	unsent := all
	unsent.ScheduleDelay, unsent.BatchSize, unsent.QueueSize = time.Hour, 1<<20, 1<<20
	none.Sampler = "always_off"
	for _, bb := range []struct {
		name string
		cfg  config.Tracing
	}{{"off", off}, {"all", all}, {"all but the export", unsent}, {"none", none}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			tracer := begin(b, bb.cfg, io.Discard)
			ctx, req := context.Background(), &llm.Request{Choices: 1, Model: "gpt-4"}
			r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil)
			for b.Loop() {
				traceCall(ctx, tracer, r, req)
			}
		})
	}
}
