package simulator

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func fixedNow() time.Time { return time.Unix(1760000000, 0) }

func serve(t *testing.T, opts Options) *httptest.Server {
	t.Helper()
	if opts.Now == nil {
		opts.Now = fixedNow
	}
	server := httptest.NewServer(New(opts))
	t.Cleanup(server.Close)
	return server
}

// A dialect knows how to knock at one of the three doors.
type dialect struct {
	header map[string]string
	path   string
}

var (
	asOpenAI    = dialect{map[string]string{"Authorization": "Bearer sk-demo"}, "/v1/chat/completions"}
	asAnthropic = dialect{map[string]string{"X-Api-Key": "sk-ant", "Anthropic-Version": "2023-06-01"}, "/v1/messages"}
)

func asGemini(model, method string) dialect {
	return dialect{map[string]string{"X-Goog-Api-Key": "key"}, "/v1beta/models/" + model + ":" + method}
}

type answer struct {
	status int
	header http.Header
	body   []byte
	broken error // what reading the body ended with
}

func (d dialect) send(t *testing.T, server *httptest.Server, method, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+d.path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range d.header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, data, err}
}

// ask posts a request that must succeed and decodes the answer into out.
func (d dialect) ask(t *testing.T, server *httptest.Server, body string, out any) {
	t.Helper()
	a := d.send(t, server, http.MethodPost, body)
	if a.status != http.StatusOK || a.broken != nil {
		t.Fatalf("status %d (%v): %s", a.status, a.broken, a.body)
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		t.Fatalf("decode %s: %v", a.body, err)
	}
}

// A sent event, as an SSE reader sees it.
type sentEvent struct {
	name string
	data jsontext.Value
}

// events reads a stream strictly: every event one data line, ended by newline
// twice.
func events(t *testing.T, body []byte, newline string) []sentEvent {
	t.Helper()
	var found []sentEvent
	rest := string(body)
	for rest != "" {
		block, after, ended := strings.Cut(rest, newline+newline)
		if !ended {
			t.Fatalf("event is not ended: %q", rest)
		}
		e := sentEvent{}
		for line := range strings.SplitSeq(block, newline) {
			switch {
			case strings.HasPrefix(line, "event: "):
				e.name = strings.TrimPrefix(line, "event: ")
			case strings.HasPrefix(line, "data: ") && e.data == nil:
				e.data = jsontext.Value(strings.TrimPrefix(line, "data: "))
			default:
				t.Fatalf("line %q", line)
			}
		}
		found, rest = append(found, e), after
	}
	return found
}

func decode[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}

// A refusalCase is a request that the service refuses, and what it says then.
type refusalCase struct {
	name string
	body string
	code int
	says string
}

func (d dialect) refuses(t *testing.T, cases []refusalCase) {
	t.Helper()
	server := serve(t, Options{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := d.send(t, server, http.MethodPost, c.body)
			if a.status != c.code || !strings.Contains(string(a.body), c.says) {
				t.Fatalf("status %d, want %d; says %s, want %s", a.status, c.code, a.body, c.says)
			}
			if d.path == asAnthropic.path && a.header.Get("Request-Id") == "" {
				t.Fatal("no request-id")
			}
		})
	}
}

