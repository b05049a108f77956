package live_test

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/app"
	"modelgateway/app/live"
	"modelgateway/providers/providertest"
	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/strict"
)

const secret = "sk-live-0123456789abcdefSECRET"

// provider is a simulated provider that refuses what the real one refuses. Its answers can be changed on the way.
func provider(t *testing.T, lenient bool, change func(r *http.Request, a *httptest.ResponseRecorder)) string {
	options := simulator.Options{Now: time.Now}
	if !lenient {
		options.Check = strict.Check
	}
	next := simulator.New(options)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if lenient {
			body = bytes.ReplaceAll(body, []byte("claude-no-such-model-"), []byte("claude-haiku-5-5"))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("X-Asked", string(body))
		a := httptest.NewRecorder()
		next.ServeHTTP(a, r)
		if change != nil {
			change(r, a)
		}
		for name, values := range a.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(a.Code)
		_, _ = w.Write(a.Body.Bytes())
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func check(t *testing.T, name, url string, o live.Options, settings ...string) *live.Report {
	t.Helper()
	upper := strings.ToUpper(name)
	cfg, err := app.Settings(append(settings, upper+"_API_KEY="+secret, upper+"_BASE_URL="+url))
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := app.OpenLive(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer gateway.Close()
	o.Bounded = func(b live.Bound) {
		if b.Provider != name || b.USD <= 0 || b.USD >= 0.01 {
			t.Errorf("the bound is %+v", b)
		}
	}
	o.Checked = func(live.Line) {}
	report, err := live.Check(t.Context(), gateway, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestTheSimulatedProvidersAreAsExpected(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]int{"openai": 27, "anthropic": 26, "gemini": 26} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, expected := check(t, name, provider(t, false, nil), live.Options{}), 0
			for _, l := range report.Lines {
				for _, d := range l.Differences {
					if l.Kind != "model list" || !d.Minor || !strings.Contains(d.What, " is new: the catalogue has no price for it") {
						t.Errorf("%s %s: %+v", l.Kind, l.Dialect, d)
					}
				}
				if l.State == live.NotOffered && l.Kind != "vectors" {
					t.Errorf("%+v", l)
				}
				if l.State == live.Expected {
					expected++
				}
			}
			if !report.OK || len(report.Lines) != lines || expected < lines-2 {
				t.Errorf("%t, %d lines, %d as expected", report.OK, len(report.Lines), expected)
			}
		})
	}
}

// replaced replaces a text in the answers of a path.
func replaced(path, old, now string) func(*http.Request, *httptest.ResponseRecorder) {
	return func(r *http.Request, a *httptest.ResponseRecorder) {
		if strings.Contains(r.URL.Path, path) {
			text := regexp.MustCompile(old).ReplaceAllString(a.Body.String(), now)
			a.Body.Reset()
			a.Body.WriteString(text)
			a.Header().Del("Content-Length")
		}
	}
}

// answered changes the status of the answers whose request has a text.
func answered(part string, status int) func(*http.Request, *httptest.ResponseRecorder) {
	return func(r *http.Request, a *httptest.ResponseRecorder) {
		if strings.Contains(r.URL.Path+r.Header.Get("X-Asked"), part) {
			a.Code = status
			if a.Header().Get("Content-Type") != "application/json" || !strings.Contains(a.Body.String(), `"error"`) {
				a.Header().Set("Content-Type", "application/json")
				a.Body.Reset()
				a.Body.WriteString(`{"type":"error","error":{"type":"not_found_error","message":"No"},"request_id":"req_1"}`)
			}
		}
	}
}

func header(name, value string) func(*http.Request, *httptest.ResponseRecorder) {
	return func(r *http.Request, a *httptest.ResponseRecorder) {
		if a.Header().Get(name) != "" && r.Method == http.MethodPost {
			a.Header().Set(name, value)
		}
	}
}

// planted are the differences: what is named of them, and what may be named beside it because it follows from it.
var planted = []struct {
	name, provider string
	change         func(*http.Request, *httptest.ResponseRecorder)
	named          string
	follows        string // a pattern
}{
	{"a lost member", "openai", replaced("/chat/", `"object":"chat.completion",`, ""), "object is missing", ""},
	{"a member that is null", "openai", replaced("/chat/", `"id":"chatcmpl-[^"]*"`, `"id":null`), "id is null, and was string", ""},
	{"usage of another name", "openai", replaced("/chat/", `"completion_tokens":`, `"output_tokens":`), "usage.completion_tokens is missing",
		"new member usage.output_tokens|client is told of"},
	{"vectors of another name", "openai", replaced("/embeddings", `"embedding":\[`, `"vector":[`), "data.embedding is missing",
		"new member data.vector|no vector|in place of 200"},
	{"a stream without its end", "openai", replaced("/chat/", `data: \[DONE\]\n\n`, ""), "event [DONE] is missing", "the end follows event usage"},
	{"a renamed end of a response", "openai", replaced("/responses", `response\.completed`, `response.done`),
		"the end follows event response.output_item.done", "event response.done is new|no end|ended with|tokens in|no text|no call|in place of 200|no JSON"},
	{"another type of a stream", "openai", header("Content-Type", "text/plain"), `header content-type is "text/plain"`, "in place of 200|cannot be read|object"},
	{"another status of a refusal", "openai", answered("no-such-model", 422), "status 422 in place of 404", "client gets status"},
	{"a model that is gone", "openai", replaced("/models", `\{"id":"text-embedding-3-large"[^}]*\},?`, ""),
		"model text-embedding-3-large of the catalogue is not listed", ""},
	{"an unknown member that is accepted", "openai", nil, "a request with the unknown member is accepted", "client gets status 200"},
	{"a wrong model that is accepted", "anthropic", nil, "a request with the wrong model is accepted", "client gets status 200|unknown member is accepted"},
	{"a renamed event", "anthropic", replaced("/messages", `content_block_delta`, `content_delta`), "event content_block_delta is missing",
		"content_delta is new|follows|no text|no call|no end|ended with|in place of 200|did not|tokens in"},
	{"events in another order", "anthropic", replaced("/messages", `(?s)(event: message_start.*?\n\n)(event: content_block_start.*?\n\n)`, "$2$1"),
		"event content_block_start follows the beginning", "follows|in place of 200|no end|ended with|tokens in|no text|no call"},
	{"a lost header", "anthropic", header("Request-Id", ""), "header request-id is missing", ""},
	{"another form of errors", "anthropic", replaced("/messages", `^\{"type":"error","error":\{.*$`, `{"fault":"no"}`), "the answer has another form", "client"},
	{"a count that is gone", "anthropic", answered("/count_tokens", 404), "status 404 in place of 200", ""},
	{"a tool without its name", "anthropic", replaced("/messages", `"name":"tide_table",`, ""), "content_block(tool_use).name is missing",
		"no call|in place of 200|no end|ended with|tokens in"},
	{"a provider that is too busy", "anthropic", answered(`"stream":true`, 529), "status 529 in place of 200", "client gets|form|cannot be read|no object"},
	{"another type of a member", "gemini", replaced("enerateContent", `"totalTokenCount":(\d+)`, `"totalTokenCount":"$1"`),
		"usageMetadata.totalTokenCount is string, and was number", "in place of 200|no end|ended with|tokens in|no text|no call|no JSON|cannot be read"},
	{"no usage", "gemini", replaced("enerateContent", `"usageMetadata":\{`, `"counts":{`), "usageMetadata is missing",
		"new member counts|counts is new|tokens in"},
	{"a renamed end of an answer", "gemini", replaced("enerateContent", `"finishReason"`, `"finish"`), "event finish is missing",
		"candidates.finish |follows|no end|ended with|in place of 200|no text|no call|tokens in"},
	{"another type in errors", "gemini", replaced("enerateContent", `"code":\s*(\d+)`, `"code":"$1"`), "error.code is string, and was number", ""},
	{"a new member", "gemini", replaced("enerateContent", `"modelVersion"`, `"mood":"fine","modelVersion"`), "new member mood (ignored)", ""},
	{"a model that is new", "gemini", replaced("/models", `"models":\[`, `"models":[{"name":"models/gemini-9-tide","version":"1","displayName":"G",`+
		`"inputTokenLimit":1,"outputTokenLimit":1,"supportedGenerationMethods":["generateContent"]},`), "model gemini-9-tide is new", ""},
	{"another limit", "gemini", replaced("/models", `("models/gemini-2.5-flash-lite".*?"inputTokenLimit":)1048576`, "${1}2097152"),
		"model gemini-2.5-flash-lite reads 2097152 tokens, and the catalogue has 1048576", ""},
}

func TestPlantedDifferencesAreNamedAndNoneIsInvented(t *testing.T) {
	t.Parallel()
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			report, named := check(t, p.provider, provider(t, p.change == nil, p.change), live.Options{}), 0
			for _, l := range report.Lines {
				for _, d := range l.Differences {
					known := strings.Contains(d.What, p.named)
					if known {
						named++
					}
					if known && d.Minor == !report.OK {
						t.Errorf("%+v, and the whole is %t", d, report.OK)
					}
					follows := p.follows != "" && regexp.MustCompile(p.follows).MatchString(d.What)
					if !known && !follows && (!d.Minor || !strings.HasSuffix(d.What, "is new: the catalogue has no price for it")) {
						t.Errorf("invented: %s, %s: %s", l.Kind, l.Dialect, d.What)
					}
				}
			}
			if named == 0 {
				t.Errorf("%s is not named: %+v", p.named, report.Lines)
			}
		})
	}
}

