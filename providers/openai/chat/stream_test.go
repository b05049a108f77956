package chat

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/dialects/chat"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/providertest"
	"modelgateway/providers/upstream"
)

func collect(t *testing.T, p *API, body string) (*chat.Completion, error) {
	t.Helper()
	stream, err := chunks(t, p, "gpt-4", body)
	if err != nil {
		return nil, err
	}
	return providertest.Collect(stream)
}

// shownChunks shows the chunks of a stream, one line each, without their head.
func shownChunks(t *testing.T, body string) (string, error) {
	t.Helper()
	stream, err := chunks(t, apiAnswering(t, 200, "text/event-stream", body), "gpt-4",
		openaitest.Hello+`,"stream":true,"stream_options":{"include_usage":true}}`)
	if err != nil {
		return "", err
	}
	var lines []string
	for c, err := range stream {
		if err != nil {
			return strings.Join(lines, "\n"), err
		}
		if c == nil {
			continue // a pause
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
		{"text", data(part(`{"role":"assistant","content":""}`, "null"), part(`{"content":"Hel"}`, "null"), part(`{"content":"lo"}`, "null"),
			part(`{}`, "stop"), `{"id":"x","model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`, done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"lo"},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"stop"}]
x m [],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}`},
		{"content in the finish chunk", data(part(`{"role":"assistant","content":"a"}`, "stop"), done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"a"},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"stop"}]`},
		{"usage on the finish chunk, no done", data(part(`{"content":"a"}`, "null"),
			`{"id":"other","model":"n","choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":1,`+
				`"total_tokens":2}}`), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"a"},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"length"}]
