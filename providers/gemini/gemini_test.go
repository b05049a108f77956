package gemini

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

// serve answers every request the same, and keeps the last one.
func serve(t *testing.T, status int, body string) (*Provider, *http.Request) {
	t.Helper()
	last := new(http.Request)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last = *r.Clone(context.WithoutCancel(r.Context()))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return provider(server.URL), last
}

func exchangeWith(t *testing.T, p *Provider, m *catalog.Model, body string) *exchange {
	t.Helper()
	req, err := chat.Decode(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	x, err := p.Prepare(providers.Call{Request: req, Model: m})
	if err != nil {
		t.Fatal(err)
	}
	return x.(*exchange)
}

// streaming is a request that asks for its answer as a stream.
func streaming(body string) string { return strings.Replace(body, "{", `{"stream":true,`, 1) }

// open sends an exchange and reads the answer to its end.
func open(t *testing.T, x *exchange) (*chat.Completion, error) {
	t.Helper()
	stream, err := x.Open(t.Context(), testKey)
	if err != nil {
		return nil, err
	}
	return providertest.Completion(x.call.Request, stream)
}

func TestRequestsNameTheModelInThePathAndTheKeyInAHeader(t *testing.T) {
	for id, escaped := range map[string]string{
		"gemini-2.5-flash":        "gemini-2.5-flash",
		"models/gemini-2.5-flash": "gemini-2.5-flash",
		"../secret?x=#y z":        "..%2Fsecret%3Fx=%23y%20z",
	} {
		p, last := serve(t, 200, answerWith(`{"text":"a"}`, stop))
		answer, err := open(t, exchangeWith(t, p, &catalog.Model{Upstream: id}, ask))
		if err != nil || *answer.Choices[0].Message.Content != "a" || answer.Model != strings.TrimPrefix(id, "models/") {
			t.Fatalf("%+v, %v", answer, err)
		}
		if last.RequestURI != "/v1beta/models/"+escaped+":generateContent" || last.Method != http.MethodPost {
			t.Errorf("%s %s", last.Method, last.RequestURI)
		}
		if _, err := open(t, exchangeWith(t, p, &catalog.Model{Upstream: id}, streaming(ask))); err != nil {
			t.Fatal(err)
		}
		if last.RequestURI != "/v1beta/models/"+escaped+":streamGenerateContent?alt=sse" {
			t.Errorf("%s", last.RequestURI)
		}
		if last.Header.Get("X-Goog-Api-Key") != "secret" || last.Header.Get("Authorization") != "" || strings.Contains(last.RequestURI,
			"secret") != strings.Contains(id, "secret") {
			t.Errorf("the key goes elsewhere: %v %s", last.Header, last.RequestURI)
		}
	}
}

func TestRefusedRequestsBecomeErrorsForClients(t *testing.T) {
	problem := func(code int, status, message, details string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[%s]}}`, code, message, status, details)
	}
	const retry = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}`
	quota := func(id string) string {
		return `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + id + `"}]}`
	}
	for name, tt := range map[string]struct {
		sent    int
		body    string
		status  int
		wait    time.Duration
		retried bool
		message string
	}{
		"a bad request": {400, problem(400, "INVALID_ARGUMENT", "too many tokens", ""), 400, 0, false, "too many tokens"},
		"the same in an array": {400, "[" + problem(400, "INVALID_ARGUMENT", "too many tokens", "") + "\n]", 400, 0, false,
			"too many tokens"},
		"a bad key": {400, problem(400, "INVALID_ARGUMENT", "API key not valid.", `{"reason":"API_KEY_INVALID"}`), 502, 0,
			false, "credentials"},
		"the wrong country": {400, problem(400, "FAILED_PRECONDITION", "User location is not supported.", ""), 502, 0, false,
			"credentials"},
		"no key":        {401, problem(401, "UNAUTHENTICATED", "x", ""), 502, 0, false, "credentials"},
		"a leaked key":  {403, problem(403, "PERMISSION_DENIED", "x", ""), 502, 0, false, "credentials"},
		"no such model": {404, problem(404, "NOT_FOUND", "models/x is not found", ""), 404, 0, false, "models/x is not found"},
		"a minute's quota": {429, problem(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", quota("GenerateRequestsPerMinutePerProject")+
			","+retry), 429, 34400 * time.Millisecond, true, "Quota exceeded."},
		"a wait in words": {429, problem(429, "RESOURCE_EXHAUSTED", "Please retry in 48.939935699s.", ""), 429, 48939935699, true,
			""},
		"a wait rounded down": {429, problem(429, "RESOURCE_EXHAUSTED", "Please retry in 34.9s.", retry), 429, 34900 * time.Millisecond,
			true, ""},
		"a wait of minutes": {429, problem(429, "RESOURCE_EXHAUSTED", "Please retry in 1m2.5s.", ""), 429, 62500 * time.Millisecond,
			false, ""},
		"an absurd wait": {429, problem(429, "RESOURCE_EXHAUSTED", "x", `{"retryDelay":"-5s"},{"retryDelay":"soon"}`), 429, 0,
			true, ""},
		"an endless wait": {429, problem(429, "RESOURCE_EXHAUSTED", "x", `{"retryDelay":"999999h"}`), 429, 24 * time.Hour, false, ""},
		"a day's quota": {429, problem(429, "RESOURCE_EXHAUSTED", "Quota exceeded.",
			quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier")+","+retry), 429, 34400 * time.Millisecond, false, ""},
		"an internal error":     {500, problem(500, "INTERNAL", "x", ""), 502, 0, true, ""},
		"overloaded":            {503, problem(503, "UNAVAILABLE", "The model is overloaded.", ""), 502, 0, true, "overloaded"},
		"too late":              {504, problem(504, "DEADLINE_EXCEEDED", "x", ""), 504, 0, true, ""},
		"a page of HTML":        {502, "<html><title>502</title></html>", 502, 0, true, "gemini answered with status 502"},
		"an empty body":         {413, "", 413, 0, false, "gemini answered with status 413"},
		"an array of nothing":   {400, "[]", 400, 0, false, ""},
		"an error that is text": {400, `{"error":"nope"}`, 400, 0, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := serve(t, tt.sent, tt.body)
			for _, body := range []string{ask, streaming(ask)} {
				_, err := exchangeWith(t, p, model(t, "gemini-2.5-flash"), body).Open(t.Context(), testKey)
				e, ok := clientError(err)
				if !ok || e.Status != tt.status || e.UpstreamStatus != tt.sent || e.RetryAfter != tt.wait ||
					e.ShouldRetry() != tt.retried ||
					!strings.Contains(e.Message, tt.message) || e.Code != api.CodeProviderError || strings.Contains(e.Message, "API key") {
					t.Errorf("%+v, %v", e, err)
				}
			}
		})
	}
}

func TestLeavingAStreamTellsTheUpstream(t *testing.T) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, eventsOf(answerWith(`{"text":"a"}`, "")))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	stream, err := exchangeWith(t, provider(server.URL), model(t, "gemini-2.5-flash"), streaming(ask)).Open(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	for range stream {
		break
	}
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		t.Error("the upstream goes on")
	}
}