func TestNoSecretAndNoAccountIsShownOrKept(t *testing.T) {
	t.Parallel()
	hidden := []string{secret, "SECRET", "org-Abc123456789", "proj_Xyz987654321", "ada@example.com", "0f8fad5b-d9cb-469f-a165-70867728950e", "acme-team"}
	url := provider(t, false, func(r *http.Request, a *httptest.ResponseRecorder) {
		a.Header().Set("Openai-Organization", "acme-team")
		a.Header().Set("X-Request-Id", "0f8fad5b-d9cb-469f-a165-70867728950e")
		if strings.Contains(r.Header.Get("X-Asked"), `"stream":true`) {
			a.Code = http.StatusForbidden
			a.Header().Set("Content-Type", "application/json")
			a.Body.Reset()
			a.Body.WriteString(`{"error":{"message":"` + strings.Join(append([]string{secret}, hidden[2:6]...), " and ") + ` may not","type":"invalid_request_error","param":null,"code":null},` +
				`"organization":"acme-team"}`)
		}
	})
	dir := t.TempDir()
	report := check(t, "openai", url, live.Options{Record: dir})
	texts, differ := map[string]string{}, 0
	for _, l := range report.Lines {
		for _, d := range l.Differences {
			texts["report "+strconv.Itoa(differ)] = d.What
			differ++
		}
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			text, err := os.ReadFile(path)
			texts[path] = string(text)
			return err
		}
		return err
	})
	if err != nil || len(texts) < 40 || differ == 0 {
		t.Fatalf("%d texts, %d differences, %v", len(texts), differ, err)
	}
	for name, text := range texts {
		for _, word := range hidden {
			if strings.Contains(text, word) {
				t.Errorf("%s has %s: %.300s", name, word, text)
			}
		}
	}
}

