package openai

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/carry"
	"modelgateway/providers/chunk"
	"modelgateway/providers/upstream"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// serve is an upstream that answers every call with this body.
func serve(t testing.TB, status int, contentType, body string) *Provider {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return provider(server.URL)
}

func provider(url string) *Provider {
	return New(Options{
		BaseURL: url, Key: func() string { return "sk-test" }, HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
		Now: func() time.Time { return time.Unix(1760000000, 0) },
	})
}

func model(t testing.TB, id string) catalog.Model {
	t.Helper()
	c, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	return c.Derive(catalog.OpenAI, id)
}

func prepare(t testing.TB, p *Provider, id, body string) providers.Exchange {
	t.Helper()
	req, err := api.DecodeChatRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	x, err := p.Prepare(providers.Call{Request: req, Model: model(t, id)})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

const hello = `{"model":"gpt","messages":[{"role":"user","content":"hi"}]`

func TestGoldenRequests(t *testing.T) {
	packed := carry.Pack("call_1", []api.ReasoningDetail{{Type: api.ReasoningEncrypted, Data: "x", Format: api.FormatGemini}})
	for _, tt := range []struct{ name, model, body, ignored string }{
		{"plain", "gpt-4", hello + `}`, ""},
		{"everything travels on", "gpt-4", `{ "messages" : [ {"role":"user","content":"<é> \u00e9"} ], "model":"alias","temperature":1.50,"n":2,"logit_bias":{"50256":-100},"logprobs":true,"top_logprobs":2,
			"tools":[{"type":"function","function":{"name":"f","parameters":{ "z":1.0,"a":12345678901234567890 }}}],"tool_choice":"auto","parallel_tool_calls":false,"metadata":{"a":"b"},
			"store":true,"verbosity":"low","prediction":{"type":"content","content":"x"},"web_search_options":{},"service_tier":"flex","user":"u","seed":7,"api_base":"http://169.254.169.254","null_one":null}`, ""},
		{"stream asks for usage", "gpt-4", hello + `,"stream":true}`, ""},
		{"stream keeps other options", "gpt-4", hello + `,"stream":true,"stream_options":{"include_obfuscation":false,"include_usage":false}}`, ""},
		{"stream with null options", "gpt-4", hello + `,"stream":true,"stream_options":null}`, ""},
		{"limit of a reasoning model", "gpt-5", hello + `,"max_tokens":9}`, ""},
		{"both limits, reasoning model", "gpt-5", hello + `,"max_tokens":9,"max_completion_tokens":8}`, ""},
		{"limit of an older model", "gpt-4", hello + `,"max_completion_tokens":8}`, ""},
		{"both limits, older model", "gpt-4", hello + `,"max_tokens":9,"max_completion_tokens":8}`, ""},
		{"sampling of a reasoning model", "gpt-6-sol", hello + `,"temperature":0.2,"top_p":0.9,"presence_penalty":1,"frequency_penalty":1}`, "frequency_penalty presence_penalty temperature top_p"},
		{"default sampling is no loss", "gpt-6-sol", hello + `,"temperature":1,"top_p":1,"presence_penalty":0,"frequency_penalty":0}`, ""},
		{"sampling of one that reasons when asked", "gpt-5.4", hello + `,"temperature":0.2}`, ""},
		{"extensions of others", "gpt-4", hello + `,"top_k":5,"thinking":{"type":"enabled","budget_tokens":2000},"cache_control":{"type":"ephemeral"}}`, "cache_control thinking top_k"},
		{"history of others", "gpt-4", `{"model":"gpt","messages":[{"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}]},
			{"role":"assistant","content":null,"reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s","index":0}],
			"tool_calls":[{"id":"` + packed + `","type":"function","function":{"name":"f","arguments":"{ \"a\":1.0 }"},"extra_content":{"google":{"thought_signature":"x"}}}]},
			{"role":"tool","tool_call_id":"` + packed + `","content":"1","name":"kept"}]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := prepare(t, provider("http://127.0.0.1:1"), tt.model, tt.body)
			if got := strings.Join(x.Ignored(), " "); got != tt.ignored {
				t.Errorf("ignored %q, want %q", got, tt.ignored)
			}
			body := x.(*exchange).body
			if !jsontext.Value(body).IsValid() {
				t.Fatalf("not valid: %s", body)
			}
			golden(t, tt.name, body)
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", strings.NewReplacer(" ", "_", ",", "").Replace(name)+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || strings.TrimSuffix(string(want), "\n") != string(got) {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
}

func TestRequestsCarryTheKeyAndNothingOfTheClient(t *testing.T) {
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"}}]}`)
	}))
	defer server.Close()
	if _, err := prepare(t, provider(server.URL+"/prefix"), "gpt-4", hello+`}`).Complete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got.URL.Path != "/prefix/v1/chat/completions" || got.Header.Get("Authorization") != "Bearer sk-test" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v", got.URL, got.Header)
	}
	if _, there := got.Header["X-Idempotency-Key"]; there {
		t.Error("the transport's own mark was sent")
	}
}

