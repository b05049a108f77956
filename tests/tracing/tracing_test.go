package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// traceCollector is an OTLP collector that keeps all spans.
type traceCollector struct {
	*httptest.Server

	mu      sync.Mutex
	spans   []*tracepb.Span
	raw     []byte // of all posts, decompressed
	service string
	header  http.Header // of the last post
}

func startCollector(t testing.TB) *traceCollector {
	c := &traceCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { c.take(t, r) }))
	t.Cleanup(c.Close)
	return c
}

func (c *traceCollector) take(t testing.TB, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var unzipped *gzip.Reader
		if unzipped, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(unzipped)
		}
	}
	var data tracepb.TracesData // the same on the wire as an ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &data)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s: %v", r.URL.Path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw, c.header = append(c.raw, body...), r.Header
	for _, resource := range data.ResourceSpans {
		c.service = attrs(resource.Resource.Attributes)["service.name"].GetStringValue()
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// wait waits for n spans and returns them in the order in which they began.
func (c *traceCollector) wait(t testing.TB, n int) []*tracepb.Span {
	t.Helper()
	var all []*tracepb.Span
	gatewaytest.Until(t, "the spans have come", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		all = slices.Clone(c.spans)
		return len(all) >= n
	})
	if len(all) > n {
		t.Fatalf("%d spans, not %d: %v", len(all), n, all)
	}
	slices.SortStableFunc(all, func(a, b *tracepb.Span) int { return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano)) })
	return all
}

func (c *traceCollector) settings() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=20"}
}

func attrs(all []*commonpb.KeyValue) map[string]*commonpb.AnyValue {
	m := map[string]*commonpb.AnyValue{}
	for _, a := range all {
		m[a.Key] = a.Value
	}
	return m
}

// check compares a span with what is wanted of it: the attributes by name, as
// texts and numbers, nil for one that must be absent.
func check(t testing.TB, s *tracepb.Span, name string, kind tracepb.Span_SpanKind, parent []byte, want map[string]any) {
	t.Helper()
	if s.Name != name || s.Kind != kind || !bytes.Equal(s.ParentSpanId, parent) || s.EndTimeUnixNano < s.StartTimeUnixNano {
		t.Errorf("%v %q under %x; want %v %q under %x", s.Kind, s.Name, s.ParentSpanId, kind, name, parent)
	}
	have := attrs(s.Attributes)
	for key, value := range want {
		v, ok := have[key]
		var got any
		switch value.(type) {
		case nil:
			if ok {
				t.Errorf("%s: has %s %v", name, key, v)
			}
			continue
		case int:
			got = int(v.GetIntValue())
		case bool:
			got = v.GetBoolValue()
		case float64:
			got = v.GetDoubleValue()
		case string:
			got = v.GetStringValue()
			for _, item := range v.GetArrayValue().GetValues() {
				got = got.(string) + item.GetStringValue() + ";"
			}
		}
		if !ok || got != value {
			t.Errorf("%s: %s is %v, not %v", name, key, v, value)
		}
	}
}

const (
	inboundTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	inboundSpan  = "00f067aa0ba902b7"
	canary       = "canary-5c1d"
)

var remoteContext = []string{
	"Traceparent", "00-" + inboundTrace + "-" + inboundSpan + "-01", "Tracestate", "vendor=1", "Baggage", "user=" + canary,
	"X-Request-Id", "my-request",
}

