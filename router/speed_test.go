package router

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/controllers"
	"modelgateway/llm"
	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/services/auth"
	"modelgateway/services/conversation"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
	"modelgateway/services/metrics"
	"modelgateway/services/origin"
	"modelgateway/services/pool"
	"modelgateway/services/ratelimit"
	"modelgateway/services/registry"
	"modelgateway/services/routing"
	"modelgateway/services/signin"
)

// ready is a provider that answers at once.
type ready struct{}

func (r ready) Abilities() providers.Abilities {
	return providers.Abilities{PrepareEmbeddings: r.Prepare}
}

func (ready) Prepare(call providers.Call) (providers.Exchange, error) {
	return answering{stream: call.Request.Stream}, nil
}

// answering is a request to that provider, answered whole or as a stream.
type answering struct{ stream bool }

func (answering) Properties() providers.Properties { return providers.Properties{} }

func (a answering) Open(context.Context, string) (llm.Stream, error) {
	if a.stream {
		return thousandPieces, nil
	}
	return wholeAnswer, nil
}

var (
	answerHead  = llm.Head{ID: "1", Model: "m"}
	answerUsage = llm.Usage{Input: 9, Output: 1}
	answerEvent = llm.Event{
		Kind: llm.EventAnswer, Head: &answerHead, Raw: []byte(`{"id":"1"}`), RawDialect: llm.Chat, Usage: &answerUsage,
	}
)

func wholeAnswer(yield func(*llm.Event, error) bool) { yield(&answerEvent, nil) }

func thousandPieces(yield func(*llm.Event, error) bool) {
	e := llm.NewEmitter(yield, answerHead)
	for range 1000 {
		if !e.Text(0, "piece") || !e.Pause() {
			return
		}
	}
	e.Usage(&answerUsage)
}

// gateway handles a whole chat request except for the network and the provider:
// a key is checked, the limit is counted, the log is written.
func gateway(tb testing.TB) (handler http.Handler, key string) {
	tb.Helper()
	return gatewayWith(tb, filepath.Join(tb.TempDir(), "gateway.db"), func(*models.Store, *inference.Service) {})
}

// gatewayWith is gateway with a database in a file and a service that has more parts.
func gatewayWith(
	tb testing.TB, file string, add func(*models.Store, *inference.Service), change ...func(*Options),
) (handler http.Handler, key string) {
	tb.Helper()
	store, err := models.Open("sqlite:" + file)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close() })
	if err := store.Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	keys := auth.NewKeys(auth.KeyOptions{Store: store, Log: log, Now: time.Now})
	user := models.User{ID: "user_1", Email: "a@example.com", CreatedAt: 1}
	if err := store.CreateUser(tb.Context(), &user); err != nil {
		tb.Fatal(err)
	}
	_, key, err = keys.Create(tb.Context(), user.ID, api.NewKey{Name: "speed"})
	if err != nil {
		tb.Fatal(err)
	}
	list, err := catalog.Load("")
	if err != nil {
		tb.Fatal(err)
	}
	upstreams := pool.Set{
		catalog.OpenAI: pool.NewUpstream(catalog.OpenAI, ready{}, []config.Secret{config.NewSecret("key")}, time.Now),
	}
	calls := &inference.Service{Now: time.Now, Answer: inference.Answered()}
	calls.Use(&routing.Router{Models: registry.New(list, upstreams.Serves, time.Now), Upstreams: upstreams, Now: time.Now})
	add(store, calls)
	limit, err := ratelimit.NewRequests(ratelimit.RequestOptions{Name: "calls", PerMinute: 1 << 30, Log: log})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		keys.Run(ctx)
	}()
	tb.Cleanup(func() {
		cancel()
		<-done
	})
	opts := Options{
		Generate: controllers.Generate{
			Service: calls, Conversations: &conversation.Service{Router: calls.Router}, Origins: origin.New(store, log, time.Now),
			Concurrency: inflight.New(1<<20, 1<<20, 1<<40), MaxBytes: 1 << 20, KeepAlive: time.Minute, Now: time.Now,
		},
		Callers: middleware.Auth{Required: true, Keys: keys}, CallLimit: limit, AuthLimit: limit,
		Models: &controllers.Models{}, Health: &controllers.Health{}, Docs: &controllers.Docs{},
		Metrics: &controllers.Metrics{}, Counted: metrics.New(),
		Auth: &controllers.Auth{}, Keys: &controllers.Keys{}, Admin: &controllers.Admin{}, IDP: &controllers.IDP{},
		SignIn: &controllers.SignIn{Service: new(signin.Service)},
		Log:    log, Now: time.Now,
	}
	for _, f := range change {
		f(&opts)
	}
	h, err := New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	return h, key
}

// sink takes an answer without keeping it.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(n int)   { s.status = n }
func (s *sink) Flush()              {}
func (s *sink) Write(b []byte) (int, error) {
	s.bytes += len(b)
	return len(b), nil
}

func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

const request = `{"model":"gpt-4","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What is the tide?"}],"max_tokens":256,"temperature":0.7`

// call makes one request, which is answered.
func call(tb testing.TB, h http.Handler, key, body string) *sink {
	w := send(h, key, body)
	if w.status != http.StatusOK {
		tb.Fatalf("status %d", w.status)
	}
	return w
}

func send(h http.Handler, key, body string) *sink {
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	r.Header["Authorization"] = []string{"Bearer " + key}
	r.Header["Content-Type"] = []string{"application/json"}
	w := &sink{header: http.Header{}}
	h.ServeHTTP(w, r)
	return w
}

func BenchmarkAnswer(b *testing.B) {
	h, key := gateway(b)
	b.ReportAllocs()
	for b.Loop() {
		call(b, h, key, request+"}")
	}
}

func BenchmarkChunk(b *testing.B) {
	h, key := gateway(b)
	b.ReportAllocs()
	for n := 0; n < b.N; n += 1000 {
		call(b, h, key, request+`,"stream":true}`)
	}
}