x m [],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}`},
		{"done without a reason", data(part(`{"content":"a"}`, "null"), done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"a"},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"stop"}]`},
		{"tool call from index 1, id repeated", data(
			part(`{"role":"assistant","content":null,"tool_calls":[{"index":1,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`,
				"null"),
			part(`{"tool_calls":[{"index":1,"id":"c","function":{"arguments":"{\"a\""}}]}`, "null"),
			part(`{"tool_calls":[{"index":1,"id":"c","function":{"arguments":":1}"}}]}`, "null"), part(`{}`, "tool_calls"), done), `
x m [{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"tool_calls"}]`},
		{"two calls without index", data(
			part(`{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}},{"id":"d","function":{"name":"g","arguments":""}}]}`, "null"),
			part(`{"tool_calls":[{"function":{"arguments":"{}"}}]}`, "null"), part(`{}`, "tool_calls"), done), `
x m [{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":1,"id":"d","type":"function","function":{"name":"g","arguments":""}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"tool_calls"}]`},
		{"call without arguments", data(part(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}`, "null"),
			part(`{}`, "tool_calls"), done), `
x m [{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"tool_calls"}]`},
		{"late name", data(part(`{"tool_calls":[{"index":0,"id":"c","function":{"arguments":""}}]}`, "null"),
			part(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}`, "null"),
			part(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}`, "tool_calls"), done), `
x m [{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"arguments":""}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"tool_calls"}]`},
		{"custom tool", data(part(`{"tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"sh","input":""}}]}`, "null"),
			part(`{"tool_calls":[{"index":0,"custom":{"input":"ls -"}}]}`, "null"),
			part(`{"tool_calls":[{"index":0,"custom":{"input":"la"}}]}`, "tool_calls"), done), `
x m [{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"sh","input":""}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"custom":{"input":"ls -"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{"tool_calls":[{"index":0,"custom":{"input":"la"}}]},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"tool_calls"}]`},
		{"azure's prologue", data(`{"id":"","model":"","choices":[],"prompt_filter_results":[]}`, part(`{"content":"a"}`, "null"),
			part(`{}`, "stop"), done), `
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"prompt_filter_results":[]
x m [{"index":0,"delta":{"content":"a"},"finish_reason":null}]
x m [{"index":0,"delta":{},"finish_reason":"stop"}]`},
		{"obfuscation goes, extras stay, other names for reasoning",
			data(`{"id":"x","model":"m","obfuscation":"zzz","provider":"p","choices":[{"index":0,"delta":{"reasoning":"hm","annotations":[1]},`+
				`"logprobs":{"content":[]},"finish_reason":null}]}`, part(`{}`, "stop"), done), `
x m [{"index":0,"delta":{"role":"assistant"},"finish_reason":null}],"provider":"p"
x m [{"index":0,"delta":{"reasoning_content":"hm","annotations":[1]},"logprobs":{"content":[]},"finish_reason":null}],"provider":"p"
x m [{"index":0,"delta":{},"finish_reason":"stop"}]`},
		{"two choices", data(`{"id":"x","model":"m","choices":[{"index":1,"delta":{"content":"b"}}]}`,
			`{"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}`,
			`{"id":"x","model":"m","choices":[{"index":1,"delta":{},"finish_reason":"stop"},{"index":0,"delta":{},"finish_reason":"length"}]}`, done), `
x m [{"index":1,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":1,"delta":{"content":"b"},"finish_reason":null}]
x m [{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
x m [{"index":0,"delta":{"content":"a"},"finish_reason":null}]
x m [{"index":1,"delta":{},"finish_reason":"stop"}]
x m [{"index":0,"delta":{},"finish_reason":"length"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := shownChunks(t, tt.body)
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
		"cut after one of two": start + data(part(`{}`, "stop"),
			`{"id":"x","model":"m","created":5,"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":null}]}`),
		"cut before done": start + data(part(`{}`, "stop")) + "data: [DO",
		"nonsense midway": start + data(`{"id":`),
		"html midway":     start + data(`<html>`),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := shownChunks(t, body)
			wantError(t, err, 502)
			if strings.Contains(got, "stop") {
				t.Errorf("looks finished:\n%s", got)
			}
		})
	}
}

func TestErrorBeforeTheFirstChunkIsReturnedByOpen(t *testing.T) {
	p := apiAnswering(t, 200, "text/event-stream", data(`{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`))
	stream, err := chunks(t, p, "gpt-4", openaitest.Hello+`,"stream":true}`)
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
	p := apiAt(server.URL)
	for range 20 {
		if _, err := collect(t, p, openaitest.Hello+`,"stream":true}`); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("20 streams took %d connections", n)
	}
}

func TestUpstreamThatSendsMoreAfterDoneIsClosed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, data(part(`{"content":"a"}`, "null"), part(`{}`, "stop"),
			`{"id":"x","model":"m","choices":[],"usage":{"total_tokens":1}}`, done))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	began := time.Now()
	answer, err := collect(t, apiAt(server.URL), openaitest.Hello+`,"stream":true,"stream_options":{"include_usage":true}}`)
	if err != nil || answer.Usage.TotalTokens != 1 || time.Since(began) > 5*time.Second {
		t.Errorf("%+v, %v after %s", answer, err, time.Since(began))
	}
}

func FuzzStream(f *testing.F) {
	f.Add(data(part(`{"role":"assistant","content":"a"}`, "null"), part(`{}`, "stop"), done))
	f.Add(data(part(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}`, "tool_calls")))
	f.Add(data(`{"error":{"code":429}}`))
	x := prepare(f, apiAt("http://127.0.0.1:1"), "gpt-4", openaitest.Hello+`,"stream":true}`).(*exchange)
	f.Fuzz(func(t *testing.T, in string) {
		stream, err := x.events(t.Context(), upstream.NewEvents(io.NopCloser(strings.NewReader(in))))
		if err != nil {
			wantProvider(t, err)
			return
		}
		finished := map[int]bool{}
		for c, err := range providertest.Chunks(x.call.Request, stream) {
			if err != nil {
				wantProvider(t, err)
				return
			}
			if c == nil {
				continue // a pause
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
	if _, ok := errors.AsType[*providers.Refusal](err); !ok {
		t.Fatal(err)
	}
}
