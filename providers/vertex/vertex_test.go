package vertex_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/dialects/embeddings"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/anthropic"
	"modelgateway/providers/providertest"
	"modelgateway/providers/vertex"
)

const testKey = "ya29.token-of-the-test"

func options(baseURL string) providers.Options {
	return providers.Options{
		BaseURL: baseURL, Region: "us-east5", Project: "p-1", Now: time.Now, HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
		Sign: providers.SignBearer,
	}
}

func at(baseURL string) providers.Provider { return vertex.New(options(baseURL)) }

// below is the path of the project's models of a publisher.
func below(publisher string) string {
	return "/v1/projects/p-1/locations/us-east5/publishers/" + publisher + "/models/"
}

// TestConformance plays the recordings of Anthropic and of Gemini to a client of chat completions.
func TestConformance(t *testing.T) {
	models := providertest.Catalog(t)
	for _, vendor := range []string{catalog.Anthropic, catalog.Gemini} {
		t.Run(vendor, func(t *testing.T) {
			providertest.Run(t, vendor, at, func(id string) *catalog.Model { return models.Derive(vendor, id) })
		})
	}
}

// TestClientsOfTheMessagesAPIGetTheBytesOfAnthropic compares what they get of each recording with
// what they get of Anthropic itself.
func TestClientsOfTheMessagesAPIGetTheBytesOfAnthropic(t *testing.T) {
	played := 0
	for _, rec := range providertest.Load(t, providertest.Dir()) {
		if rec.Provider != catalog.Anthropic || !rec.Stream {
			continue
		}
		played++
		up := providertest.Serve(t, rec.Script())
		call := native(t, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"}]}`, "claude-opus-5")
		call.Request.Stream = true
		var outcomes []string
		for _, p := range []providers.Provider{anthropic.New(options(up.URL)), at(up.URL)} {
			x, err := p.Prepare(call)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := x.Open(t.Context(), testKey)
			got := providertest.Pass(t, llm.Messages, stream, err)
			if got.Err != nil {
				got.Bytes += strings.NewReplacer("anthropic", "X", "vertex", "X").Replace(got.Err.Error())
			}
			outcomes = append(outcomes, got.Bytes)
		}
		if outcomes[0] != outcomes[1] {
			t.Errorf("%s:\ngot  %q\nwant %q", rec.File, outcomes[1], outcomes[0])
		}
	}
	if played < 20 {
		t.Errorf("%d recordings", played)
	}
}

func native(t testing.TB, body, upstream string) providers.Call {
	t.Helper()
	req, err := messages.Decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("the test's own request: %v", err)
	}
	return providers.Call{Request: req, Model: &catalog.Model{ID: "m", Provider: "vertex", Upstream: upstream}}
}

func chatCall(t testing.TB, body, upstream string) providers.Call {
	t.Helper()
	req, err := chat.Decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("the test's own request: %v", err)
	}
	return providers.Call{Request: req, Model: &catalog.Model{ID: "m", Provider: "vertex", Upstream: upstream}}
}

func script(text string) providertest.Script {
	return providertest.Script{Header: http.Header{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(text)}}
}

// sent is what a call sends.
func sent(t testing.TB, make func(baseURL string) providers.Provider, call providers.Call) (providertest.Request, []string) {
	t.Helper()
	return providertest.Sent(t, make, testKey, `{}`, call)
}

const simple = `{"model":"m","messages":[{"role":"user","content":"q"}],"max_tokens":5}`

