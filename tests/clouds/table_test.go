package clouds

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"modelgateway/tests/cloudtest"
	"modelgateway/tests/gatewaytest"
)

// family is a model family at a cloud, with a name that stays.
type family struct {
	name, model, provider string
	counts                bool // the cloud counts its tokens
}

const sonnet = "claude-sonnet-4-5-20250929"

func families() []family {
	return []family{
		{"bedrock-claude", "bedrock/us.anthropic." + sonnet + "-v1:0", "bedrock", true},
		{"bedrock-claude-plain-name", "bedrock/" + sonnet, "bedrock", true},
		{"bedrock-claude-arn", "bedrock/arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic." + sonnet + "-v1:0", "bedrock", true},
		{"bedrock-claude-uncounted", "bedrock/claude-opus-4-8", "bedrock", false},
		{"bedrock-claude-application", "claude-of-our-team", "bedrock", false},
		{"bedrock-nova", "bedrock/amazon.nova-pro-v1:0", "bedrock", true},
		{"bedrock-nova-application", "nova-of-our-team", "bedrock", false},
		{"bedrock-gpt-oss", "bedrock/openai.gpt-oss-120b-1:0", "bedrock", false},
		{"vertex-claude", "vertex/" + sonnet, "vertex", true},
		{"vertex-gemini", "vertex/gemini-2.5-flash", "vertex", true},
		{"vertex-llama", "vertex/meta/llama-3.3-70b-instruct-maas", "vertex", false},
		{"azure-gpt", "azure/gpt-4.1", "azure", false},
		{"foundry-claude", "foundry/" + sonnet, "foundry", true},
	}
}

// applications are models of an operator, behind profiles whose ids do not say which model
// they are of.
const applications = `
models:
  - id: claude-of-our-team
    price: {input: 3, output: 15}
    upstreams: [{provider: bedrock, upstream: '` + cloudtest.ClaudeProfile + `'}]
  - id: nova-of-our-team
    price: {input: 1, output: 3}
    upstreams: [{provider: bedrock, upstream: '` + cloudtest.NovaProfile + `'}]
`

func ask(model, members string) string { return `{"model":"` + model + `",` + members + `}` }

func TestEveryFamilyAnswersInEveryDialect(t *testing.T) {
	t.Parallel()
	p, _ := all(t, "MODELS_FILE="+write(t, "models.yaml", applications))
	for _, f := range families() {
		for _, d := range dialects() {
			for way, streaming := range map[string]string{"whole": "", "streamed": d.streaming} {
				t.Run(f.name+"/"+d.name+"/"+way, func(t *testing.T) {
					a := p.Call(t, http.MethodPost, d.path, ask(f.model, d.prompt("Hello there")+streaming))
					got := d.read(a.Body)
					if !answered(t, a, f) || !strings.Contains(got.text, "simulated answer") || !strings.Contains(got.text, "Hello there") ||
						got.in == 0 || got.out == 0 {
						t.Errorf("%+v of %s", got, a.Body)
					}
				})
				t.Run(f.name+"/"+d.name+"/"+way+"/tool", func(t *testing.T) {
					a := p.Call(t, http.MethodPost, d.path, ask(f.model, d.prompt("What is the weather in Paris?")+d.tool+streaming))
					got := d.read(a.Body)
					var arguments struct{ City string }
					if err := json.Unmarshal([]byte(got.arguments), &arguments); !answered(t, a, f) || err != nil || got.tool != "weather" ||
						arguments.City == "" || got.in == 0 || got.out == 0 {
						t.Errorf("%+v of %s", got, a.Body)
					}
				})
			}
		}
	}
	checkSecrets(t, p)
}

// answered reports whether it is an answer of the family's provider.
func answered(t *testing.T, a gatewaytest.Answer, f family) bool {
	t.Helper()
	if a.Status != http.StatusOK || a.Err != nil || a.Header.Get("X-Gateway-Provider") != f.provider {
		t.Errorf("%d %v, by %q", a.Status, a.Err, a.Header.Get("X-Gateway-Provider"))
		return false
	}
	return true
}

// The second turn of a task: the call of a tool, and what it returned.
func TestToolResultsReachEveryFamily(t *testing.T) {
	t.Parallel()
	p, _ := all(t)
	const turns = `"max_tokens":500,"messages":[{"role":"user","content":"weather in Paris?"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01A","name":"weather","input":{"city":"Paris"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01A","content":"sunny, 21 degrees"}]}]`
	for _, f := range families() {
		if strings.HasSuffix(f.name, "-application") {
			continue
		}
		for _, streaming := range []string{"", `,"stream":true`} {
			a := p.Call(t, http.MethodPost, "/v1/messages", ask(f.model, turns+dialects()[2].tool+streaming))
			if got := readMessage(a.Body); a.Status != 200 || !strings.Contains(got.text, "sunny, 21 degrees") {
				t.Errorf("%s%s: %d %s", f.name, streaming, a.Status, a.Body)
			}
		}
	}
}