func TestAnswersAreRepaired(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"whole", `{"id":"a","object":"chat.completion","created":5,"model":"gpt-4-0613","choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":1,"audio_tokens":0}},"service_tier":"default","extra":{"x":1}}`,
			`{"id":"a","object":"chat.completion","created":5,"model":"gpt-4-0613","choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":1,"audio_tokens":0}},"service_tier":"default","extra":{"x":1}}`},
		{"filtered by Azure", `{"id":"a","created":5,"model":"m","choices":[{"index":0,"finish_reason":"content_filter","content_filter_results":{"hate":{}}}]}`,
			`{"id":"a","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"","refusal":null},"finish_reason":"content_filter","content_filter_results":{"hate":{}}}]}`},
		{"no model, no time", `{"id":"a","choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":-4,"completion_tokens":2}}`,
			`{"id":"a","object":"chat.completion","created":1760000000,"model":"gpt-4","choices":[{"index":0,"message":{"role":"assistant","content":"x","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":2,"total_tokens":2}}`},
		{"call without arguments", `{"id":"a","created":5,"model":"m","choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":""}}]}}]}`,
			`{"id":"a","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer, err := prepare(t, serve(t, 200, "application/json", tt.body), "gpt-4", hello+`}`).Complete(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(answer)
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s\nwant %s\n%v", got, tt.want, err)
			}
		})
	}
}

func TestNonsenseIsNoAnswer(t *testing.T) {
	for name, body := range map[string]string{
		"html": "<html>hello</html>", "empty": "", "a string": `"x"`, "an object": `{}`, "half": `{"choices":[`,
		"choices is a number": `{"choices":5}`, "null": "null",
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, 200, "application/json", body)
			_, err := prepare(t, p, "gpt-4", hello+`}`).Complete(t.Context())
			wantError(t, err, 502)
			_, err = collect(t, p, hello+`,"stream":true}`)
			wantError(t, err, 502)
		})
	}
}

func wantError(t *testing.T, err error, status int) *api.Error {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != status || e.Type != api.TypeAPI || e.Code != api.CodeProviderError || e.Provider != catalog.OpenAI {
		t.Errorf("want a provider_error of status %d, got %v", status, err)
		return &api.Error{}
	}
	return e
}

func TestErrorsOfTheUpstream(t *testing.T) {
	for _, tt := range []struct {
		name         string
		status       int
		body         string
		want         int
		message      string
		final, retry bool
	}{
		{"bad request", 400, `{"error":{"message":"too long","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, 400, "too long", false, false},
		{"bad key", 401, `{"error":{"message":"Incorrect API key provided: sk-secret123","code":"invalid_api_key"}}`, 502, "openai refused the gateway's credentials; its operator has to look at this", false, true},
		{"country", 403, `{"error":{"message":"no","type":"request_forbidden"}}`, 502, "openai refused the gateway's credentials; its operator has to look at this", false, true},
		{"no such model", 404, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`, 404, "The model x does not exist", false, false},
		{"limit", 429, `{"error":{"message":"Rate limit reached for gpt-4 in organization org-abc. Please try again in 20s.","type":"requests"}}`, 429, "Rate limit reached for gpt-4 in organization [account]. Please try again in 20s.", false, true},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, 429, "You exceeded your current quota", true, false},
		{"server", 500, `{"error":{"message":"Sorry","type":"server_error"}}`, 502, "Sorry", false, true},
		{"overloaded", 503, `{"error":{"message":"busy","type":"service_unavailable_error"}}`, 502, "busy", false, true},
		{"gateway time-out of theirs", 504, `<html>`, 504, "openai answered with status 504", false, true},
		{"a redirect", 307, ``, 502, "openai answered with a redirect, which the gateway does not follow", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t, tt.status, "application/json", tt.body)
			for _, stream := range []string{`}`, `,"stream":true}`} {
				var err error
				if stream == `}` {
					_, err = prepare(t, p, "gpt-4", hello+stream).Complete(t.Context())
				} else {
					_, err = collect(t, p, hello+stream)
				}
				e := wantError(t, err, tt.want)
				if e.Message != tt.message || e.Final != tt.final || e.ShouldRetry() != tt.retry || e.UpstreamStatus != tt.status {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

func TestTheWaitIsKept(t *testing.T) {
	p := serve(t, 429, "application/json", `{"error":{"message":"Please try again in 1m2.5s.","type":"tokens"}}`)
	_, err := prepare(t, p, "gpt-4", hello+`}`).Complete(t.Context())
	if e := wantError(t, err, 429); e.RetryAfter != 62500*time.Millisecond {
		t.Errorf("%s", e.RetryAfter)
	}
}

func collect(t *testing.T, p *Provider, body string) (*api.ChatCompletion, error) {
	t.Helper()
	stream, err := prepare(t, p, "gpt-4", body).Stream(t.Context())
	if err != nil {
		return nil, err
	}
	return chunk.Collect(stream)
}

// events shows the chunks of a stream, one line each, without their head.
func events(t *testing.T, body string) (string, error) {
	t.Helper()
	stream, err := prepare(t, serve(t, 200, "text/event-stream", body), "gpt-4", hello+`,"stream":true}`).Stream(t.Context())
	if err != nil {
		return "", err
	}
	var lines []string
	for c, err := range stream {
		if err != nil {
			return strings.Join(lines, "\n"), err
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), `"choices":`)
		lines = append(lines, c.ID+" "+c.Model+" "+strings.TrimSuffix(rest, "}"))
	}
	return strings.Join(lines, "\n"), nil
}

func data(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// part is one chunk of the upstream.
func part(delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `{"id":"x","created":5,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

func TestStreams(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"text", data(part(`{"role":"assistant","content":""}`, "null"), part(`{"content":"Hel"}`, "null"), part(`{"content":"lo"}`, "null"), part(`{}`, "stop"), `{"id":"x","model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`, done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"lo"},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"stop"}]
x m [],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}`},
		{"content in the finish chunk", data(part(`{"role":"assistant","content":"a"}`, "stop"), done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"a"},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"stop"}]`},
		{"usage on the finish chunk, no done", data(part(`{"content":"a"}`, "null"), `{"id":"other","model":"n","choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"a"},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"length"}]
x m [],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}`},
		{"done without a reason", data(part(`{"content":"a"}`, "null"), done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"a"},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"stop"}]`},
		{"tool call from index 1, id repeated", data(
			part(`{"role":"assistant","content":null,"tool_calls":[{"index":1,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`, "null"),
			part(`{"tool_calls":[{"index":1,"id":"c","function":{"arguments":"{\"a\""}}]}`, "null"), part(`{"tool_calls":[{"index":1,"id":"c","function":{"arguments":":1}"}}]}`, "null"), part(`{}`, "tool_calls"), done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"tool_calls"}]`},
		{"two calls without index", data(
			part(`{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}},{"id":"d","function":{"name":"g","arguments":""}}]}`, "null"),
			part(`{"tool_calls":[{"function":{"arguments":"{}"}}]}`, "null"), part(`{}`, "tool_calls"), done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":1,"id":"d","type":"function","function":{"name":"g","arguments":""}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"tool_calls"}]`},
		{"call without arguments", data(part(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}`, "null"), part(`{}`, "tool_calls"), done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"tool_calls"}]`},
		{"azure's prologue", data(`{"id":"","model":"","choices":[],"prompt_filter_results":[]}`, part(`{"content":"a"}`, "null"), part(`{}`, "stop"), done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"a"},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"stop"}]`},
		{"obfuscation goes, extras stay, other names for reasoning", data(`{"id":"x","model":"m","obfuscation":"zzz","provider":"p","choices":[{"index":0,"delta":{"reasoning":"hm","annotations":[1]},"logprobs":{"content":[]},"finish_reason":null}]}`, part(`{}`, "stop"), done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"provider":"p"
x m [{"index":0,"delta":{"reasoning_content":"hm","annotations":[1]},"logprobs":{"content":[]},"finish_reason":null}],"provider":"p"
x m [{"index":0,"delta":{},"finish_reason":"stop"}]`},
		{"two choices", data(`{"id":"x","model":"m","choices":[{"index":1,"delta":{"content":"b"}}]}`, `{"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"id":"x","model":"m","choices":[{"index":1,"delta":{},"finish_reason":"stop"},{"index":0,"delta":{},"finish_reason":"length"}]}`, done), `
x m [{"index":1,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":1,"delta":{"content":"b"},"finish_reason":null}]
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"a"},"finish_reason":null}]
x m [{"index":1,"delta":{},"finish_reason":"stop"}]
x m [{"index":0,"delta":{},"finish_reason":"length"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := events(t, tt.body)
			if err != nil || got != strings.TrimSpace(tt.want) {
				t.Errorf("got\n%s\nwant%s\n%v", got, tt.want, err)
			}
		})
	}
}

func TestStreamsThatBreakOffAreErrors(t *testing.T) {
	start := data(part(`{"role":"assistant","content":"a"}`, "null"))
	for name, body := range map[string]string{
		"nothing":            "",
		"only done":          data(done),
		"comments only":      ": hello\n\n",
		"cut after text":     start,
		"error first":        data(`{"error":{"message":"Sorry","type":"server_error"}}`),
		"error midway":       start + data(`{"error":{"message":"Sorry","type":"server_error"}}`),
		"error behind azure": data(`{"id":"","model":"","choices":[]}`, `{"error":{"message":"Sorry"}}`, part(`{"content":"a"}`, "stop"), done),
		"cut after finish":   start + data(part(`{}`, "stop")),
		"cut before done":    start + data(part(`{}`, "stop")) + "data: [DO",
		"nonsense midway":    start + data(`{"id":`),
		"html midway":        start + data(`<html>`),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := events(t, body)
			wantError(t, err, 502)
			if strings.Contains(got, "stop") {
				t.Errorf("looks finished:\n%s", got)
			}
		})
	}
}

func TestAnErrorBeforeTheFirstChunkIsReturnedNotStreamed(t *testing.T) {
	p := serve(t, 200, "text/event-stream", data(`{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`))
	stream, err := prepare(t, p, "gpt-4", hello+`,"stream":true}`).Stream(t.Context())
	if stream != nil {
		t.Error("a stream came as well")
	}
	wantError(t, err, 429)
}

func TestStreamsKeepTheirConnection(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, data(part(`{"content":"a"}`, "null"), part(`{}`, "stop"), done))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	p := provider(server.URL)
	for range 20 {
		if _, err := collect(t, p, hello+`,"stream":true}`); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("20 streams took %d connections", n)
	}
}

func TestAnUpstreamThatTalksOnAfterDoneIsLeft(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, data(part(`{"content":"a"}`, "null"), part(`{}`, "stop"), `{"id":"x","model":"m","choices":[],"usage":{"total_tokens":1}}`, done))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	began := time.Now()
	answer, err := collect(t, provider(server.URL), hello+`,"stream":true}`)
	if err != nil || answer.Usage.TotalTokens != 1 || time.Since(began) > 5*time.Second {
		t.Errorf("%+v, %v after %s", answer, err, time.Since(began))
	}
}

func TestModelsKeepsWhatChats(t *testing.T) {
	p := serve(t, 200, "application/json", `{"object":"list","data":[{"id":"gpt-6-sol","created":7},{"id":"text-embedding-3-small"},{"id":"whisper-1"},{"id":"o3-mini","created":8},{"id":"gpt-4o-realtime"},{"id":""}]}`)
	models, err := p.Models(t.Context())
	if err != nil || len(models) != 2 || models[0].ID != "gpt-6-sol" || models[0].Created != 7 || models[1].ID != "o3-mini" {
		t.Errorf("%+v, %v", models, err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add(data(part(`{"role":"assistant","content":"a"}`, "null"), part(`{}`, "stop"), done))
	f.Add(data(part(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}`, "tool_calls")))
	f.Add(data(`{"error":{"code":429}}`))
	x := prepare(f, provider("http://127.0.0.1:1"), "gpt-4", hello+`,"stream":true}`).(*exchange)
	f.Fuzz(func(t *testing.T, in string) {
		stream, err := x.chunks(t.Context(), upstream.NewEvents(io.NopCloser(strings.NewReader(in))))
		if err != nil {
			wantProvider(t, err)
			return
		}
		finished := map[int]bool{}
		for c, err := range stream {
			if err != nil {
				wantProvider(t, err)
				return
			}
			for _, choice := range c.Choices {
				if finished[choice.Index] {
					t.Fatal("a chunk after the finish")
				}
				finished[choice.Index] = choice.FinishReason != nil
			}
		}
		for index, ok := range finished {
			if !ok {
				t.Fatalf("choice %d never finished", index)
			}
		}
	})
}

func wantProvider(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeProviderError {
		t.Fatal(err)
	}
}
