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
	if a.Status != 200 || strings.Count(a.Body, `"object":"model"`) != 18 || strings.Count(a.Body, `"available":true`) != 0 ||
		strings.Count(a.Body, `"retired"`) < 3 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for query, param := range map[string]string{"kind=image": "kind", "all=yes": "all", "available=1": "available"} {
		if a := p.Get(t, "/v1/models?"+query); a.Status != 400 || a.APIError(t).Code != "invalid_value" || *a.APIError(t).Param != param {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
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
			strings.ToUpper(m), strings.ToUpper(m[:1]) + m[1:], " " + m, m + " ", m + "\n", m + "\t", m + "\u0000", m + "\u200b", "\ufeff" + m,
			m + "\u00a0",
			m + "?", m + "#", m + "/", "/" + m, "./" + m, f.Name + ":" + m, "x/" + m,
			strings.Replace(m, "-", "\u2010", 1), strings.Replace(m, "-", "_", 1), strings.Replace(m, "a", "\u0430", 1) + "\u0301", m + "," + m,
			`"` + m + `"`, "*", "..", m + "\u0000" + m,
		} {
			if a := p.Chat(t, `{"model":`+gatewaytest.Quote(name)+`,`+gatewaytest.HiMessages+`}`); a.Status != 404 ||
				a.APIError(t).Code != "model_not_found" {
				t.Errorf("%q: %d %s", name, a.Status, a.Body)
			}
			if a := p.Get(t, "/v1/models/"+url.PathEscape(name)); a.Status == 200 {
				t.Errorf("%q is listed: %s", name, a.Body)
			}
		}
		if len(u.Requests()) != 0 {
			t.Errorf("%d calls upstream", len(u.Requests()))
		}
		for _, name := range []string{m, "models/" + m, f.Name + "/" + m, m + "[1m]"} {
			if a := p.Chat(t, `{"model":`+gatewaytest.Quote(name)+`,`+gatewaytest.HiMessages+`}`); a.Status != 200 {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		}
		bodies := ""
		for _, r := range u.Requests() {
			bodies += r.Path + string(r.Body)
		}
		if len(u.Requests()) != 4 || strings.Contains(bodies, "models/models") || strings.Contains(bodies, "[1m]") ||
			strings.Contains(bodies, f.Name+"/"+m) {
			t.Errorf("upstream: %s", bodies)
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
			!strings.Contains(one.Body, `"available":true`) {
			t.Errorf("%s", one.Body)
		}
	}
	if a := p.Chat(t, f.Request("")); a.Status != 200 || len(u.Requests()) != 1 {
		t.Errorf("a chat model: %d, and %d calls upstream", a.Status, len(u.Requests()))
	}
	if one := p.Get(t, "/v1/models/"+f.Model); !strings.Contains(one.Body, `"kind":"chat"`) {
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
	gatewaytest.Until(t, "the model is listed", func() bool { return strings.Contains(p.Get(t, "/v1/models").Body, `"id":"gpt-7-nova"`) })
	u.Play(gatewaytest.JSON(200, f.Answer("a")))
	if a := p.Chat(t, `{"model":"gpt-7-nova",`+gatewaytest.HiMessages+`}`); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.Get(t, "/v1/models/text-embedding-9"); a.Status != 200 || !strings.Contains(a.Body, `"kind":"embedding"`) {
		t.Errorf("a model for embeddings: %d %s", a.Status, a.Body)
	}
}

func TestSimulatorAnswersForAllProvidersAndIsLogged(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	for _, model := range []string{"gpt-6-sol", "claude-haiku-4-5", "gemini-3.8-flash"} {
		f := gatewaytest.Provider{Model: model}
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

func TestAliasesChooseTheModelAndTheLedgerHasBoth(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[1]
	u := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("a")))
	p := gatewaytest.Start(t, "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+u.URL, "MODEL_ALIASES=fast="+f.Model+";gpt-*="+f.Model)
	_, key := p.CreateLimitedKey(t, p.Login(t), `"models":["fast"]`)
	for _, name := range []string{"fast", "gpt-9"} {
		a := p.Chat(t, `{"model":"`+name+`",`+gatewaytest.HiMessages+`}`)
		if a.Status != 200 || a.Header.Get("X-Gateway-Model-Alias") != f.Model || a.Header.Get("X-Gateway-Provider") != f.Name {
			t.Errorf("%s: %d %v %s", name, a.Status, a.Header, a.Body)
		}
	}
	if a := p.Chat(t, `{"model":"fast",`+gatewaytest.HiMessages+`}`, "X-API-Key", key); a.Status != 200 {
		t.Errorf("a key that may use the alias: %d %s", a.Status, a.Body)
	}
	if a := p.Chat(t, `{"model":"gpt-9",`+gatewaytest.HiMessages+`}`, "X-API-Key", key); a.Status != 403 {
		t.Errorf("a key that may use the alias, with another: %d %s", a.Status, a.Body)
	}
	if a := p.Chat(t, f.Request("")); a.Status != 200 || a.Header.Get("X-Gateway-Model-Alias") != "" {
		t.Errorf("the model's own name: %d %v", a.Status, a.Header)
	}
	for _, r := range u.Requests() {
		if !strings.Contains(string(r.Body), `"`+f.Model+`"`) {
			t.Errorf("%s", r.Body)
		}
	}
	gatewaytest.Until(t, "the usage has the model", func() bool {
		return strings.Contains(p.Call(t, "GET", "/v1/usage?group_by=model", "", "X-API-Key", key).Body, `"model":"`+f.Model+`"`)
	})
	if one := p.Get(t, "/v1/models/fast"); one.Status != 200 {
		t.Errorf("%d %s", one.Status, one.Body)
	}
	_, err := gatewaytest.TryStart(t, "MODEL_ALIASES=a=nothing;b=a")
	if err == nil || !strings.Contains(err.Error(), `MODEL_ALIASES: the target of "a" is "nothing"`) {
		t.Errorf("%v", err)
	}
}

func TestAKeyMayBeLimitedToAFamilyOrAProvider(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[1]
	u := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("a")))
	p := gatewaytest.Start(t, "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+u.URL, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	login := p.Login(t)
	for _, list := range []string{`["claude-haiku-*"]`, `["anthropic/*"]`, `["anthropic/claude-haiku-*"]`} {
		_, key := p.CreateLimitedKey(t, login, `"models":`+list)
		for name, status := range map[string]int{f.Model: 200, "claude-haiku-4-5": 200, "anthropic/claude-haiku-4-5": 200, "gpt-5": 403,
			"openai/gpt-5": 403} {
			if a := p.Chat(t, `{"model":"`+name+`",`+gatewaytest.HiMessages+`}`, "X-API-Key", key); a.Status != status {
				t.Errorf("%s of a key for %s: %d %s", name, list, a.Status, a.Body)
			}
		}
		if a := p.Call(t, "GET", "/v1/models?available=true", "", "X-API-Key", key); strings.Contains(a.Body, `"gpt-`) ||
			!strings.Contains(a.Body, f.Model) {
			t.Errorf("%s: %s", list, a.Body)
		}
	}
	for list, says := range map[string]string{
		`["cluade-*"]`:                 "models[0]: no model has a name that begins with `cluade-`",
		`["gpt-5","cluade-haiku-4-5"]`: "models[1]: the model `cluade-haiku-4-5` does not exist; similar names are claude-haiku-4-5",
	} {
		a := p.Call(t, "POST", "/auth/keys", `{"name":"k","models":`+list+`}`, login...)
		if a.Status != 400 || !strings.HasPrefix(a.APIError(t).Message, says) {
			t.Errorf("%s: %d %s", list, a.Status, a.Body)
		}
	}
}
