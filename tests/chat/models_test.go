package chat

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

func TestModelListIsTheCatalogue(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x")
	a := p.Get(t, "/v1/models")
	if a.Status != 200 || strings.Count(a.Body, `"object":"model"`) != 18 || strings.Count(a.Body, `"available":true`) != 3 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if one := p.Get(t, "/v1/models/gemini-2.5-flash"); one.Status != 200 || !strings.Contains(one.Body, `"owned_by":"gemini"`) ||
		!strings.Contains(one.Body, `"available":false`) {
		t.Errorf("%d %s", one.Status, one.Body)
	}
}

func TestModelIDMayContainSlashes(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("a")))
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte("models: [{id: openai/gpt-4, provider: openai, upstream: gpt-4}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := gatewaytest.Start(t, "MODELS_FILE="+file, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	for _, path := range []string{"/v1/models/openai/gpt-4", "/v1/models/openai%2Fgpt-4"} {
		resp, err := http.Get(p.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(text), `"id":"openai/gpt-4"`) || strings.Contains(string(text), `"created":0,`) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
	}
	if a := p.Get(t, "/v1/models/openai%2Fnope"); a.Status != 404 || a.APIError(t).Code != "model_not_found" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.Chat(t, strings.Replace(f.Request(""), "gpt-4", "openai/gpt-4", 1)); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestModelNamesMatchExactly(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		u.Play(gatewaytest.JSON(200, f.Answer("a")))
		m := f.Model
		for _, name := range []string{
			strings.ToUpper(m), strings.ToUpper(m[:1]) + m[1:], " " + m, m + " ", m + "\n", m + "\t", m + "\u0000", m + "\u200b", "\ufeff" + m, m + "\u00a0",
			m[:len(m)-1], m + "0", m + "-latest", m + ":latest", m + "@1", m + "?", m + "#", m + "/", "/" + m, "./" + m, "models/" + m, f.Name + "/" + m, f.Name + ":" + m,
			strings.Replace(m, "-", "\u2010", 1), strings.Replace(m, "-", "_", 1), strings.Replace(m, "a", "\u0430", 1) + "\u0301", m + "," + m, `"` + m + `"`, "*", "..", m + "\u0000" + m,
		} {
			if a := p.Chat(t, `{"model":`+gatewaytest.Quote(name)+`,`+gatewaytest.HiMessages+`}`); a.Status != 404 ||
				a.APIError(t).Code != "model_not_found" {
				t.Errorf("%q: %d %s", name, a.Status, a.Body)
			}
			if a := p.Get(t, "/v1/models/"+url.PathEscape(name)); a.Status == 200 {
				t.Errorf("%q is listed: %s", name, a.Body)
			}
		}
		if a := p.Chat(t, f.Request("")); a.Status != 200 || len(u.Requests()) != 1 {
			t.Errorf("the exact name: %d, and %d calls upstream", a.Status, len(u.Requests()))
		}
	})
}

func TestEmbeddingModelIsRefusedByNameForChat(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	file := filepath.Join(t.TempDir(), "models.yaml")
	text := `
models:
  - {id: vectors, provider: openai, upstream: text-embedding-3-small, price: {input: 0.02}}
  - {id: local-vectors, provider: openai, upstream: bge-m3, kind: embedding}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	u := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("a")))
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, "MODELS_FILE="+file)
	for _, id := range []string{"vectors", "local-vectors"} {
		for _, members := range []string{"", `,"stream":true`} {
			a := p.Chat(t, strings.Replace(f.Request(members), f.Model, id, 1))
			if e := a.APIError(t); a.Status != 400 || e.Code != "unsupported_value" || e.Param == nil || *e.Param != "model" ||
				e.Message != "the model `"+id+"` is for embeddings, not for chat completions" {
				t.Errorf("%s%s: %d %s", id, members, a.Status, a.Body)
			}
		}
		if one := p.Get(t, "/v1/models/"+id); !strings.Contains(one.Body, `"kind":"embedding"`) ||
			!strings.Contains(one.Body, `"available":false`) {
			t.Errorf("%s", one.Body)
		}
	}
	if a := p.Chat(t, f.Request("")); a.Status != 200 || len(u.Requests()) != 1 {
		t.Errorf("a chat model: %d, and %d calls upstream", a.Status, len(u.Requests()))
	}
	if one := p.Get(t, "/v1/models/"+f.Model); !strings.Contains(one.Body, `"kind":"chat"`) || !strings.Contains(one.Body, `"available":true`) {
		t.Errorf("%s", one.Body)
	}
}

func TestRetiredModelsNameTheirSuccessor(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	gone := gatewaytest.JSON(
		404,
		`{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`,
	)
	u := providertest.Serve(t, gone)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	a := p.Chat(t, f.Request(""))
	if e := a.APIError(t); a.Status != 404 || e.Code != "provider_error" || !strings.Contains(e.Message, "gpt-6-sol") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	redirecting := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, "MODEL_REDIRECT_RETIRED=true")
	u.Play(gatewaytest.JSON(200, f.Answer("a")))
	a = redirecting.Chat(t, f.Request(""))
	if a.Status != 200 || a.Header.Get("X-Gateway-Model-Redirected") != "gpt-6-sol" ||
		!strings.Contains(string(u.Requests()[0].Body), `"model":"gpt-6-sol"`) {
		t.Errorf("%d %v", a.Status, a.Header)
	}
}

func TestDiscoveredModelsBecomeCallable(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(
		t,
		gatewaytest.JSON(200, `{"object":"list","data":[{"id":"gpt-7-nova","created":9},{"id":"text-embedding-9"}]}`),
	)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, "MODEL_DISCOVERY=true")
	gatewaytest.Until(t, "the model is listed", func() bool { return p.Get(t, "/v1/models/gpt-7-nova").Status == 200 })
	u.Play(gatewaytest.JSON(200, f.Answer("a")))
	if a := p.Chat(t, `{"model":"gpt-7-nova",`+gatewaytest.HiMessages+`}`); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.Get(t, "/v1/models/text-embedding-9"); a.Status != 404 {
		t.Errorf("a model that does not chat is listed: %s", a.Body)
	}
}

func TestSimulatorAnswersForAllProvidersAndIsLogged(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	for _, f := range gatewaytest.Providers() {
		a := p.Chat(t, f.Request(""))
		if a.Status != 200 || !strings.Contains(a.Body, `"system_fingerprint":"simulated"`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		s := p.Chat(t, f.Request(gatewaytest.Streaming))
		if s.Err != nil || strings.Count(s.Body, `"system_fingerprint":"simulated"`) != strings.Count(s.Body, "data: {") ||
			!strings.HasSuffix(s.Body, "[DONE]\n\n") {
			t.Errorf("%v %s", s.Err, s.Body)
		}
	}
	if a := p.Get(t, "/health"); a.Status != 200 || !strings.Contains(a.Body, `"simulated":true`) {
		t.Errorf("%s", a.Body)
	}
	if !strings.Contains(p.Log.String(), "SIMULATOR=true") {
		t.Error("the log does not say so")
	}
}