func span(t testing.TB, text string) []byte {
	t.Helper()
	id, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// checkPropagated checks that the upstream got the span's context and no baggage.
func checkPropagated(t testing.TB, r providertest.Request, s *tracepb.Span) {
	t.Helper()
	want := "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"
	if r.Header.Get("Traceparent") != want || r.Header.Get("Tracestate") != "vendor=1" || r.Header.Get("Baggage") != "" {
		t.Errorf("the upstream was sent %q, %q, %q; want %q", r.Header.Get("Traceparent"), r.Header.Get("Tracestate"),
			r.Header.Get("Baggage"), want)
	}
}

// conventionNames are the providers' names in OpenTelemetry's conventions.
var conventionNames = map[string]string{"openai": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini"}

func TestTraceHasSpansForTheRequestTheChatAndEachAttempt(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		for _, members := range []string{"", gatewaytest.Streaming} {
			t.Run(f.Name+members, func(t *testing.T) {
				t.Parallel()
				c, u := startCollector(t), providertest.Serve(t)
				p := gatewaytest.Start(t, append(c.settings(), f.EnvPrefix+"_API_KEY=sk-"+canary, f.EnvPrefix+"_BASE_URL="+u.URL)...)
				u.Play(gatewaytest.JSON(500, `{"error":{"message":"`+canary+`"}}`), f.WholeAnswer(members, canary))
				body := strings.TrimSuffix(
					f.Request(members+`,"max_tokens":7,"temperature":0.5,"top_p":0.25,"user":"`+canary+`"`),
					"}",
				) + "}"
				body = strings.Replace(body, `"content":"`, `"content":"`+canary+` `, 1)
				a := p.Chat(t, body, append([]string{
					"X-Api-Key", "sk-" + canary, "X-Session-Id", "ses_1", "X-Gateway-Project", "web",
				}, remoteContext...)...)
				if a.Status != 200 || gatewaytest.TextOf(a.Body) != canary || !strings.Contains(body, `"content":"`+canary) {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				all := c.wait(t, 4)
				server, chat, one, two := all[0], all[1], all[2], all[3]
				for _, s := range all {
					if hex.EncodeToString(s.TraceId) != inboundTrace || s.TraceState != "vendor=1" {
						t.Errorf("%s is of trace %x, %q", s.Name, s.TraceId, s.TraceState)
					}
				}
				check(t, server, "POST /v1/chat/completions", tracepb.Span_SPAN_KIND_SERVER, span(t, inboundSpan), map[string]any{
					"http.request.method": "POST", "http.route": "/v1/chat/completions", "url.path": "/v1/chat/completions", "url.scheme": "http",
					"http.response.status_code": 200, "modelgateway.request_id": "my-request", "error.type": nil,
				})
				name, system := "chat "+f.Model, conventionNames[f.Name]
				want := map[string]any{
					"gen_ai.operation.name": "chat", "gen_ai.provider.name": system, "gen_ai.request.model": f.Model, "gen_ai.request.stream": members != "",
					"gen_ai.request.max_tokens": 7, "gen_ai.request.temperature": 0.5, "gen_ai.request.top_p": 0.25, "gen_ai.request.seed": nil,
					"gen_ai.conversation.id": "ses_1", "modelgateway.project": "web",
					"gen_ai.response.id": idOf(a.Body), "gen_ai.response.finish_reasons": "stop;",
					"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4,
					"modelgateway.request_id": "my-request", "modelgateway.attempts": 2, "modelgateway.fallback": nil, "error.type": nil,
				}
				if members == "" {
					want["gen_ai.response.time_to_first_chunk"] = nil
				} else if attrs(chat.Attributes)["gen_ai.response.time_to_first_chunk"].GetDoubleValue() <= 0 {
					t.Error("no time to the first chunk")
				}
				check(t, chat, name, tracepb.Span_SPAN_KIND_INTERNAL, server.SpanId, want)
				port := u.URL[strings.LastIndex(u.URL, ":")+1:]
				for i, s := range []*tracepb.Span{one, two} {
					check(t, s, name, tracepb.Span_SPAN_KIND_CLIENT, chat.SpanId, map[string]any{
						"gen_ai.operation.name": "chat", "gen_ai.provider.name": system, "gen_ai.request.model": f.Model,
						"modelgateway.attempt": i + 1, "server.address": "127.0.0.1", "http.response.status_code": []int{500, 200}[i], "error.type": []any{"500", nil}[i],
					})
					if got := attrs(s.Attributes)["server.port"].GetIntValue(); port != itoa(got) {
						t.Errorf("port %d, not %s", got, port)
					}
					checkPropagated(t, u.Requests()[i], s)
				}
				if one.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || two.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET ||
					chat.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET {
					t.Errorf("statuses %v, %v, %v", one.Status, two.Status, chat.Status)
				}
				if events := len(two.Events); len(one.Events) != 0 || events != strings.Count(members, "stream") {
					t.Errorf("%d and %d events", len(one.Events), events)
				}
				c.checkHoldsNoCanary(t)
			})
		}
	}
}

func idOf(body string) string {
	_, after, _ := strings.Cut(body, `"id":"`)
	id, _, _ := strings.Cut(after, `"`)
	return id
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// checkHoldsNoCanary checks that no trace holds a prompt, an answer or a name of
// the caller.
func (c *traceCollector) checkHoldsNoCanary(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Contains(c.raw, []byte(canary)) || len(c.raw) == 0 {
		t.Errorf("%d bytes, with the canary: %q", len(c.raw), c.raw)
	}
}

func TestTraceShowsAFallback(t *testing.T) {
	t.Parallel()
	for _, members := range []string{"", gatewaytest.Streaming} {
		f := gatewaytest.Providers()[0]
		c := startCollector(t)
		p, own, other, by := gatewaytest.StartWithFallback(t, f, append(c.settings(), "MAX_RETRIES=0")...)
		failing := gatewaytest.JSON(503, `{}`)
		failing.Header.Set("X-Request-Id", "req_own")
		own.Play(failing)
		other.Play(by.WholeAnswer(members, "instead"))
		if a := p.Chat(t, f.Request(members), remoteContext...); a.Status != 200 || gatewaytest.TextOf(a.Body) != "instead" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		all := c.wait(t, 4)
		check(t, all[1], "chat "+f.Model, tracepb.Span_SPAN_KIND_INTERNAL, all[0].SpanId, map[string]any{
			"gen_ai.provider.name": by.Name, "gen_ai.request.model": f.Model, "modelgateway.fallback": by.Model, "error.type": nil,
		})
		check(t, all[2], "chat "+f.Model, tracepb.Span_SPAN_KIND_CLIENT, all[1].SpanId,
			map[string]any{"gen_ai.provider.name": f.Name, "error.type": "503", "modelgateway.attempt": 1, "modelgateway.upstream_request_id": "req_own"})
		check(t, all[3], "chat "+by.Model, tracepb.Span_SPAN_KIND_CLIENT, all[1].SpanId,
			map[string]any{"gen_ai.provider.name": by.Name, "error.type": nil, "modelgateway.attempt": 2})
		checkPropagated(t, own.Requests()[0], all[2])
		checkPropagated(t, other.Requests()[0], all[3])
	}
}

func TestTraceEndsHoweverAStreamEnds(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	c, u := startCollector(t), providertest.Serve(t)
	p := gatewaytest.Start(
		t,
		append(c.settings(), "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, "OTEL_SERVICE_NAME=edge",
			"OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20abc")...)
	u.Play(gatewaytest.Events(providertest.Proper, f.Start, f.Text("a"), f.ErrorEvent))
	p.Chat(t, f.Request(gatewaytest.Streaming))
	all := c.wait(t, 3)
	for _, s := range all[1:] {
		if s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("%s: %v", s.Name, s)
		}
	}
	check(t, all[1], "chat "+f.Model, tracepb.Span_SPAN_KIND_INTERNAL, all[0].SpanId, map[string]any{"error.type": "500"})
	check(t, all[2], "chat "+f.Model, tracepb.Span_SPAN_KIND_CLIENT, all[1].SpanId,
		map[string]any{"error.type": "500", "http.response.status_code": 200})

	u.Play(gatewaytest.Events(providertest.Hold, f.Start, f.Text("a")))
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(
		ctx, http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(f.Request(gatewaytest.Streaming)),
	)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	_ = resp.Body.Close()
	chat := c.wait(t, 6)[4]
	check(t, chat, "chat "+f.Model, tracepb.Span_SPAN_KIND_INTERNAL, chat.ParentSpanId, map[string]any{"error.type": "canceled"})
	c.mu.Lock()
	defer c.mu.Unlock()
	if chat.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET || c.service != "edge" || c.header.Get("Authorization") != "Bearer abc" {
		t.Errorf("%v, %s, %v", chat.Status, c.service, c.header)
	}
}

func TestSampledFlagOfTheClientDecidesAboutItsTrace(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	c, u := startCollector(t), providertest.Serve(t, f.WholeAnswer("", "fine"))
	p := gatewaytest.Start(t, append(c.settings(), "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)...)
	p.Chat(t, f.Request(""), "Traceparent", "00-"+inboundTrace+"-"+inboundSpan+"-00")
	sent := u.Requests()[0].Header.Get("Traceparent")
	if !strings.HasPrefix(sent, "00-"+inboundTrace+"-") || !strings.HasSuffix(sent, "-00") || strings.Contains(sent, inboundSpan) {
		t.Errorf("the upstream was sent %q", sent)
	}
	p.Get(t, "/livez")
	p.Get(t, "/v1/models")
	if s := c.wait(t, 1)[0]; s.Name != "GET /v1/models" || len(s.ParentSpanId) != 0 || hex.EncodeToString(s.TraceId) == inboundTrace {
		t.Errorf("%v", s)
	}
	p.Call(t, http.MethodGet, "/"+canary, "")
	check(t, c.wait(t, 2)[1], "GET", tracepb.Span_SPAN_KIND_SERVER, nil, map[string]any{"url.path": nil, "http.response.status_code": 404})
}

func TestNoTraceContextIsForwardedWithoutTracing(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	for name, settings := range map[string][]string{
		"off":      {},
		"disabled": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9", "OTEL_SDK_DISABLED=true"},
		"none":     {"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9", "OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		"unspread": append(startCollector(t).settings(), "OTEL_PROPAGATORS=none"),
	} {
		u := providertest.Serve(t, f.WholeAnswer("", "fine"))
		p := gatewaytest.Start(t, append(settings, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)...)
		p.Chat(t, f.Request(""), remoteContext...)
		for _, header := range []string{"Traceparent", "Tracestate", "Baggage"} {
			if got := u.Requests()[0].Header.Get(header); got != "" {
				t.Errorf("%s: the upstream was sent %s %q", name, header, got)
			}
		}
	}
}

func TestUnreachableOrFrozenCollectorDelaysNoRequest(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	f := gatewaytest.Providers()[0]
	for name, address := range map[string]string{"gone": "http://127.0.0.1:9", "frozen": "http://" + listener.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := providertest.Serve(t, f.WholeAnswer("", "fine"))
			p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, "OTEL_EXPORTER_OTLP_ENDPOINT="+address,
				"OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_BSP_MAX_QUEUE_SIZE=4", "OTEL_BSP_EXPORT_TIMEOUT=300")
			began, late := time.Now(), longtest.Lateness(t)
			for range 20 {
				if a := p.Chat(t, f.Request("")); a.Status != 200 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
			}
			if took := time.Since(began); took > 3*time.Second+late() {
				t.Errorf("20 calls took %v", took)
			}
			gatewaytest.Until(t, "the log tells of it", func() bool { return strings.Contains(p.Log.String(), "traces are lost") })
			began, late = time.Now(), longtest.Lateness(t)
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 5*time.Second+late() {
				t.Errorf("stopping took %v", took)
			}
			if n := strings.Count(p.Log.String(), "traces are lost"); n != 1 {
				t.Errorf("the log tells of it %d times", n)
			}
		})
	}
}

func TestUnsupportedTraceSettingsRefuseToStart(t *testing.T) {
	t.Parallel()
	_, err := gatewaytest.TryStart(t, "OTEL_TRACES_EXPORTER=zipkin", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_TRACES_SAMPLER=sometimes")
	for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_TRACES_SAMPLER"} {
		if err == nil || !strings.Contains(err.Error(), name+": ") {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
}