func TestTheModelSaysTheAPI(t *testing.T) {
	for _, tt := range []struct {
		model, stream string
		path          string
		speaks        llm.Dialect
	}{
		{"claude-sonnet-4-5-20250929", `,"stream":false`, below("anthropic") + "claude-sonnet-4-5@20250929:rawPredict", llm.Messages},
		{"claude-opus-5", `,"stream":true`, below("anthropic") + "claude-opus-5:streamRawPredict", llm.Messages},
		{"gemini-3-pro", `,"stream":false`, below("google") + "gemini-3-pro:generateContent", ""},
		{"gemini-3-pro", `,"stream":true`, below("google") + "gemini-3-pro:streamGenerateContent?alt=sse", ""},
		{"meta/llama-4-maverick-17b-128e-instruct-maas", "", "/v1/projects/p-1/locations/us-east5/endpoints/openapi/chat/completions", llm.Chat},
	} {
		call := chatCall(t, strings.TrimSuffix(simple, "}")+tt.stream+"}", tt.model)
		got, _ := sent(t, at, call)
		if got.Path != tt.path || got.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("%s: %s, %v, want %s", tt.model, got.Path, got.Header, tt.path)
		}
		for _, d := range []llm.Dialect{llm.Messages, llm.Chat, llm.Responses, llm.Embeddings} {
			if speaks := at("").Abilities().Speaks(d, call.Model); speaks != (d == tt.speaks) {
				t.Errorf("%s speaks %s: %t", tt.model, d, speaks)
			}
		}
	}
	if got, _ := sent(t, at, chatCall(t, simple, "meta/llama-4-maas")); !strings.Contains(string(got.Body), `"model":"meta/llama-4-maas"`) {
		t.Errorf("sent %s", got.Body)
	}
}

func TestRequestsOfTheMessagesAPIAreThoseOfRawPredict(t *testing.T) {
	call := native(t, `{"model":"m","stream":true,"max_tokens":5,"service_tier":"auto","tools":[{"type":"web_search_20250305","name":"web_search",`+
		`"max_uses":1}],"messages":[{"role":"user","content":"q"}]}`, "claude-opus-5")
	call.Request.Beside = llm.Beside{Query: "beta=true", Headers: []llm.Header{
		{Name: "Anthropic-Version", Value: "2023-06-01"}, {Name: "Anthropic-Beta", Value: "oauth-2025-04-20,web-search-2025-03-05"},
	}}
	got, ignored := sent(t, at, call)
	const want = `{"anthropic_version":"vertex-2023-10-16","stream":true,"max_tokens":5,"tools":[{"type":"web_search_20250305","name":"web_search",` +
		`"max_uses":1}],"messages":[{"role":"user","content":"q"}]}`
	if got.Path != below("anthropic")+"claude-opus-5:streamRawPredict" || string(got.Body) != want ||
		got.Header.Get("Anthropic-Beta") != "web-search-2025-03-05" || got.Header.Get("Anthropic-Version") != "" ||
		!slices.Equal(ignored, []string{"anthropic-beta: oauth-2025-04-20"}) {
		t.Errorf("%s %v\n%s\nignored %q", got.Path, got.Header, got.Body, ignored)
	}
	for _, kind := range []string{"web_fetch_20250910", "code_execution_20250825"} {
		_, err := at("").Prepare(native(t, `{"model":"m","max_tokens":5,"tools":[{"type":"`+kind+`","name":"x"}],"messages":[]}`, "claude-opus-5"))
		refusedAs(t, kind, err, "tools[0].type")
	}
}

func refusedAs(t testing.TB, what string, err error, path string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != http.StatusBadRequest || e.Param != path {
		t.Errorf("%s: %v, want a 400 that names %s", what, err, path)
	}
}

