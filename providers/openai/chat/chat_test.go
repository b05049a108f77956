package chat

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/openai/wire"
	"modelgateway/providers/providertest"
)

// sentBody is the body of a request in one piece.
func sentBody(x providers.Exchange) []byte { return bytes.Join(x.(*exchange).body, nil) }

// apiAt is the API at an address.
func apiAt(url string) *API { return apiWith(url, providers.Server{}) }

func apiWith(url string, server providers.Server) *API {
	opts := openaitest.Options(url, server)
	return New(wire.NewClient(opts), opts)
}

// apiAnswering is the API at an upstream that answers every call with this body.
func apiAnswering(t testing.TB, status int, contentType, body string) *API {
	t.Helper()
	return apiAt(openaitest.Serve(t, status, contentType, body))
}

func prepare(t testing.TB, p *API, id, body string) providers.Exchange {
	t.Helper()
	req, err := chat.Decode(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	x, err := p.Prepare(providers.Call{Request: req, Model: openaitest.Model(t, id)})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// complete asks for a whole answer and reads it as a client does.
func complete(t testing.TB, p *API, id, body string) (*chat.Completion, error) {
	t.Helper()
	x := prepare(t, p, id, body)
	stream, err := x.Open(t.Context(), openaitest.Key)
	if err != nil {
		return nil, err
	}
	return providertest.Completion(x.(*exchange).call.Request, stream)
}

// chunks asks for a stream and reads it as a client does.
func chunks(t testing.TB, p *API, id, body string) (iter.Seq2[*chat.Chunk, error], error) {
	t.Helper()
	x := prepare(t, p, id, body)
	stream, err := x.Open(t.Context(), openaitest.Key)
	if err != nil {
		return nil, err
	}
	return providertest.Chunks(x.(*exchange).call.Request, stream), nil
}

// functions is a function that the model is offered.
const functions = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`

// packed is the id of a call that carries a thought of Gemini.
var packed = chat.PackID("call_1", []chat.ReasoningDetail{{Type: chat.ReasoningEncrypted, Data: "x", Format: llm.FormatGemini}})

// goldens are requests whose translations are in testdata/golden.
var goldens = []struct{ name, model, body, ignored string }{
	{"plain", "gpt-4", openaitest.Hello + `}`, ""},
	{"everything travels on", "gpt-4", `{ "messages" : [ {"role":"user","content":"<é> \u00e9"} ], "model":"alias","temperature":1.50,"n":2,"logit_bias":{"50256":-100},"logprobs":true,"top_logprobs":2,
		"tools":[{"type":"function","function":{"name":"f","parameters":{ "z":1.0,"a":12345678901234567890 }}}],"tool_choice":"auto","parallel_tool_calls":false,"metadata":{"a":"b"},
		"store":true,"verbosity":"low","prediction":{"type":"content","content":"x"},"web_search_options":{},"service_tier":"flex","user":"u","seed":7,"api_base":"http://169.254.169.254","null_one":null}`, ""},
	{"stream asks for usage", "gpt-4", openaitest.Hello + `,"stream":true}`, ""},
	{"stream keeps other options", "gpt-4", openaitest.Hello + `,"stream":true,"stream_options":{"include_obfuscation":false,"include_usage":false}}`,
		""},
	{"stream with null options", "gpt-4", openaitest.Hello + `,"stream":true,"stream_options":null}`, ""},
	{"limit of a reasoning model", "gpt-5", openaitest.Hello + `,"max_tokens":9}`, ""},
	{"both limits, reasoning model", "gpt-5", openaitest.Hello + `,"max_tokens":9,"max_completion_tokens":8}`, "max_tokens"},
	{"limit of an older model", "gpt-4", openaitest.Hello + `,"max_completion_tokens":8}`, ""},
	{"both limits, older model", "gpt-4", openaitest.Hello + `,"max_tokens":9,"max_completion_tokens":8}`, "max_tokens"},
	{"limit of an unknown model", "gpt-7", openaitest.Hello + `,"max_completion_tokens":8}`, ""},
	{"old limit of an unknown model", "o5-mini", openaitest.Hello + `,"max_tokens":8}`, ""},
	{"sampling while it reasons", "gpt-5.4", openaitest.Hello + `,"temperature":0.2,"reasoning_effort":"high"}`, "temperature"},
	{"sampling while it does not reason", "gpt-5.4", openaitest.Hello + `,"temperature":0.2,"reasoning_effort":"none"}`, ""},
	{"nulls of extensions", "gpt-4", openaitest.Hello + `,"top_k":null,"thinking":null,"cache_control":null}`, ""},
	{"marks on tools", "gpt-4", openaitest.Hello + `,"tools":[{"type":"function","function":{"name":"f","parameters":{ "b":1, "a":2.0 }},` +
		`"cache_control":{"type":"ephemeral"}}]}`, "tools[].cache_control"},
	{"pictures of others", "gpt-4", `{"model":"gpt","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a",` +
		`"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},{"role":"user","content":"r"}]}`, "messages[].images"},
	{"reasoning of others", "gpt-4", `{"model":"gpt","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a",` +
		`"reasoning_content":"hm"},{"role":"user","content":"r"}]}`, "messages[].reasoning_content"},
	{"ids that are too long", "gpt-4", `{"model":"gpt","messages":[{"role":"assistant","tool_calls":[{"id":"` + strings.Repeat("x", 41) +
		`","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"` + strings.Repeat("x", 41) +
		`","content":"1"}]}`, ""},
	{"sampling of a reasoning model", "gpt-6-sol", openaitest.Hello +
		`,"temperature":0.2,"top_p":0.9,"presence_penalty":1,"frequency_penalty":1}`,
		"frequency_penalty presence_penalty temperature top_p"},
	{"default sampling is no loss", "gpt-6-sol", openaitest.Hello + `,"temperature":1,"top_p":1,"presence_penalty":0,"frequency_penalty":0}`,
		""},
	{"sampling of one that reasons when asked", "gpt-5.4", openaitest.Hello + `,"temperature":0.2}`, ""},
	{"functions without reasoning by default", "gpt-6-sol", openaitest.Hello + functions + `}`, "reasoning_effort"},
	{"functions without reasoning on request", "gpt-5.4", openaitest.Hello + functions + `,"reasoning_effort":"high","temperature":0.2}`,
		"reasoning_effort"},
	{"functions where the model does not reason", "gpt-5.4", openaitest.Hello + functions + `}`, ""},
	{"functions where reasoning is off", "gpt-6-sol", openaitest.Hello + functions + `,"reasoning_effort":"none"}`, ""},
	{"functions and reasoning of an older model", "gpt-5.2", openaitest.Hello + functions + `,"reasoning_effort":"high"}`, ""},
	{"custom tool and reasoning", "gpt-6-sol", openaitest.Hello + `,"tools":[{"type":"custom","custom":{"name":"sh"}}]}`, ""},
	{"deprecated functions without reasoning", "gpt-6-sol", openaitest.Hello + `,"functions":[{"name":"f"}]}`, "reasoning_effort"},
	{"extensions of others", "gpt-4", openaitest.Hello + `,"top_k":5,"thinking":{"type":"enabled","budget_tokens":2000},` +
		`"cache_control":{"type":"ephemeral"}}`, "cache_control thinking top_k"},
	{"history of others", "gpt-4", `{"model":"gpt","messages":[{"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}]},
		{"role":"assistant","content":null,"reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s","index":0}],
		"tool_calls":[{"id":"` + packed + `","type":"function","function":{"name":"f","arguments":"{ \"a\":1.0 }"},"extra_content":{"google":{"thought_signature":"x"}}}]},
		{"role":"tool","tool_call_id":"` + packed + `","content":"1","name":"kept"}]}`, "messages[].content[].cache_control"},
}

