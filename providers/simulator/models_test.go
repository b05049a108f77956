package simulator_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/simulatortest"
)

// What a provider does not sell, no longer serves or cannot take is refused in its words.
func TestOnlyModelsThatAreServedAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte("models: [{id: ours, provider: openai, upstream: ft-ours}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := catalog.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	at := func(now time.Time) *httptest.Server {
		server := httptest.NewServer(simulator.New(simulator.Options{
			Now: func() time.Time { return now }, Catalog: func() *catalog.Catalog { return list },
		}))
		t.Cleanup(server.Close)
		return server
	}
	before, after := at(simulatortest.Time()), at(time.Date(2026, 12, 15, 0, 0, 0, 0, time.UTC))
	chat, messages, responses := simulatortest.OpenAI, simulatortest.Anthropic, simulatortest.OpenAI.At("/v1/responses")
	flash := simulatortest.Gemini("gemini-2.5-flash", "generateContent")
	hello := func(model string) string {
		return `{"model":"` + model + `","max_tokens":99,"messages":[` + simulatortest.Hello + `]}`
	}
	contents := simulatortest.ContentsBody("", simulatortest.HelloContent)
	long := strings.Repeat("word ", 9000)
	for _, tt := range []struct {
		server *httptest.Server
		client simulatortest.Client
		body   string
		status int
		says   string
	}{
		{before, chat, hello("gpt-4"), 200, "Hello there"},
		{after, chat, hello("gpt-4"), 404, "The model `gpt-4` has been deprecated"},
		{after, chat, hello("ft-ours"), 200, "Hello there"},
		{after, chat, hello("gpt-6-so"), 404, `"code":"model_not_found"`},
		{before, messages, hello("claude-3-haiku-20240307"), 200, "Hello there"},
		{after, messages, hello("claude-3-haiku-20240307"), 404, `"message":"model: claude-3-haiku-20240307"`},
		{after, messages, hello("claude-haiku-4-6"), 404, `"not_found_error"`},
		{before, flash, contents, 200, "Hello there"},
		{after, flash, contents, 404, "models/gemini-2.5-flash is not found for API version v1beta"},
		{after, simulatortest.Gemini("gemini-9", "generateContent"), contents, 404, `"NOT_FOUND"`},
		{after, responses, `{"model":"gpt-6-so","input":"hi"}`, 400, `"code":"model_not_found"`},
		{before, responses, `{"model":"gpt-4","input":"` + long + `"}`, 400, "Your input exceeds the context window of this model."},
		{before, chat, strings.Replace(hello("gpt-4"), "Hello there", long, 1), 400, "maximum context length is 8192 tokens"},
		{before, chat, `{"model":"gpt-4","messages":[{"role":"user","content":[{"type":"text","text":"x"},` +
			`{"type":"image_url","image_url":{"url":"https://a.example/x.png"}}]}]}`, 400, `"param":"messages.[0].content.[1].type"`},
	} {
		if a := tt.client.Send(t, tt.server, http.MethodPost, tt.body); a.Status != tt.status || !strings.Contains(string(a.Body), tt.says) {
			t.Errorf("%s %.60s: %d %s, want %s", tt.client.Path, tt.body, a.Status, a.Body, tt.says)
		}
	}
	for _, c := range []simulatortest.Client{chat.At("/v1/models"), messages.At("/v1/models?limit=100"), {Header: flash.Header, Path: "/v1beta/models"}} {
		a := string(c.Send(t, after, http.MethodGet, "").Body)
		for _, gone := range []string{`"gpt-4"`, `"claude-3-haiku-20240307"`, `"models/gemini-2.5-flash"`} {
			if len(a) < 500 || strings.Contains(a, gone) {
				t.Errorf("%s lists %s: %s", c.Path, gone, a)
			}
		}
	}
}
