package providers

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// A server's list of models is read, and what it lists is kept over a change of the file
// while the server is down.
func TestTheModelsOfAnOwnProviderAreDiscovered(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	url := gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/v1/models":
			_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"llama3.1:8b-instruct","object":"model"},{"id":"openai/gpt-4o",` +
				`"object":"model"}]}`))
		default:
			_, _ = w.Write([]byte(openAI().Answer("fine")))
		}
	}))
	text := "providers:\n  - {name: laptop, preset: ollama, base_url: '" + url + "'}\n"
	models := write(t, "models.yaml", text)
	p := gatewaytest.Start(t, "MODEL_DISCOVERY=true", "MODELS_FILE="+models)
	listed := func() bool { return strings.Contains(p.Get(t, "/v1/models").Body, `"id":"llama3.1:8b-instruct"`) }
	gatewaytest.Until(t, "its models are listed", listed)
	for _, model := range []string{"llama3.1:8b-instruct", "laptop/llama3.1:8b-instruct", "openai/gpt-4o"} { // OpenAI is not configured
		if a := p.Chat(t, ask(model, "")); a.Status != 200 || a.Header.Get("X-Gateway-Provider") != "laptop" {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
		}
	}
	down.Store(true)
	rewrite(t, models, text+"aliases: {small: laptop/llama3.1:8b-instruct}\n")
	gatewaytest.Until(t, "the alias is listed", func() bool { return strings.Contains(p.Get(t, "/v1/models").Body, `"id":"small"`) })
	if !listed() {
		t.Error("the models of the last discovery are gone")
	}
}

// An id that a provider lists does not take the place of another provider's model.
func TestTheNameOfAConfiguredProviderIsNotThatOfAnotherOnesModel(t *testing.T) {
	t.Parallel()
	openai := providertest.Serve(t)
	answers(openai, "fine", 1)
	seller := gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[{"id":"openai/gpt-4o"},{"id":"acme/one"}]}`))
	}))
	p := gatewaytest.Start(t, "MODEL_DISCOVERY=true", "OPENAI_API_KEY=sk-own", "OPENAI_BASE_URL="+openai.URL,
		"OPENROUTER_API_KEY=sk-or", "OPENROUTER_BASE_URL="+seller)
	gatewaytest.Until(t, "the list is read", func() bool { return strings.Contains(p.Get(t, "/v1/models").Body, `"id":"acme/one"`) })
	answers(openai, "fine", 1)
	if a := p.Chat(t, ask("openai/gpt-4o", "")); a.Header.Get("X-Gateway-Provider") != "openai" {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	for model, want := range map[string]string{"openrouter/openai/gpt-4o": "openrouter", "acme/one": "openrouter"} {
		if a := p.Chat(t, ask(model, "")); a.Header.Get("X-Gateway-Provider") != want {
			t.Errorf("%s: %d %v %s", model, a.Status, a.Header, a.Body)
		}
	}
}

// What a provider lists does not take the names of another one's models, not even those that
// the other one does not list.
func TestProvidersListDoesNotTakeTheNamesOfAnotherOnesModels(t *testing.T) {
	t.Parallel()
	lists := func(ids ...string) string {
		return gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				_, _ = w.Write([]byte(`{"data":[{"id":"` + strings.Join(ids, `"},{"id":"`) + `"}]}`))
				return
			}
			_, _ = w.Write([]byte(openAI().Answer("fine")))
		}))
	}
	p := gatewaytest.Start(t, "MODEL_DISCOVERY=true", "OPENAI_API_KEY=sk-own", "OPENAI_BASE_URL="+lists("gpt-5.4", "gpt-4o"),
		"ANTHROPIC_API_KEY=sk-proxy", "ANTHROPIC_BASE_URL="+lists("claude-opus-5", "gpt-4o", "gpt-5", "o3", "gpt-4.1"),
		"OLLAMA_BASE_URL="+lists("llama3", "gpt-6-sol", "gpt-4o-2029-01-01", "claude-sonnet-9", "gpt-4", "gpt-oss:20b"))
	listed := func() string { return p.Get(t, "/v1/models").Body }
	gatewaytest.Until(t, "all lists are read", func() bool {
		all := listed()
		return strings.Contains(all, `"id":"gpt-4o"`) && strings.Contains(all, `"id":"claude-opus-5"`) && strings.Contains(all, `"id":"llama3"`)
	})
	for model, want := range map[string]string{
		"gpt-4o": "openai", "gpt-5": "openai", "o3": "openai", "gpt-6-sol": "openai", "gpt-4o-2029-01-01": "openai", "gpt-4": "openai",
		"llama3": "ollama", "gpt-oss:20b": "ollama", "ollama/gpt-6-sol": "ollama", "ollama/claude-sonnet-9": "ollama",
	} {
		if a := p.Chat(t, ask(model, "")); a.Header.Get("X-Gateway-Provider") != want {
			t.Errorf("%s goes to %q: %d %s", model, a.Header.Get("X-Gateway-Provider"), a.Status, a.Body)
		}
	}
	if a := p.Chat(t, ask("claude-sonnet-9", "")); a.Header.Get("X-Gateway-Provider") == "ollama" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for _, id := range []string{"gpt-6-sol", "claude-sonnet-9", "o3"} {
		if strings.Contains(listed(), `"id":"`+id+`"`) {
			t.Errorf("%s is listed", id)
		}
	}
	log := p.Log.String()
	for _, both := range []string{`"provider":"ollama","other":"openai"`, `"provider":"ollama","other":"anthropic"`, `"provider":"anthropic","other":"openai"`} {
		if n := strings.Count(log, both); n != 1 {
			t.Errorf("%d warnings of %s", n, both)
		}
	}
}

func TestAProviderHasItsOwnTimeouts(t *testing.T) {
	t.Parallel()
	silent := providertest.Serve(t)
	p := gatewaytest.Start(t, "MAX_RETRIES=0", "MODELS_FILE="+write(t, "models.yaml", `
providers:
  - {name: response, type: openai, base_url: '`+silent.URL+`', auth: none, timeouts: {response: 50ms}}
  - {name: first, type: openai, base_url: '`+silent.URL+`', auth: none, timeouts: {first_token: 50ms}}
`))
	for name, script := range map[string]providertest.Script{
		"response": {End: providertest.Hold},
		"first":    gatewaytest.Events(providertest.Hold, ": nothing yet\n\n"),
	} {
		silent.Play(script)
		began := time.Now()
		if a := p.Chat(t, ask(name+"/m", gatewaytest.Streaming)); a.Status != 504 || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %d after %s: %s", name, a.Status, time.Since(began), a.Body)
		}
	}
}

// The simulator plays the providers of the file, whose keys may be missing.
func TestTheSimulatorPlaysOwnProviders(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "GROQ_API_KEY=gsk-one", "MODELS_FILE="+write(t, "models.yaml", `
providers:
  - {name: azure-eu, preset: azure, base_url: 'https://azure.invalid/openai/v1', keys: {env: AZURE_EU_KEY}, models: [gpt-5.5]}
  - {name: claude, type: anthropic, base_url: 'https://claude.invalid', keys: {file: /nowhere}}
`))
	for model, provider := range map[string]string{"gpt-5.5": "azure-eu", "claude/claude-haiku-4-5": "claude", "groq/gpt-6-sol": "groq"} {
		if a := p.Chat(t, ask(model, "")); a.Status != 200 || a.Header.Get("X-Gateway-Provider") != provider {
			t.Errorf("%s: %d %v %s", model, a.Status, a.Header, a.Body)
		}
	}
}