// What is kept can be played as the recordings are.
func TestKeptAnswersHaveTheFormOfRecordings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"openai", "anthropic"} { // the second adds to the first
		check(t, name, provider(t, false, nil), live.Options{Record: dir})
	}
	kept, whole, streams := append(providertest.Load(t, dir), providertest.Responses(t, dir)...), 0, 0
	for _, r := range kept {
		if len(r.Body) == 0 || r.Header["content-type"] == "" || !r.Failed() && r.Model == "" {
			t.Errorf("%+v", r)
		}
		switch calls := r.Expect.ToolCalls; {
		case r.Failed():
		case strings.Contains(r.File, "tool_call") && (len(calls) != 1 || calls[0].Name != "tide_table"):
			t.Errorf("%s: %+v", r.File, r.Expect)
		case r.Stream && r.Expect.Usage.Prompt > 0:
			streams++
		case r.Expect.Text != "" && r.Expect.Usage.Completion > 0:
			whole++
		}
	}
	if whole < 10 || streams < 10 {
		t.Errorf("%d recordings, %d whole, %d streams", len(kept), whole, streams)
	}
}

func TestCallsAreLeftOutBeforeTheyCostACent(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "models.yaml")
	models := "models:\n  - {id: claude-haiku-5-5, provider: anthropic, context: 1000000, max_output: 128000, price: {input: 0.9, output: 4.9}}\n"
	if err := os.WriteFile(file, []byte(models), 0o600); err != nil {
		t.Fatal(err)
	}
	left := 0
	report := check(t, "anthropic", provider(t, false, nil), live.Options{}, "MODELS_FILE="+file)
	for _, l := range report.Lines {
		if strings.Contains(l.Why, "and a cent is the limit") {
			left++
		}
	}
	if left == 0 || left > 15 || !report.OK {
		t.Errorf("%d calls are left out: %+v", left, report.Lines)
	}
}