func TestTokensAreCounted(t *testing.T) {
	t.Parallel()
	p, _ := all(t, "MODELS_FILE="+write(t, "models.yaml", applications))
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			a := p.Call(t, http.MethodPost, "/v1/messages/count_tokens", ask(f.model, `"messages":[{"role":"user","content":"How long is this?"}]`))
			var n struct {
				Tokens int `json:"input_tokens"`
			}
			err := json.Unmarshal([]byte(a.Body), &n)
			if estimated := a.Header.Get("X-Gateway-Token-Count") == "estimate"; a.Status != 200 || err != nil || n.Tokens == 0 || f.counts && (estimated || n.Tokens != 4) {
				t.Errorf("%d %s by %q", a.Status, a.Body, a.Header.Get("X-Gateway-Token-Count"))
			}
		})
	}
}

// vectors is a model for embeddings at a cloud, with a name that stays.
type vectors struct {
	name, model, provider string
	counted               bool // the body of its answer has the tokens
}

func embeddings() []vectors {
	return []vectors{
		{"bedrock-cohere-v3", "bedrock/cohere.embed-english-v3", "bedrock", false},
		{"bedrock-cohere-v4", "bedrock/cohere.embed-v4:0", "bedrock", false},
		{"bedrock-titan", "bedrock/amazon.titan-embed-text-v2:0", "bedrock", true},
		{"vertex-embedding", "vertex/text-embedding-005", "vertex", true},
		{"azure-embedding", "azure/text-embedding-3-small", "azure", true},
	}
}

func TestEmbeddingsOfEveryCloud(t *testing.T) {
	t.Parallel()
	p, _ := all(t)
	for _, test := range embeddings() {
		t.Run(test.name, func(t *testing.T) {
			a := p.Call(t, http.MethodPost, "/v1/embeddings", ask(test.model, `"input":"a text of words"`))
			var v struct {
				Data  []struct{ Embedding []float64 }
				Usage struct {
					Tokens int `json:"prompt_tokens"`
				}
			}
			err := json.Unmarshal([]byte(a.Body), &v)
			if !answered(t, a, family{provider: test.provider}) || err != nil || len(v.Data) != 1 || len(v.Data[0].Embedding) < 256 ||
				test.counted && v.Usage.Tokens == 0 {
				t.Errorf("%v %s", err, a.Body[:min(len(a.Body), 400)])
			}
		})
	}
}

// A key of the cloud takes the place of its log-in.
func TestKeysOfTheCloudsAreSentAsTheyWant(t *testing.T) {
	t.Parallel()
	c := serve(t)
	p := gateway(t, slices.Concat(c.aws.Settings(), c.azure.Settings(), c.addresses(), []string{
		"AWS_BEARER_TOKEN_BEDROCK=" + cloudtest.BedrockKey, "AZURE_OPENAI_API_KEY=" + cloudtest.ResourceKey,
		"AZURE_FOUNDRY_API_KEY=" + cloudtest.ResourceKey,
	})...)
	for _, model := range []string{
		"bedrock/us.anthropic." + sonnet + "-v1:0", "bedrock/amazon.nova-pro-v1:0", "bedrock/openai.gpt-oss-120b-1:0", "azure/gpt-4.1", "foundry/" + sonnet,
	} {
		if a := p.Chat(t, ask(model, dialects()[0].prompt("hi"))); a.Status != 200 {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
		}
	}
	for _, call := range append(c.aws.Calls(), c.azure.Calls()...) {
		if call.Method == http.MethodPost && call.Credential != "bearer" && call.Credential != "key" {
			t.Errorf("%+v", call)
		}
	}
	checkSecrets(t, p)
}

// What a cloud's model refuses comes to clients of each dialect in the dialect's own form.
func TestErrorsOfTheCloudsAreTold(t *testing.T) {
	t.Parallel()
	p, _ := all(t)
	for _, f := range families() {
		if strings.HasSuffix(f.name, "-application") || strings.HasSuffix(f.name, "llama") || strings.HasSuffix(f.name, "oss") {
			continue
		}
		for _, d := range dialects() {
			for status, least := range map[string]int{"400": 400, "429": 429, "500": 500} {
				a := p.Call(t, http.MethodPost, d.path, ask(f.model, d.prompt("simulate error "+status)))
				if a.Status < least || a.Status == 200 || !strings.Contains(a.Body, `"error":{`) {
					t.Errorf("%s, %s, %s: %d %s", f.name, d.name, status, a.Status, a.Body)
				}
			}
			for _, fault := range []string{"simulate error midstream", "simulate truncation"} {
				a := p.Call(t, http.MethodPost, d.path, ask(f.model, d.prompt(fault)+d.streaming))
				if strings.Contains(a.Body, "[DONE]") || strings.Contains(a.Body, "message_stop") || strings.Contains(a.Body, `"response.completed"`) {
					t.Errorf("%s, %s: %s ends as if it were whole: %s", f.name, d.name, fault, a.Body)
				}
			}
		}
	}
	checkSecrets(t, p)
}