func TestEveryResponseSaysItIsSimulated(t *testing.T) {
	server := serve(t, Options{})
	for _, path := range []string{"/v1/models", "/v1/chat/completions", "/v1/messages", "/v1beta/models", "/nowhere"} {
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
	server := serve(t, Options{})
	for path, want := range map[string]string{
		"/v1/images":            `"message":"Invalid URL (POST /v1/images)"`,
		"/v1beta/files":         `"status":"NOT_FOUND"`,
		"/v1beta/models/x:what": `"status":"NOT_FOUND"`,
	} {
		d := dialect{map[string]string{"X-Goog-Api-Key": "k"}, path}
		if a := d.send(t, server, http.MethodPost, "{}"); a.status != http.StatusNotFound || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	d := dialect{asAnthropic.header, "/v1/complete"}
	if a := d.send(t, server, http.MethodPost, "{}"); !strings.Contains(string(a.body), "not_found_error") {
		t.Errorf("anthropic: %s", a.body)
	}
}

func TestModelsListInEachShape(t *testing.T) {
	server := serve(t, Options{})
	openai := dialect{asOpenAI.header, "/v1/models"}.send(t, server, http.MethodGet, "")
	for _, want := range []string{`"object":"list"`, `"id":"gpt-4-turbo","object":"model","created":1712361441`, `"gpt-6-astra"`, `"text-embedding-3-small"`} {
		if !strings.Contains(string(openai.body), want) {
			t.Errorf("openai list has no %s: %s", want, openai.body)
		}
	}
	gemini := dialect{asGemini("", "").header, "/v1beta/models"}.send(t, server, http.MethodGet, "")
	for _, want := range []string{`"name":"models/gemini-2.5-flash"`, `"inputTokenLimit":1048576`, `"supportedGenerationMethods":["generateContent"`, `"models/gemini-4-argon"`} {
		if !strings.Contains(string(gemini.body), want) {
			t.Errorf("gemini list has no %s: %s", want, gemini.body)
		}
	}
}

func TestAnthropicModelsComeInPages(t *testing.T) {
	server := serve(t, Options{})
	type list struct {
		Data    []anthropicListed `json:"data"`
		HasMore bool              `json:"has_more"`
		FirstID string            `json:"first_id"`
		LastID  string            `json:"last_id"`
	}
	var ids []string
	after := ""
	for range len(anthropicCatalogue) {
		d := dialect{asAnthropic.header, "/v1/models?limit=8&after_id=" + after}
		got := decode[list](t, d.send(t, server, http.MethodGet, "").body)
		for _, m := range got.Data {
			if m.Type != "model" || m.DisplayName == "" {
				t.Errorf("model %+v", m)
			}
			if _, err := time.Parse(time.RFC3339, m.CreatedAt); err != nil {
				t.Error(err)
			}
			ids = append(ids, m.ID)
		}
		if got.FirstID != got.Data[0].ID || got.LastID != got.Data[len(got.Data)-1].ID {
			t.Errorf("first %s and last %s of %v", got.FirstID, got.LastID, got.Data)
		}
		if after = got.LastID; !got.HasMore {
			break
		}
	}
	if len(ids) != len(anthropicCatalogue) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Fatalf("pages hold %v", ids)
	}
}

func TestGeminiModelsComeInPages(t *testing.T) {
	server := serve(t, Options{})
	type list struct {
		Models []geminiListed `json:"models"`
		Next   string         `json:"nextPageToken"`
	}
	count, token := 0, ""
	for range len(geminiCatalogue) {
		d := dialect{asGemini("", "").header, "/v1beta/models?pageSize=7&pageToken=" + token}
		got := decode[list](t, d.send(t, server, http.MethodGet, "").body)
		count += len(got.Models)
		if token = got.Next; token == "" {
			break
		}
	}
	if count != len(geminiCatalogue) {
		t.Fatalf("pages hold %d models, want %d", count, len(geminiCatalogue))
	}
}

func TestOneModelIsShownInEachShape(t *testing.T) {
	server := serve(t, Options{})
	cases := []struct {
		d    dialect
		code int
		says string
	}{
		{dialect{asOpenAI.header, "/v1/models/gpt-4"}, 200, `"object":"model"`},
		{dialect{asOpenAI.header, "/v1/models/nope"}, 404, `"model_not_found"`},
		{dialect{asAnthropic.header, "/v1/models/claude-sonnet-4-5"}, 200, `"id":"claude-sonnet-4-5-20250929"`},
		{dialect{asAnthropic.header, "/v1/models/nope"}, 404, `"not_found_error"`},
		{dialect{asGemini("", "").header, "/v1beta/models/gemini-2.5-pro"}, 200, `"models/gemini-2.5-pro"`},
		{dialect{asGemini("", "").header, "/v1beta/models/nope"}, 404, `"NOT_FOUND"`},
		{dialect{nil, "/v1/models"}, 401, "You didn't provide an API key"},
		{dialect{nil, "/v1beta/models"}, 403, "PERMISSION_DENIED"},
		{dialect{map[string]string{"Anthropic-Version": "2023-06-01"}, "/v1/models"}, 401, "authentication_error"},
	}
	for _, c := range cases {
		if a := c.d.send(t, server, http.MethodGet, ""); a.status != c.code || !strings.Contains(string(a.body), c.says) {
			t.Errorf("%s: %d %s", c.d.path, a.status, a.body)
		}
	}
}

// the three requests that say one thing, streamed or not
func (d dialect) saying(text string, stream bool) string {
	said := string(encode(text))
	switch {
	case d.path == asOpenAI.path && stream:
		return `{"model":"gpt-4","stream":true,"messages":[{"role":"user","content":` + said + `}]}`
	case d.path == asOpenAI.path:
		return `{"model":"gpt-4","messages":[{"role":"user","content":` + said + `}]}`
	case d.path == asAnthropic.path && stream:
		return `{"model":"claude-haiku-4-5","max_tokens":100,"stream":true,"messages":[{"role":"user","content":` + said + `}]}`
	case d.path == asAnthropic.path:
		return `{"model":"claude-haiku-4-5","max_tokens":100,"messages":[{"role":"user","content":` + said + `}]}`
	}
	return `{"contents":[{"role":"user","parts":[{"text":` + said + `}]}]}`
}

var geminiSSE = asGemini("gemini-2.5-flash", "streamGenerateContent?alt=sse")

func itoa(n int) string { return string(encode(n)) }

func TestEachEventIsFlushedAndTheStreamStopsWithItsClient(t *testing.T) {
	for _, d := range []dialect{asOpenAI, asAnthropic, geminiSSE} {
		handler := New(Options{ChunkDelay: time.Hour})
		left := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(left)
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		t.Cleanup(cancel)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+d.path, strings.NewReader(d.saying("hi", true)))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range d.header {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line == "" {
			t.Fatalf("%s: first line %q: %v", d.path, line, err)
		}
		cancel()
		resp.Body.Close()
		select {
		case <-left:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the stream goes on without its client", d.path)
		}
	}
}

func TestChunkDelayPassesBetweenEvents(t *testing.T) {
	const delay = 5 * time.Millisecond
	server := serve(t, Options{ChunkDelay: delay})
	start := time.Now()
	a := asOpenAI.send(t, server, http.MethodPost, asOpenAI.saying("hi", true))
	want := time.Duration(len(events(t, a.body, "\n"))-1) * delay
	if took := time.Since(start); took < want {
		t.Fatalf("took %v, want at least %v", took, want)
	}
}

func TestHugeBodiesAreRefused(t *testing.T) {
	huge := `{"model":"` + strings.Repeat("x", maxBody) + `"}`
	if a := asAnthropic.send(t, serve(t, Options{}), http.MethodPost, huge); a.status != http.StatusRequestEntityTooLarge || !strings.Contains(string(a.body), "request_too_large") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
