package bedrock_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/catalog"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/anthropic"
	"modelgateway/providers/bedrock"
	"modelgateway/providers/providertest"
	"modelgateway/providers/sse"
)

const testKey = "bedrock-key-1"

func at(baseURL string) providers.Provider {
	return bedrock.New(providers.Options{
		BaseURL: baseURL, Region: "us-east-1", Now: time.Now, HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
	})
}

// framing is a server in front of one of Anthropic's that frames its streams as Bedrock does.
func framing(t testing.TB, of string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), r.Method, of+r.URL.Path, r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		kind := resp.Header.Get("Content-Type")
		w.Header().Set("Content-Type", kind)
		if !strings.HasPrefix(kind, "text/event-stream") {
			w.WriteHeader(resp.StatusCode)
			if _, err := io.Copy(w, resp.Body); err != nil {
				panic(http.ErrAbortHandler)
			}
			return
		}
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		w.WriteHeader(resp.StatusCode)
		events := sse.NewReader(resp.Body)
		defer events.Close()
		for {
			event, err := events.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write(chunk(t, event.Data))
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// chunk is an event in a frame. The last one has what Bedrock adds to it.
func chunk(t testing.TB, data []byte) []byte {
	const metrics = `,"amazon-bedrock-invocationMetrics":{"inputTokenCount":9,"outputTokenCount":8,"invocationLatency":7,"firstByteLatency":6}}`
	if text, isLast := strings.CutSuffix(strings.TrimSpace(string(data)), `"message_stop"}`); isLast {
		data = []byte(text + `"message_stop"` + metrics)
	}
	payload, err := json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString(data), "p": "abcdefgh"}, json.Deterministic(true))
	if err != nil {
		t.Error(err)
	}
	m := eventstream.Message{Payload: payload}
	m.Headers.Set(":event-type", eventstream.StringValue("chunk"))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	m.Headers.Set(":message-type", eventstream.StringValue("event"))
	var out strings.Builder
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		t.Error(err)
	}
	return []byte(out.String())
}

// TestConformance plays the recordings of Anthropic through Bedrock's frames to a client of chat
// completions.
func TestConformance(t *testing.T) {
	models := providertest.Catalog(t)
	driver := func(baseURL string) providers.Provider { return at(framing(t, baseURL)) }
	providertest.Run(t, catalog.Anthropic, driver, func(id string) *catalog.Model { return models.Derive(catalog.Anthropic, id) })
}

// TestClientsOfTheMessagesAPIGetTheEventsOfAnthropic compares what they get of each recording with
// what they get of Anthropic itself.
func TestClientsOfTheMessagesAPIGetTheEventsOfAnthropic(t *testing.T) {
	played := 0
	for _, rec := range providertest.Load(t, providertest.Dir()) {
		if rec.Provider != catalog.Anthropic {
			continue
		}
		played++
		up := providertest.Serve(t, rec.Script())
		own := anthropic.New(providers.Options{
			BaseURL: up.URL, Now: time.Now, HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
		})
		call := native(t, `{"model":"claude-opus-5","max_tokens":9,"messages":[{"role":"user","content":"q"}]}`, "claude-opus-5")
		call.Request.Stream = rec.Stream
		want, got := open(t, own, call), open(t, at(framing(t, up.URL)), call)
		if wanted, given := outcome(want), outcome(got); !slices.Equal(wanted, given) {
			t.Errorf("%s:\ngot  %q\nwant %q", rec.File, given, wanted)
		}
		if w, g := want.Usage(), got.Usage(); (w == nil) != (g == nil) || w != nil && *w != *g {
			t.Errorf("%s: usage %+v, want %+v", rec.File, g, w)
		}
	}
	if played < 40 {
		t.Errorf("%d recordings", played)
	}
}

func native(t testing.TB, body, upstream string) providers.Call {
	t.Helper()
	req, err := messages.Decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("the test's own request: %v", err)
	}
	return providers.Call{Request: req, Model: &catalog.Model{ID: "m", Provider: "bedrock", Upstream: upstream}}
}

func open(t testing.TB, p providers.Provider, call providers.Call) providertest.Passed {
	t.Helper()
	x, err := p.Prepare(call)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := x.Open(t.Context(), testKey)
	if call.Request.Stream {
		return providertest.Pass(t, llm.Messages, stream, err)
	}
	got := providertest.Passed{Err: err}
	if err == nil {
		for e, err := range stream {
			if got.Err = err; err == nil {
				got.Bytes += string(e.Raw)
				got.Events = append(got.Events, *e)
			}
		}
	}
	return got
}

// outcome is what a client reads: each event with its name, or the answer, and the error.
func outcome(p providertest.Passed) (all []string) {
	events := sse.NewReader(strings.NewReader(p.Bytes))
	defer events.Close()
	for {
		e, err := events.Next()
		if err != nil {
			break
		}
		data := jsontext.Value(e.Data)
		_ = data.Compact() // what is no JSON stays as it is
		all = append(all, e.Name+" "+string(data))
	}
	if len(all) == 0 {
		all = append(all, p.Bytes)
	}
	if p.Err != nil {
		// The events that came with the error may or may not have been sent before it.
		all = append(all, strings.NewReplacer("anthropic", "X", "bedrock", "X").Replace(p.Err.Error()))
	}
	return all
}

// BenchmarkPrepare makes a call of the Messages API one of InvokeModel, as that of
// providers/anthropic makes it one of Anthropic's.
func BenchmarkPrepare(b *testing.B) {
	p := at("http://127.0.0.1:1")
	for _, size := range []int{200, 32 << 10} {
		text := strings.Repeat("The quick brown fox jumps over the lazy dog, and it is not known why.\\n", size/70+1)[:size]
		call := native(b, `{"model":"claude-sonnet-4-5","system":"Be brief.","messages":[{"role":"user","content":"`+strings.TrimRight(text, `\`)+
			`"}],"max_tokens":256,"temperature":0.7,"stream":true}`, "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
		call.Request.Beside.Headers = []llm.Header{{Name: "Anthropic-Version", Value: "2023-06-01"}, {Name: "Anthropic-Beta", Value: "a,b"}}
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Prepare(call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
