package providers

import (
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// three starts a gateway with Azure, Groq and Ollama of a models file.
func three(t *testing.T, settings ...string) (p *gatewaytest.Program, azure, groq, ollama *providertest.Upstream) {
	t.Helper()
	azure, groq, ollama = providertest.Serve(t), providertest.Serve(t), providertest.Serve(t)
	file := write(t, "models.yaml", `
providers:
  - name: azure-eu
    preset: azure
    base_url: `+azure.URL+`/openai/v1
    keys: {env: AZURE_EU_KEY}
    headers: {X-Team: gateway}
    query: {api-version: preview}
    models:
      - {id: gpt-4o, upstream: chat-prod}
      - {id: gpt-5, upstream: thinking-prod}
  - name: groq
    preset: groq
    base_url: `+groq.URL+`/openai/v1
    keys: {file: `+write(t, "groq", "gsk-one\n")+`}
    discovery: true
    models:
      - {id: llama-3.3-70b-versatile, context: 131072, price: {input: 0.59, output: 0.79}}
  - name: laptop
    preset: ollama
    base_url: `+ollama.URL+`/v1
    models: [qwen3:8b]
`)
	p = gatewaytest.Start(t, append([]string{"MODELS_FILE=" + file, "AZURE_EU_KEY=azure-one"}, settings...)...)
	return p, azure, groq, ollama
}

func TestProvidersOfTheModelsFileAnswer(t *testing.T) {
	t.Parallel()
	f := openAI()
	db := t.TempDir() + "/gateway.db"
	p, azure, groq, ollama := three(t, "DATABASE_URL=sqlite:"+db)
	for _, test := range []struct {
		model, provider, upstream, path, header, key string
		from                                         *providertest.Upstream
	}{
		{"gpt-4o", "azure-eu", "chat-prod", "/openai/v1/chat/completions?api-version=preview", "Api-Key", "azure-one", azure},
		{"azure-eu/gpt-5", "azure-eu", "thinking-prod", "/openai/v1/chat/completions?api-version=preview", "Api-Key", "azure-one", azure},
		{"llama-3.3-70b-versatile", "groq", "llama-3.3-70b-versatile", "/openai/v1/chat/completions", "Authorization", "Bearer gsk-one", groq},
		{"groq/another-model", "groq", "another-model", "/openai/v1/chat/completions", "Authorization", "Bearer gsk-one", groq},
		{"qwen3:8b", "laptop", "qwen3:8b", "/v1/chat/completions", "Authorization", "", ollama},
	} {
		for _, members := range []string{"", gatewaytest.Streaming} {
			test.from.Play(f.WholeAnswer(members, "fine"))
			a := p.Chat(t, ask(test.model, members))
			sent := test.from.Requests()
			if a.Status != 200 || gatewaytest.TextOf(a.Body) != "fine" || len(sent) != 1 || a.Header.Get("X-Gateway-Provider") != test.provider {
				t.Errorf("%s%s: %d %v %d calls %s", test.model, members, a.Status, a.Header, len(sent), a.Body)
				continue
			}
			if sent[0].Path != test.path || sent[0].Header.Get(test.header) != test.key ||
				!strings.Contains(string(sent[0].Body), `"model":"`+test.upstream+`"`) {
				t.Errorf("%s: sent %s %v %s", test.model, sent[0].Path, sent[0].Header, sent[0].Body)
			}
			if test.provider == "azure-eu" && (sent[0].Header.Get("X-Team") != "gateway" || sent[0].Header.Get("Authorization") != "") {
				t.Errorf("%s: headers %v", test.model, sent[0].Header)
			}
			row := gatewaytest.AwaitLedgerRow(t, db, a.Header.Get("X-Request-Id"))
			if priced := test.model != "groq/another-model"; row.Provider() != test.provider || row.Priced != priced {
				t.Errorf("%s: the ledger has %+v", test.model, row)
			}
		}
	}
	if list := p.Get(t, "/v1/models").Body; !strings.Contains(list, `"owned_by":"azure-eu"`) ||
		!strings.Contains(list, `"owned_by":"laptop"`) {
		t.Errorf("the list has no model of the own providers: %s", list)
	}
	if health := p.Get(t, "/health").Body; !strings.Contains(health, `"azure-eu":"healthy"`) ||
		!strings.Contains(health, `"laptop":"healthy"`) ||
		!strings.Contains(health, `"openai":"unhealthy"`) || !strings.Contains(health, `"status":"healthy"`) {
		t.Errorf("%s", health)
	}
	if up := metric(t, p, `modelgateway_provider_up{provider="groq"}`); !strings.HasSuffix(up, " 1") {
		t.Errorf("metrics: %q", up)
	}
}

// The traits of a model come from its id where the name of its deployment says nothing.
func TestADeploymentHasTheTraitsOfItsModel(t *testing.T) {
	t.Parallel()
	p, azure, _, _ := three(t)
	answers(azure, "fine", 1)
	a := p.Chat(t, ask("gpt-5", `,"max_tokens":50,"temperature":0.2`))
	sent := azure.Requests()
	if a.Status != 200 || len(sent) != 1 || !strings.Contains(string(sent[0].Body), `"max_completion_tokens":50`) ||
		strings.Contains(string(sent[0].Body), "temperature") {
		t.Errorf("%d %s: sent %s", a.Status, a.Body, sent[0].Body)
	}
}

func TestToolsAndErrorsOfOwnProviders(t *testing.T) {
	t.Parallel()
	p, azure, groq, ollama := three(t, "MAX_RETRIES=0")
	const call = `{"id":"x","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,"message":{"role":"assistant",` +
		`"content":null,` +
		`"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],` +
		`"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`
	const tools = `,"tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object",` +
		`"properties":{"a":{"type":"integer"}}}}}]`
	for model, u := range map[string]*providertest.Upstream{"gpt-4o": azure, "llama-3.3-70b-versatile": groq, "qwen3:8b": ollama} {
		u.Play(gatewaytest.JSON(200, call))
		a := p.Chat(t, ask(model, tools))
		if a.Status != 200 || !strings.Contains(a.Body, `"name":"add"`) || !strings.Contains(a.Body, `"finish_reason":"tool_calls"`) {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
		}
		sent := map[string]string{"gpt-4o": "azure-one", "llama-3.3-70b-versatile": "gsk-one"}[model]
		for status, want := range map[int]int{400: 400, 401: 502, 404: 404, 429: 429, 500: 502} {
			u.Play(gatewaytest.JSON(status, `{"error":{"message":"not with `+sent+`","type":"x","code":null}}`))
			a := p.Chat(t, ask(model, ""))
			if a.Status != want || sent != "" && strings.Contains(a.Body, sent) {
				t.Errorf("%s after %d: %d %s", model, status, a.Status, a.Body)
			}
		}
	}
}

func TestPresetsNeedOnlyTheEnvironment(t *testing.T) {
	t.Parallel()
	azure, groq, ollama := providertest.Serve(t), providertest.Serve(t), providertest.Serve(t)
	p := gatewaytest.Start(t, "AZURE_OPENAI_API_KEY=azure-one", "AZURE_OPENAI_BASE_URL="+azure.URL+"/openai/v1/", "GROQ_API_KEY=gsk-one",
		"GROQ_BASE_URL="+groq.URL+"/openai/v1", "OLLAMA_BASE_URL="+ollama.URL)
	for model, u := range map[string]*providertest.Upstream{"gpt-4o": azure, "groq/llama-3.3-70b-versatile": groq, "ollama/qwen3:8b": ollama} {
		answers(u, "fine", 1)
		if a := p.Chat(t, ask(model, "")); a.Status != 200 || len(u.Requests()) != 1 {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
		}
	}
	if a := p.Chat(t, ask("mistral/x", "")); a.Status != 404 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// Other programs read the same variables: half of a preset must not stop the gateway.
func TestHalfOfAPresetIsAWarning(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "AZURE_OPENAI_API_KEY=azure-one", "OLLAMA_API_KEY=x", "OPENAI_API_KEY=sk-own")
	for _, want := range []string{
		"AZURE_OPENAI_API_KEY is set without AZURE_OPENAI_BASE_URL: Azure OpenAI is not configured",
		"OLLAMA_API_KEY is set without OLLAMA_BASE_URL",
	} {
		if !strings.Contains(p.Log.String(), want) {
			t.Errorf("the log lacks: %s", want)
		}
	}
}

func TestAPresetThatIsNotConfiguredIsNamedWithItsSetting(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x")
	for model, want := range map[string]string{"groq/llama-3.3-70b-versatile": "GROQ_API_KEY", "ollama/qwen3:8b": "OLLAMA_BASE_URL"} {
		if a := p.Chat(t, ask(model, "")); a.Status != 404 || !strings.Contains(a.APIError(t).Message, "set "+want) {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
		}
	}
}

// Two providers of one type have their own keys, circuits and health.
func TestTwoProvidersOfOneTypeHaveTheirOwnHealth(t *testing.T) {
	t.Parallel()
	good, bad := providertest.Serve(t), providertest.Serve(t)
	p := gatewaytest.Start(t, "MAX_RETRIES=0", "EU_API_KEY=a", "US_API_KEY=b", "MODELS_FILE="+write(t, "models.yaml", `
providers:
  - {name: eu, type: openai, base_url: '`+good.URL+`', keys: {env: EU_API_KEY}}
  - {name: us, type: openai, base_url: '`+bad.URL+`', keys: {env: US_API_KEY}}
`))
	broken := make([]providertest.Script, 12)
	for i := range broken {
		broken[i] = gatewaytest.JSON(500, `{"error":{"message":"broken"}}`)
	}
	bad.Play(broken...)
	answers(good, "fine", 12)
	for range 12 {
		if a := p.Chat(t, ask("us/m", "")); a.Status < 500 || a.APIError(t).Provider != "us" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if a := p.Chat(t, ask("eu/m", "")); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	health := p.Get(t, "/health").Body
	if !strings.Contains(health, `"eu":"healthy"`) || !strings.Contains(health, `"us":"degraded"`) ||
		!strings.Contains(health, `"status":"degraded"`) {
		t.Errorf("%s", health)
	}
	if calls := metric(t, p, `modelgateway_upstream_retries_total{provider="us"}`); calls == "" {
		t.Error("no metrics of the provider")
	}
	if n := len(bad.Requests()); n >= 12 {
		t.Errorf("the circuit never opened: %d calls", n)
	}
}

func TestAModelsFileWithABadProviderIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- {name: a, type: openai, keys: sk-secret-0123456789}":                                "line 2: a key is never in this file",
		"- {name: a, type: openai, keys: [sk-secret-0123456789]}":                              "line 2: a key is never in this file",
		"- {name: a, type: openai, api_key: sk-secret-0123456789}":                             "line 2: providers[0] a: a key is never in this file",
		"- {name: a, type: openai, keys: {env: sk-secret-0123456789}}":                         "line 2: env must be the name of a variable",
		"- {name: a, type: openai, headers: {authorization: sk-secret}, keys: {env: A_KEY}}":   "a key belongs in keys",
		"- {name: a, type: openai, keys: {env: A_KEY}}":                                        "the environment variable A_KEY is not set",
		"- {name: a, type: openai, keys: {file: /nowhere/key}}":                                "keys: the file /nowhere/key: the file cannot be read",
		"- {name: a, type: openai}":                                                            "keys are missing",
		"- {name: a, type: openai, auth: none, base_url: 'ftp://a'}":                           "base_url: does not begin with http://",
		"- {name: a, type: acme, auth: none}":                                                  "type must be one of anthropic, openai, gemini",
		"- {name: a, preset: acme}":                                                            "preset must be one of bedrock",
		"- {name: openai, type: openai, auth: none}":                                           "choose another",
		"- {name: A b, type: openai, auth: none}":                                              "name must be of small letters",
		"- {name: a, type: openai, auth: none}\n  - {name: a, type: openai, auth: none}":       "line 3: providers[1] a: listed twice",
		"- {name: a, type: openai, auth: basic}":                                               "line 2: auth must be bearer, none, {header: NAME}, or one of",
		"- {name: a, type: openai, auth: none, timeouts: {idle: -1s}}":                         "a timeout is negative",
		"- {name: a, type: openai, auth: none, url: x}":                                        "line 2: unknown field url",
		"- {name: a, type: openai, auth: none, models: [{id: m, prize: 3}]}":                   "unknown field prize",
		"- {name: a, type: openai, auth: none, models: [m, m]}":                                "models[1] m: listed twice",
		"- {name: a, preset: azure, auth: none}":                                               "base_url is missing",
		"- {name: a, type: openai, auth: none}\nmodels: [{id: m, upstreams: [{provider: b}]}]": "provider must be one of anthropic, openai, gemini, a, not \"b\"",
	} {
		_, err := gatewaytest.TryStart(t, "MODELS_FILE="+write(t, "models.yaml", "providers:\n  "+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}
