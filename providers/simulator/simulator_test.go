package simulator_test

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/simulatortest"
	"modelgateway/providers/simulator/wire"
)

func TestEveryResponseSaysItIsSimulated(t *testing.T) {
	server := simulatortest.Strict(t)
	for _, path := range []string{"/v1/models", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models", "/nowhere"} {
		resp, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.Header.Get("X-Simulated") != "true" {
			t.Errorf("%s does not say that it is simulated", path)
		}
	}
}

func TestUnknownPathsAnswerInTheShapeOfTheirProvider(t *testing.T) {
	server := simulatortest.Strict(t)
	for path, want := range map[string]string{
		"/v1/images":            `"message":"Invalid URL (POST /v1/images)"`,
		"/v1beta/files":         `"status":"NOT_FOUND"`,
		"/v1beta/models/x:what": `"status":"NOT_FOUND"`,
	} {
		c := simulatortest.Gemini("", "").At(path)
		if a := c.Send(t, server, http.MethodPost, "{}"); a.Status != http.StatusNotFound || !strings.Contains(string(a.Body), want) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	a := simulatortest.Anthropic.At("/v1/complete").Send(t, server, http.MethodPost, "{}")
	if !strings.Contains(string(a.Body), "not_found_error") {
		t.Errorf("anthropic: %s", a.Body)
	}
}

func TestModelsListInEachShape(t *testing.T) {
	server := simulatortest.Strict(t)
	openai := simulatortest.OpenAI.At("/v1/models").Send(t, server, http.MethodGet, "")
	for _, want := range []string{
		`"object":"list"`, `"id":"gpt-4-turbo","object":"model","created":1712361441`, `"gpt-6-astra"`, `"text-embedding-3-small"`,
	} {
		if !strings.Contains(string(openai.Body), want) {
			t.Errorf("openai list has no %s: %s", want, openai.Body)
		}
	}
	gemini := simulatortest.Gemini("", "").At("/v1beta/models").Send(t, server, http.MethodGet, "")
	for _, want := range []string{
		`"name":"models/gemini-2.5-flash"`, `"inputTokenLimit":1048576`, `"supportedGenerationMethods":["generateContent"`,
		`"models/gemini-4-argon"`,
	} {
		if !strings.Contains(string(gemini.Body), want) {
			t.Errorf("gemini list has no %s: %s", want, gemini.Body)
		}
	}
}

func TestOneModelIsShownInEachShape(t *testing.T) {
	server := simulatortest.Strict(t)
	openai, anthropic, gemini := simulatortest.OpenAI, simulatortest.Anthropic, simulatortest.Gemini("", "")
	cases := []struct {
		client   simulatortest.Client
		status   int
		contains string
	}{
		{openai.At("/v1/models/gpt-4"), 200, `"object":"model"`},
		{openai.At("/v1/models/nope"), 404, `"model_not_found"`},
		{anthropic.At("/v1/models/claude-sonnet-4-5"), 200, `"id":"claude-sonnet-4-5-20250929"`},
		{anthropic.At("/v1/models/nope"), 404, `"not_found_error"`},
		{gemini.At("/v1beta/models/gemini-2.5-pro"), 200, `"models/gemini-2.5-pro"`},
		{gemini.At("/v1beta/models/nope"), 404, `"NOT_FOUND"`},
		{simulatortest.Client{Path: "/v1/models"}, 401, "You didn't provide an API key"},
		{simulatortest.Client{Path: "/v1beta/models"}, 403, "PERMISSION_DENIED"},
		{
			simulatortest.Client{Header: map[string]string{"Anthropic-Version": "2023-06-01"}, Path: "/v1/models"},
			401,
			"authentication_error",
		},
	}
	for _, c := range cases {
		a := c.client.Send(t, server, http.MethodGet, "")
		if a.Status != c.status || !strings.Contains(string(a.Body), c.contains) {
			t.Errorf("%s: %d %s", c.client.Path, a.Status, a.Body)
		}
	}
}

// saying is a request of the client's provider that says one thing, streamed or
// not.
func saying(c simulatortest.Client, text string, stream bool) string {
	quoted := string(rawjson.Encode(text))
	switch {
	case c.Path == simulatortest.OpenAI.Path && stream:
		return `{"model":"gpt-4","stream":true,"messages":[{"role":"user","content":` + quoted + `}]}`
	case c.Path == simulatortest.OpenAI.Path:
		return `{"model":"gpt-4","messages":[{"role":"user","content":` + quoted + `}]}`
	case c.Path == simulatortest.Anthropic.Path && stream:
		return `{"model":"claude-haiku-4-5","max_tokens":100,"stream":true,"messages":[{"role":"user","content":` + quoted + `}]}`
	case c.Path == simulatortest.Anthropic.Path:
		return `{"model":"claude-haiku-4-5","max_tokens":100,"messages":[{"role":"user","content":` + quoted + `}]}`
	}
	return `{"contents":[{"role":"user","parts":[{"text":` + quoted + `}]}]}`
}

var geminiSSE = simulatortest.Gemini("gemini-2.5-flash", "streamGenerateContent?alt=sse")

func TestEachEventIsFlushedAndTheStreamStopsWithItsClient(t *testing.T) {
	for _, c := range []simulatortest.Client{simulatortest.OpenAI, simulatortest.Anthropic, geminiSSE} {
		handler := simulator.New(simulator.Options{ChunkDelay: time.Hour, Now: simulatortest.Time})
		left := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(left)
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		t.Cleanup(cancel)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+c.Path, strings.NewReader(saying(c, "hi", true)))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range c.Header {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line == "" {
			t.Fatalf("%s: first line %q: %v", c.Path, line, err)
		}
		cancel()
		resp.Body.Close()
		select {
		case <-left:
		case <-time.After(time.Minute):
			t.Fatalf("%s: the stream goes on without its client", c.Path)
		}
	}
}

func TestChunkDelayPassesBetweenEvents(t *testing.T) {
	const delay = 5 * time.Millisecond
	server := simulatortest.Start(t, simulator.Options{ChunkDelay: delay})
	start := time.Now()
	a := simulatortest.OpenAI.Send(t, server, http.MethodPost, saying(simulatortest.OpenAI, "hi", true))
	want := time.Duration(len(bytes.SplitAfter(bytes.TrimSpace(a.Body), []byte("\n\n")))-1) * delay
	if took := time.Since(start); took < want {
		t.Fatalf("took %v, want at least %v", took, want)
	}
}

func TestHugeBodiesAreRefused(t *testing.T) {
	huge := `{"model":"` + strings.Repeat("x", wire.MaxBody) + `"}`
	a := simulatortest.Anthropic.Post(t, huge)
	if a.Status != http.StatusRequestEntityTooLarge || !strings.Contains(string(a.Body), "request_too_large") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestWithoutACheckNumbersOutOfRangeAreAnswered(t *testing.T) {
	server := simulatortest.Start(t, simulator.Options{})
	for _, c := range []struct {
		client   simulatortest.Client
		body     string
		contains string
	}{
		{simulatortest.OpenAI, simulatortest.ChatBody(`,"n":-1,"max_tokens":-5`, simulatortest.Hello), `You said: \"Hello there\"`},
		{simulatortest.OpenAI, simulatortest.ChatBody(`,"n":100000000,"max_tokens":1`, simulatortest.Hello), `"index":127`},
		{simulatortest.Anthropic, simulatortest.MessagesBody(`,"max_tokens":-5`, simulatortest.Hello), `You said: \"Hello there\"`},
		{
			simulatortest.Gemini("gemini-2.5-pro", "generateContent"),
			simulatortest.ContentsBody(`,"generationConfig":{"candidateCount":100000000,"maxOutputTokens":-1}`, simulatortest.HelloContent),
			`"index":7`,
		},
	} {
		a := c.client.Send(t, server, http.MethodPost, c.body)
		if a.Status != http.StatusOK || !strings.Contains(string(a.Body), c.contains) || len(a.Body) > 100_000 {
			t.Errorf("%s: %d, %d bytes: %.500s", c.body, a.Status, len(a.Body), a.Body)
		}
	}
}

func TestManyClientsAreServedAtOnce(t *testing.T) {
	server := simulatortest.Strict(t)
	for range 8 {
		t.Run("client", func(t *testing.T) {
			t.Parallel()
			for _, c := range []simulatortest.Client{simulatortest.OpenAI, simulatortest.Anthropic, geminiSSE} {
				if a := say(t, server, c, strings.Repeat("word ", 1200), true); a.Status != 200 || a.Err != nil {
					t.Errorf("%s: %d %v", c.Path, a.Status, a.Err)
				}
			}
		})
	}
}