func TestGoldenRequests(t *testing.T) {
	for _, tt := range goldens {
		t.Run(tt.name, func(t *testing.T) {
			x := prepare(t, apiAt("http://127.0.0.1:1"), tt.model, tt.body)
			if got := strings.Join(x.Properties().Ignored, " "); got != tt.ignored {
				t.Errorf("ignored %q, want %q", got, tt.ignored)
			}
			body := sentBody(x)
			if !jsontext.Value(body).IsValid() {
				t.Fatalf("not valid: %s", body)
			}
			openaitest.Golden(t, tt.name, body)
		})
	}
}

func TestRequestsCarryTheKeyAndNothingOfTheClient(t *testing.T) {
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"}}]}`)
	}))
	defer server.Close()
	if _, err := complete(t, apiAt(server.URL+"/prefix"), "gpt-4", openaitest.Hello+`}`); err != nil {
		t.Fatal(err)
	}
	if got.URL.Path != "/prefix/v1/chat/completions" || got.Header.Get("Authorization") != "Bearer sk-test" ||
		got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v", got.URL, got.Header)
	}
	if _, there := got.Header["X-Idempotency-Key"]; there {
		t.Error("the transport's own mark was sent")
	}
}

func TestAnswersAreRepaired(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"whole", `{"id":"a","object":"chat.completion","created":5,"model":"gpt-4-0613","choices":[{"index":0,"message":{"role":"assistant",` +
			`"content":"hi","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,` +
			`"completion_tokens":2,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":1,"audio_tokens":0}},"service_tier":"default",` +
			`"extra":{"x":1}}`,
			`{"id":"a","object":"chat.completion","created":5,"model":"gpt-4-0613","choices":[{"index":0,"message":{"role":"assistant",` +
				`"content":"hi","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,` +
				`"completion_tokens":2,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":1,"audio_tokens":0}},"service_tier":"default",` +
				`"extra":{"x":1}}`},
		{"filtered by Azure", `{"id":"a","created":5,"model":"m","choices":[{"index":0,"finish_reason":"content_filter",` +
			`"content_filter_results":{"hate":{}}}]}`,
			`{"id":"a","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"",` +
				`"refusal":null},"finish_reason":"content_filter","content_filter_results":{"hate":{}}}],"usage":{"prompt_tokens":0,` +
				`"completion_tokens":0,"total_tokens":0}}`},
		{"no model, no time", `{"id":"a","choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":-4,"completion_tokens":2}}`,
			`{"id":"a","object":"chat.completion","created":1760000000,"model":"gpt-4","choices":[{"index":0,"message":{"role":"assistant",` +
				`"content":"x","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":2,"total_tokens":2}}`},
		{"call without arguments", `{"id":"a","created":5,"model":"m","choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"f",` +
			`"arguments":""}}]}}]}`,
			`{"id":"a","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,` +
				`"refusal":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],` +
				`"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer, err := complete(t, apiAnswering(t, 200, "application/json", tt.body), "gpt-4", openaitest.Hello+`}`)
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

func TestMalformedAnswersAreErrors(t *testing.T) {
	for name, body := range map[string]string{
		"html": "<html>hello</html>", "empty": "", "a string": `"x"`, "an object": `{}`, "half": `{"choices":[`,
		"choices is a number": `{"choices":5}`, "null": "null",
	} {
		t.Run(name, func(t *testing.T) {
			p := apiAnswering(t, 200, "application/json", body)
			_, err := complete(t, p, "gpt-4", openaitest.Hello+`}`)
			wantError(t, err, 502)
			_, err = collect(t, p, openaitest.Hello+`,"stream":true}`)
			wantError(t, err, 502)
		})
	}
}

func wantError(t *testing.T, err error, status int) *api.Error {
	t.Helper()
	e := api.AsError(err)
	if e.Status != status || e.Type != api.TypeAPI || e.Code != api.CodeProviderError || e.Provider != catalog.OpenAI {
		t.Errorf("want a provider_error of status %d, got %v", status, err)
		return &api.Error{}
	}
	return e
}

func TestErrorsOfTheUpstream(t *testing.T) {
	const keyRefused = "openai refused the gateway's credentials: an operator of the gateway has to check " +
		"the provider's key and its permissions"
	for _, tt := range []struct {
		name         string
		status       int
		body         string
		want         int
		message      string
		final, retry bool
	}{
		{"bad request", 400, `{"error":{"message":"too long","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, 400, "too long", false, false},
		{"bad key", 401, `{"error":{"message":"Incorrect API key provided: sk-secret123","code":"invalid_api_key"}}`, 502,
			keyRefused, true, false},
		{"country", 403, `{"error":{"message":"no","type":"request_forbidden"}}`, 502,
			keyRefused, true, false},
		{"no such model", 404, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`, 404, "The model x does not exist",
			false, false},
		{"limit", 429, `{"error":{"message":"Rate limit reached for gpt-4 in organization org-abc. Please try again in 20s.","type":"requests"}}`,
			429, "Rate limit reached for gpt-4 in organization [account]. Please try again in 20s.", false, true},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, 429,
			"You exceeded your current quota", true, false},
		{"server", 500, `{"error":{"message":"Sorry","type":"server_error"}}`, 502, "Sorry", false, true},
		{"overloaded", 503, `{"error":{"message":"busy","type":"service_unavailable_error"}}`, 502, "busy", false, true},
		{"gateway time-out of theirs", 504, `<html>`, 504, "openai answered with status 504", false, true},
		{"a redirect", 307, ``, 502, "openai answered with a redirect, which the gateway does not follow", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := apiAnswering(t, tt.status, "application/json", tt.body)
			for _, stream := range []string{`}`, `,"stream":true}`} {
				var err error
				if stream == `}` {
					_, err = complete(t, p, "gpt-4", openaitest.Hello+stream)
				} else {
					_, err = collect(t, p, openaitest.Hello+stream)
				}
				e := wantError(t, err, tt.want)
				if tt.name == "bad request" && (e.UpstreamCode != "context_length_exceeded" || e.Param != "messages") {
					t.Errorf("%+v", e)
				}
				if e.Message != tt.message || e.Final != tt.final || e.ShouldRetry() != tt.retry || e.UpstreamStatus != tt.status {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

func TestRetryAfterIsReadFromTheMessage(t *testing.T) {
	p := apiAnswering(t, 429, "application/json", `{"error":{"message":"Please try again in 1m2.5s.","type":"tokens"}}`)
	_, err := complete(t, p, "gpt-4", openaitest.Hello+`}`)
	if e := wantError(t, err, 429); e.RetryAfter != 62500*time.Millisecond {
		t.Errorf("%s", e.RetryAfter)
	}
}

// plainExchange is a prepared stream whose client asked for no usage.
func plainExchange() *exchange {
	return &exchange{api: apiAt("http://127.0.0.1:1"), call: providers.Call{Request: &llm.Request{Stream: true}, Model: &catalog.Model{}}}
}