func TestARefusedStreamTellsTheUpstream(t *testing.T) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, eventsOf(`{"error":{"code":503,"message":"overloaded"}}`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	_, err := exchangeWith(t, provider(server.URL), model(t, "gemini-2.5-flash"), streaming(ask)).Open(t.Context(), testKey)
	if e, ok := clientError(err); !ok || e.UpstreamStatus != 503 {
		t.Errorf("%v", err)
	}
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		t.Error("the upstream goes on")
	}
}

func TestModelsAreReadPageByPage(t *testing.T) {
	pages := map[string]string{
		"": `{"models":[{"name":"models/gemini-2.5-flash","inputTokenLimit":1048576,"outputTokenLimit":65536,
			"supportedGenerationMethods":["generateContent","countTokens"]},
			{"name":"models/gemini-embedding-001","supportedGenerationMethods":["embedContent","countTokens"]},
			{"name":"models/aqa","supportedGenerationMethods":["generateAnswer"]},
			{"name":"models/gemini-2.5-pro-preview-tts","supportedGenerationMethods":["generateContent"]},
			{"name":"","supportedGenerationMethods":["generateContent"]}],"nextPageToken":"a&b="}`,
		"a&b=": `{"models":[{"name":"models/gemma-4-31b-it","supportedGenerationMethods":["generateContent"]}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1beta/models" || r.URL.Query().Get("pageSize") != "1000" || r.Header.Get("X-Goog-Api-Key") != "secret" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		_, _ = io.WriteString(w, pages[r.URL.Query().Get("pageToken")])
	}))
	defer server.Close()
	got, err := provider(server.URL).listModels(t.Context(), testKey)
	want := []providers.Listed{
		{ID: "gemini-2.5-flash", Kind: llm.KindChat, Context: 1048576, MaxOutput: 65536},
		{ID: "gemini-embedding-001", Kind: llm.KindEmbedding},
		{ID: "gemma-4-31b-it", Kind: llm.KindChat},
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAnEndlessListOfModelsEnds(t *testing.T) {
	p, _ := serve(t, 200, `{"models":[{"name":"models/a","supportedGenerationMethods":["generateContent"]}],"nextPageToken":"again"}`)
	if got, err := p.listModels(t.Context(), testKey); err != nil || len(got) != maxPages {
		t.Errorf("%d models, %v", len(got), err)
	}
}

func TestAnInvalidListOfModelsIsAnError(t *testing.T) {
	for status, body := range map[int]string{200: "<html>", 503: `{"error":{"code":503}}`} {
		p, _ := serve(t, status, body)
		if _, err := p.listModels(t.Context(), testKey); err == nil {
			t.Errorf("%d %s is no error", status, body)
		}
	}
}
