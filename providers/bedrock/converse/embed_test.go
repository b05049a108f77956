package converse

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"modelgateway/api"
	"modelgateway/dialects/embeddings"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
	"modelgateway/providers/upstream"
)

func prepareEmbeddings(t *testing.T, url, m, body string) (providers.Exchange, error) {
	t.Helper()
	req, err := embeddings.Decode(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return newAPI(url).PrepareEmbeddings(providers.Call{Request: req, Model: model(m)})
}

// vectors are the only event of an answer.
func vectors(t *testing.T, stream llm.Stream) *llm.Event {
	t.Helper()
	var got *llm.Event
	for e, err := range stream {
		if err != nil {
			t.Fatal(err)
		}
		got = e
	}
	return got
}

func TestEmbeddingsOfEachVendor(t *testing.T) {
	tokens := http.Header{"X-Amzn-Bedrock-Input-Token-Count": {"5"}}
	for _, want := range []struct {
		model, request, sent, answer string
		header                       http.Header
		ignored                      string
		usage                        int64 // -1 = unknown
	}{
		{"cohere.embed-english-v3", `{"model":"m","input":["a","b"],"user":"u"}`,
			`{"texts":["a","b"],"input_type":"search_document","embedding_types":["float"]}`,
			`{"embeddings":[[3,4],[0,1]],"id":"x","response_type":"embeddings_floats","texts":["a","b"]}`, nil, "[user]", -1},
		{"us.cohere.embed-v4:0", `{"model":"m","input":["a","b"],"dimensions":256,"task_type":"RETRIEVAL_QUERY"}`,
			`{"texts":["a","b"],"input_type":"search_query","embedding_types":["float"],"output_dimension":256}`,
			`{"id":"x","texts":["a","b"],"embeddings":{"float":[[3,4],[0,1]]},"response_type":"embeddings_by_type"}`, tokens, "[]", 5},
		{"amazon.titan-embed-text-v2:0", `{"model":"m","input":"a","dimensions":512,"task_type":"RETRIEVAL_DOCUMENT","title":"t"}`,
			`{"inputText":"a","dimensions":512}`, `{"embedding":[3,4],"inputTextTokenCount":7}`, nil, "[task_type title]", 7},
	} {
		u := providertest.Serve(t, providertest.Script{Header: want.header, Pieces: [][]byte{[]byte(want.answer)}})
		x, err := prepareEmbeddings(t, u.URL, want.model, want.request)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(x.Properties().Ignored); got != want.ignored {
			t.Errorf("%s: ignored %s", want.model, got)
		}
		stream, err := x.Open(t.Context(), testKey)
		if err != nil {
			t.Fatal(err)
		}
		e := vectors(t, stream)
		sent := u.Requests()[0]
		if string(sent.Body) != want.sent || sent.Path != "/model/"+strings.ReplaceAll(want.model, ":", "%3A")+"/invoke" {
			t.Errorf("%s %s", sent.Path, sent.Body)
		}
		if !strings.Contains(string(e.Raw), `"embedding":[0.6,0.8]`) {
			t.Errorf("%s", e.Raw)
		}
		switch {
		case want.usage < 0 && e.Usage != nil, want.usage > 0 && (e.Usage == nil || e.Usage.Input != want.usage || e.Usage.Total != want.usage):
			t.Errorf("%s: %+v", want.model, e.Usage)
		}
	}
}

// Titan takes one text a call. After a failure the vectors that have come are not asked for again.
func TestTitanIsAskedForEachText(t *testing.T) {
	var calls, failing atomic.Int64
	failing.Store(1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls.Add(1)
		if strings.Contains(string(body), "text 1") && failing.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("X-Request-Id", "r1")
		_, _ = io.WriteString(w, `{"embedding":[1],"inputTextTokenCount":2}`)
	}))
	defer server.Close()
	x, err := prepareEmbeddings(t, server.URL, "amazon.titan-embed-text-v2:0", `{"model":"m","input":["text 0","text 1","text 2"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Open(t.Context(), testKey); err == nil {
		t.Fatal("it does not fail")
	}
	call := &upstream.Call{Context: t.Context()}
	stream, err := x.Open(call, testKey)
	if err != nil {
		t.Fatal(err)
	}
	e := vectors(t, stream)
	if e.Usage == nil || e.Usage.Input != 6 || strings.Count(string(e.Raw), `"embedding":[1]`) != 3 || call.RequestID != "r1" || calls.Load() > 6 {
		t.Errorf("%s %+v %s, %d calls", e.Raw, e.Usage, call.RequestID, calls.Load())
	}
}

func TestEmbeddingsThatCannotBe(t *testing.T) {
	if _, err := prepareEmbeddings(t, "", "stability.embed", `{"model":"m","input":"a"}`); api.AsError(err).Param != "model" {
		t.Errorf("%v", err)
	}
	for _, answer := range []string{`{}`, `{"embeddings":[[1],[2]]}`, `{"embeddings":{"int8":[[1]]}}`, `{"embeddings":[[]]}`, `{"embeddings":["x"]}`, `[`} {
		u := providertest.Serve(t, providertest.Script{Pieces: [][]byte{[]byte(answer)}})
		x, err := prepareEmbeddings(t, u.URL, "cohere.embed-v4:0", `{"model":"m","input":"a"}`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Open(t.Context(), testKey); err == nil || !strings.Contains(err.Error(), "cannot use") {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

func TestTokensAreCounted(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}],"temperature":1,` +
		`"tools":[{"type":"function","function":{"name":"f"}}]}`
	for answer, tokens := range map[string]int64{`{"inputTokens":375}`: 375, `{}`: -1, `[`: -1} {
		u := providertest.Serve(t, providertest.Script{Pieces: [][]byte{[]byte(answer)}})
		n, err := newAPI(u.URL).Count(t.Context(), providers.Call{Request: decode(t, llm.Chat, body), Model: model(nova)}, testKey)
		if err == nil != (tokens >= 0) || err == nil && n.Tokens != tokens {
			t.Errorf("%s: %+v, %v", answer, n, err)
		}
		const sent = `{"input":{"converse":{"system":[{"text":"s"}],"messages":[{"role":"user","content":[{"text":"hi"}]}],` +
			`"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}}]}}}}`
		if got := u.Requests()[0]; string(got.Body) != sent || !strings.HasSuffix(got.Path, "v1%3A0/count-tokens") {
			t.Errorf("%s %s", got.Path, got.Body)
		}
	}
}
