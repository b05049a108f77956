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
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"modelgateway/config"
	"modelgateway/models/api"
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

// one makes the spans of one call, as the gateway does.
func one(ctx context.Context, t *Tracer, r *http.Request, req *api.ChatRequest) {
	ctx, request := t.Request(ctx, r, "/v1/chat/completions")
	ctx, chat := t.Chat(ctx, ChatStart{Provider: "openai", Request: req, RequestID: "req_1", KeyID: "key_1"})
	_, attempt := chat.Attempt(ctx, "openai", req.Model)
	attempt.FirstToken()
	attempt.Failed(nil)
	attempt.End()
	chat.End(ChatEnd{Provider: "openai", Model: req.Model, ID: "x", Usage: &usage, Priced: true, Cost: 12})
	request.End(http.StatusOK, "req_1")
}

var usage = api.Usage{PromptTokens: 3, CompletionTokens: 4, PromptTokensDetails: &api.PromptDetails{CachedTokens: 2, CacheWriteTokens: 1}, CompletionTokensDetails: &api.CompletionDetails{ReasoningTokens: 1}}

func TestTracingThatIsOffDoesNothing(t *testing.T) {
	tracer := New(Options{})
	if tracer != nil || tracer.Shutdown(t.Context()) != nil || tracer.Lost() != 0 {
		t.Fatal("not off")
	}
	ctx, r, req := t.Context(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil), &api.ChatRequest{Model: "gpt-4"}
	chatted, chat := tracer.Chat(ctx, ChatStart{Request: req})
	attempted, _ := chat.Attempt(ctx, "openai", "gpt-4")
	requested, _ := tracer.Request(ctx, r, "/")
	if chatted != ctx || attempted != ctx || requested != ctx || chat.Recording() {
		t.Error("another context, or a span")
	}
	if n := testing.AllocsPerRun(100, func() { one(ctx, tracer, r, req) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not happen in time: %s", what)
		}
	}
}

func TestSpansThatHaveNoRoomAreDroppedAndCounted(t *testing.T) {
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
		t.Errorf("%d lost, of %d with room for 8", n, all)
	}
	close(hold)
	waitFor(t, "the others are sent", func() bool { return taken.Load() == 8 })
	waitFor(t, "there is room again", func() bool { return tracer.waiting.spans.Load() == 0 })
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

func TestAPostIsTriedAgainWhereThatCanDo(t *testing.T) {
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	rejecting := string(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial))
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
		"rejected": {statuses: []int{200}, answer: rejecting, posts: 1, lost: 1},
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
			waitFor(t, "it is sent", func() bool { return done.Load() == tt.posts && tracer.waiting.spans.Load() == 0 })
			if posts.Load() != tt.posts || tracer.Lost() != tt.lost {
				t.Errorf("%d posts, %d lost; want %d, %d", posts.Load(), tracer.Lost(), tt.posts, tt.lost)
			}
		})
	}
}

func TestTheLogIsToldOnceAMinute(t *testing.T) {
	now := time.Unix(1e9, 0)
	var log bytes.Buffer
	e := newExporter(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now }}, &waiting{})
	for i, want := range []int{1, 1, 2} {
		e.failed(5, errors.New("gone"))
		if n := strings.Count(log.String(), "traces are lost"); n != want {
			t.Errorf("told %d times after failure %d", n, i+1)
		}
		now = now.Add(40 * time.Second)
	}
	if !strings.Contains(log.String(), "spans=10") || e.lost.Load() != 15 {
		t.Errorf("%d lost: %s", e.lost.Load(), log.String())
	}
}

func TestShutdownSendsWhatWaitsButNotForEver(t *testing.T) {
	var taken atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		taken.Add(int64(len(spans(t, body))))
	}))
	defer server.Close()
	frozen := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client leaves
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
		began := time.Now()
		err := tracer.Shutdown(t.Context())
		if took := time.Since(began); err != nil || took > farewell+giveUp || tracer.Lost() != lost || tracer.waiting.spans.Load() != 0 {
			t.Errorf("%v after %v, %d lost", err, took, tracer.Lost())
		}
	}
	if taken.Load() != 7 {
		t.Errorf("%d spans were sent", taken.Load())
	}
}

// Every kind of value, and what is no UTF-8, arrives as protobuf's own library
// reads it.
func TestSpansAreWrittenAsOTLP(t *testing.T) {
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
			attribute.String("s", ""), attribute.Bool("b", true), attribute.Int64("i", -1), attribute.Float64("f", 0.5), attribute.StringSlice("l", []string{"", "x"}),
		},
		Events: []sdk.Event{{Name: "e", Time: at}}, DroppedAttributes: 2,
	}
	all := spans(t, encode([]sdk.ReadOnlySpan{stub.Snapshot(), stub.Snapshot()}))
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
		"s": `string_value:""`, "b": "bool_value:true", "i": "int_value:-1", "f": "double_value:0.5", "l": `array_value:{values:{string_value:""} values:{string_value:"x"}}`,
	} {
		if v[key] != want {
			t.Errorf("%s is %s, not %s", key, v[key], want)
		}
	}
}

func TestAttemptsAreNumberedAndCostsAreDollars(t *testing.T) {
	got := make(chan []*tracepb.Span, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- spans(t, body)
	}))
	defer server.Close()
	cfg := settings(server.URL)
	cfg.ScheduleDelay = time.Hour
	tracer := begin(t, cfg, io.Discard)
	one(t.Context(), tracer, httptest.NewRequest(http.MethodPost, "/v1/chat/completions?key=secret", nil), &api.ChatRequest{Model: strings.Repeat("m", 1000)})
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := map[string]string{}
	for _, s := range <-got {
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
		"SPAN_KIND_CLIENT gen_ai.usage.input_tokens":                  "", // what sums them up would count them twice
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
			ctx, r, req := context.Background(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil), &api.ChatRequest{Model: "gpt-4"}
			for b.Loop() {
				one(ctx, tracer, r, req)
			}
		})
	}
}