func TestTokensAreCounted(t *testing.T) {
	req, err := messages.DecodeCount(nil, []byte(`{"model":"m","messages":[{"role":"user","content":"q"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Beside = llm.Beside{Headers: []llm.Header{{Name: "Anthropic-Beta", Value: "web-search-2025-03-05"}}}
	for name, tt := range map[string]struct {
		call               providers.Call
		answer, path, body string
	}{
		"claude": {
			providers.Call{Request: req, Model: &catalog.Model{Upstream: "claude-sonnet-4-5-20250929"}}, `{"input_tokens":7}`,
			below("anthropic") + "count-tokens:rawPredict",
			`{"anthropic_version":"vertex-2023-10-16","model":"claude-sonnet-4-5@20250929","messages":[{"role":"user","content":"q"}]}`,
		},
		"claude, translated": {
			chatCall(t, simple, "claude-opus-4-6@default"), `{"input_tokens":7}`, below("anthropic") + "count-tokens:rawPredict",
			`{"anthropic_version":"vertex-2023-10-16","model":"claude-opus-4-6","messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`,
		},
		"gemini": {
			chatCall(t, simple, "gemini-3-pro"), `{"totalTokens":7}`, below("google") + "gemini-3-pro:countTokens",
			`{"contents":[{"role":"user","parts":[{"text":"q"}]}]}`,
		},
	} {
		up := providertest.Serve(t, script(tt.answer))
		count, err := at(up.URL).Abilities().Count(t.Context(), tt.call, testKey)
		if err != nil || count.Tokens != 7 {
			t.Fatalf("%s: %+v, %v", name, count, err)
		}
		if got := up.Requests()[0]; got.Path != tt.path || string(got.Body) != tt.body || got.Header.Get("Anthropic-Beta") != "" {
			t.Errorf("%s: %s\n%s", name, got.Path, got.Body)
		}
	}
}

func TestErrorsOfGooglesFormAreThoseOfTheMessagesAPI(t *testing.T) {
	for _, tt := range []struct {
		status     int
		body, want string
	}{
		{429, `{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}`, `{"type":"rate_limit_error","message":"Quota exceeded"}`},
		{404, `[{"error":{"code":404,"message":"Publisher Model was not found","status":"NOT_FOUND"}}]`,
			`{"type":"not_found_error","message":"Publisher Model was not found"}`},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens"}}`, `{"type":"invalid_request_error","message":"max_tokens"}`},
		{503, `{"error":{"code":503,"message":"The service is unavailable"}}`, `{"type":"overloaded_error","message":"The service is unavailable"}`},
	} {
		s := script(tt.body)
		s.Status = tt.status
		up := providertest.Serve(t, s)
		x, err := at(up.URL).Prepare(native(t, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"q"}]}`, "claude-opus-5"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.Open(t.Context(), testKey)
		r, ok := errors.AsType[*providers.Refusal](err)
		if !ok || r.Status != tt.status || string(r.Body) != `{"type":"error","error":`+tt.want+`}` {
			t.Errorf("%d: %v", tt.status, err)
			if ok {
				t.Errorf("the client is told %s", r.Body)
			}
		}
	}
}

// TestVertexRefusesSomeMembersOfGemini sends the ids of calls and the tier to none of its models.
func TestVertexRefusesSomeMembersOfGemini(t *testing.T) {
	call := chatCall(t, `{"model":"m","service_tier":"priority","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"own1",`+
		`"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"own1","content":"r"}],"tools":[{"type":"function",`+
		`"function":{"name":"f"}}]}`, "gemini-3-pro")
	call.Model.Traits.CallIDs = true
	got, ignored := sent(t, at, call)
	if strings.Contains(string(got.Body), "own1") || strings.Contains(string(got.Body), "iority") || !slices.Contains(ignored, "service_tier") {
		t.Errorf("ignored %q of\n%s", ignored, got.Body)
	}
}

func TestEmbeddings(t *testing.T) {
	const input = `{"model":"m","input":["a","b"],"dimensions":2}`
	for _, tt := range []struct {
		model, path string
		bodies      []string
		answers     []string
		tokens      int64
	}{
		{
			"text-embedding-005", below("google") + "text-embedding-005:predict",
			[]string{`{"instances":[{"content":"a"},{"content":"b"}],"parameters":{"outputDimensionality":2}}`},
			[]string{`{"predictions":[{"embeddings":{"values":[0.6,0.8],"statistics":{"truncated":false,"token_count":3}}},` +
				`{"embeddings":{"values":[0,-1],"statistics":{"token_count":4}}}]}`}, 7,
		},
		{
			"gemini-embedding-001", below("google") + "gemini-embedding-001:predict",
			[]string{`{"instances":[{"content":"a"}],"parameters":{"outputDimensionality":2}}`, `{"instances":[{"content":"b"}],"parameters":{"outputDimensionality":2}}`},
			[]string{`{"predictions":[{"embeddings":{"values":[0.6,0.8],"statistics":{"token_count":3}}}]}`}, 6,
		},
		{
			"gemini-embedding-2", below("google") + "gemini-embedding-2:embedContent",
			[]string{`{"content":{"parts":[{"text":"a"}]},"outputDimensionality":2}`, `{"content":{"parts":[{"text":"b"}]},"outputDimensionality":2}`},
			[]string{`{"embedding":{"values":[0.6,0.8]},"usageMetadata":{"promptTokenCount":3},"truncated":false}`}, 6,
		},
	} {
		req, err := embeddings.Decode(nil, []byte(input))
		if err != nil {
			t.Fatal(err)
		}
		var scripts []providertest.Script
		for _, text := range tt.answers {
			scripts = append(scripts, script(text))
		}
		up := providertest.Serve(t, scripts...)
		x, err := at(up.URL).Abilities().PrepareEmbeddings(providers.Call{Request: req, Model: &catalog.Model{Upstream: tt.model, Kind: llm.KindEmbedding}})
		if err != nil {
			t.Fatal(err)
		}
		stream, err := x.Open(t.Context(), testKey)
		if err != nil {
			t.Fatalf("%s: %v", tt.model, err)
		}
		for e := range stream {
			if e.Usage == nil || e.Usage.Input != tt.tokens || strings.Count(string(e.Raw), `"index"`) != 2 || !strings.Contains(string(e.Raw), "[0.6,0.8]") {
				t.Errorf("%s: %s, %+v", tt.model, e.Raw, e.Usage)
			}
		}
		var bodies []string
		for _, r := range up.Requests() {
			if bodies = append(bodies, string(r.Body)); r.Path != tt.path {
				t.Errorf("%s: %s", tt.model, r.Path)
			}
		}
		if slices.Sort(bodies); !slices.Equal(bodies, tt.bodies) {
			t.Errorf("%s: sent %q", tt.model, bodies)
		}
	}
}

// TestAnAPIKeyOpensGooglesModels is Vertex AI without a project.
func TestAnAPIKeyOpensGooglesModels(t *testing.T) {
	express := func(baseURL string) providers.Provider {
		opts := options(baseURL)
		opts.Project, opts.Sign = "", nil
		return vertex.New(opts)
	}
	got, _ := sent(t, express, chatCall(t, simple, "gemini-3-pro"))
	if got.Path != "/v1/publishers/google/models/gemini-3-pro:generateContent" || got.Header.Get("X-Goog-Api-Key") != testKey {
		t.Errorf("%s, %v", got.Path, got.Header)
	}
	for _, model := range []string{"claude-opus-5", "meta/llama-4-maas"} {
		call := chatCall(t, simple, model)
		_, err := express("http://127.0.0.1:1").Prepare(call)
		refusedAs(t, model, err, "model")
		_, err = express("http://127.0.0.1:1").Abilities().Count(t.Context(), call, testKey)
		refusedAs(t, model, err, "model")
	}
}

func TestLocationsHaveTheirHosts(t *testing.T) {
	for location, want := range map[string]string{
		"": "aiplatform.googleapis.com", "global": "aiplatform.googleapis.com", "us": "aiplatform.us.rep.googleapis.com",
		"eu": "aiplatform.eu.rep.googleapis.com", "europe-west1": "europe-west1-aiplatform.googleapis.com",
	} {
		var asked string
		opts := options("")
		opts.Region = location
		opts.Sign = func(_ context.Context, r *http.Request, _ string, _ [][]byte) error {
			asked = r.URL.Host
			return errors.New("not sent")
		}
		x, err := vertex.New(opts).Prepare(chatCall(t, simple, "claude-opus-5"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Open(t.Context(), testKey); err == nil || asked != want {
			t.Errorf("%q: %s, want %s", location, asked, want)
		}
	}
}
