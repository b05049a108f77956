package litellm_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/crypto/nacl/secretbox"

	"modelgateway/api"
	"modelgateway/services/litellm"
	"modelgateway/tests/gatewaytest"
)

var update = flag.Bool("update", false, "write the golden files")

// canary is a secret of the tests' configurations.
var canary = regexp.MustCompile(`[\w-]*secret-[\w-]*canary`)

func configure(t *testing.T, file string, s *litellm.Snapshot, env ...string) *litellm.Configuration {
	t.Helper()
	c, err := litellm.Configure([]byte(file), s, func(name string) string {
		for _, variable := range env {
			if value, ok := strings.CutPrefix(variable, name+"="); ok {
				return value
			}
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	if found := canary.FindString(fmt.Sprintf("%+v", *c)); found != "" {
		t.Errorf("the secret %s is shown", found)
	}
	return c
}

// shown is the configuration as one text.
func shown(c *litellm.Configuration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s---\n%s---\n", c.ModelsFile, c.Settings)
	for _, s := range c.Secrets {
		fmt.Fprintf(&b, "%s: %s (set: %t)\n", s.Name, s.Where, s.Set)
	}
	fmt.Fprintf(&b, "---\n")
	for _, l := range c.Losses {
		mark := "loss"
		if l.Notice {
			mark = "notice"
		}
		fmt.Fprintf(&b, "%s: %s | %s | %s\n", mark, l.Thing, l.Why, l.Instead)
	}
	fmt.Fprintf(&b, "---\n%q\n%q\n", c.Names, c.Groups)
	return b.String()
}

func TestConfigurationBecomesModelsFileAndSettings(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := configure(t, string(file), nil, "OPENAI_API_KEY=sk-secret-openai-canary", "TOGETHERAI_API_KEY=secret-together-canary")
	got, golden := shown(c), "testdata/config.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != string(want) {
		t.Errorf("%v: it is not as in %s:\n%s", err, golden, got)
	}
	accepted(t, c)
}

// accepted checks that the gateway takes the configuration, and has each of its models.
func accepted(t *testing.T, c *litellm.Configuration) {
	t.Helper()
	models := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(models, []byte(c.ModelsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := []string{"MODELS_FILE=" + models, "AWS_ACCESS_KEY_ID=AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY=x"}
	for i, s := range c.Secrets {
		settings = append(settings, fmt.Sprintf("%s=%s%d", s.Name, rand.Text()+rand.Text(), i))
	}
	for line := range strings.Lines(c.Settings) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && name[0] != '#' && name != "REQUIRE_AUTH" {
			settings = append(settings, name+"="+strings.Trim(value, "'"))
		}
	}
	if code, out, faults := gatewaytest.TryCommand(t, settings, "", "check", "--offline"); code != 0 {
		t.Fatalf("check: %d\n%s%s\n%s", code, out, faults, c.ModelsFile)
	}
	p := gatewaytest.Start(t, settings...)
	for _, name := range c.Names {
		name = strings.Replace(name, "*", "claude-sonnet-5", 1)
		var m api.Model
		a := p.Call(t, "GET", "/v1/models/"+url.PathEscape(name), "")
		if a.Status != 200 {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
			continue
		}
		if a.JSON(t, &m); !m.Available {
			t.Errorf("%s is not available: %s", name, a.Body)
		}
	}
}

// sealed is a text as a LiteLLM encrypts it, by the form and the key.
func sealed(t *testing.T, form, key, plain string) string {
	t.Helper()
	secret := sha256.Sum256([]byte(key))
	if form == "v3:gcm:" { // RFC 5869 with an empty salt, and one block
		extract := hmac.New(sha256.New, make([]byte, sha256.Size))
		extract.Write([]byte(key))
		expand := hmac.New(sha256.New, extract.Sum(nil))
		expand.Write([]byte("litellm-at-rest-v3\x01"))
		copy(secret[:], expand.Sum(nil))
	}
	if form == "" {
		nonce := [24]byte([]byte(rand.Text()))
		return base64.URLEncoding.EncodeToString(secretbox.Seal(nonce[:], []byte(plain), &nonce, &secret))
	}
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := []byte(rand.Text())[:12]
	return form + base64.URLEncoding.EncodeToString(gcm.Seal(nonce, nonce, []byte(plain), nil))
}

func database(t *testing.T, form, key string) *litellm.Snapshot {
	t.Helper()
	seal := func(plain string) string { return sealed(t, form, key, plain) }
	return &litellm.Snapshot{
		Models: []litellm.ProxyModel{
			{ID: "1", Name: "sealed", Params: jsontext.Value(`{"model":"` + seal("azure/deployment") + `","litellm_credential_name":"` +
				seal("stored") + `","rpm":10}`), Info: jsontext.Value(`{"base_model":"gpt-5.4","id":"1"}`)},
			{ID: "2", Name: "blocked", Params: jsontext.Value(`{"model":"` + seal("openai/gpt-5.4") + `"}`), Blocked: true},
			{ID: "3", Name: "plain", Params: jsontext.Value(`{"model":"openai/gpt-5.4","api_key":"sk-plain-secret-canary"}`)},
		},
		Credentials: []litellm.Credential{{Name: "stored", Values: jsontext.Value(`{"api_key":"` + seal("secret-stored-canary") +
			`","api_base":"` + seal("https://stored.openai.azure.com") + `"}`)}},
		Config: []litellm.Setting{
			{Name: "router_settings", Value: jsontext.Value(`{"num_retries":4}`)},
			{Name: "environment_variables", Value: jsontext.Value(`{"SLACK_WEBHOOK_URL":"` + seal("https://secret-slack-canary") + `"}`)},
		},
		AccessGroups: []litellm.AccessGroup{{ID: "g1", Name: "both", Models: []string{"sealed", "plain"}}},
	}
}

func TestValuesOfTheDatabaseAreDecrypted(t *testing.T) {
	t.Parallel()
	keyFile := filepath.Join(t.TempDir(), "salt")
	if err := os.WriteFile(keyFile, []byte("salt-secret-canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"v3:gcm:", "v2:gcm:", ""} {
		for _, key := range []string{
			"LITELLM_SALT_KEY=salt-secret-canary", "LITELLM_MASTER_KEY=salt-secret-canary", "LITELLM_SALT_KEY_FILE=" + keyFile,
		} {
			c := configure(t, "router_settings: {num_retries: 2, timeout: 7}", database(t, form, "salt-secret-canary"), key)
			if !strings.Contains(c.ModelsFile, "base_url: https://stored.openai.azure.com/openai/v1") ||
				!strings.Contains(c.ModelsFile, "upstream: deployment") {
				t.Errorf("%q, %s: %s", form, key, shown(c))
			}
			if !slices.Equal(c.Names, []string{"sealed", "plain"}) || !slices.Equal(c.Groups["g1"], []string{"sealed", "plain"}) ||
				!strings.Contains(c.Settings, "MAX_RETRIES=4\n") || !strings.Contains(c.Settings, "UPSTREAM_TIMEOUT_SECONDS=7\n") {
				t.Errorf("%q, %s: %s", form, key, shown(c))
			}
			for _, l := range c.Losses {
				if !l.Notice {
					t.Errorf("%q, %s: %+v", form, key, l)
				}
			}
		}
	}
	c := configure(t, "general_settings: {master_key: salt-secret-canary}", database(t, "v3:gcm:", "salt-secret-canary"))
	if !slices.Contains(c.Names, "sealed") {
		t.Error("the master key of the file does not open:", shown(c))
	}
	accepted(t, c)
	// The former alphabet.
	s := database(t, "", "salt-secret-canary")
	former := strings.NewReplacer("-", "+", "_", "/").Replace(string(s.Models[0].Params))
	s.Models[0].Params = jsontext.Value(strings.Replace(former, "litellm/credential/name", "litellm_credential_name", 1))
	if c := configure(t, "", s, "LITELLM_SALT_KEY=salt-secret-canary"); !slices.Contains(c.Names, "sealed") {
		t.Error("the usual alphabet is not read:", shown(c))
	}
}

func TestWithoutTheRightKeyEncryptedModelsAreListed(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"v3:gcm:", "v2:gcm:", ""} {
		for _, env := range []string{"LITELLM_SALT_KEY=", "LITELLM_SALT_KEY=another-secret-canary"} {
			c := configure(t, "", database(t, form, "salt-secret-canary"), env)
			if !slices.Equal(c.Names, []string{"plain"}) || !strings.Contains(shown(c), "models of the database: sealed |") ||
				!strings.Contains(shown(c), "credentials of the database: stored |") {
				t.Errorf("%q: %s", form, shown(c))
			}
		}
	}
}

func TestEverySettingThatIsNotUnderstoodIsListed(t *testing.T) {
	t.Parallel()
	c := configure(t, `
model_list:
  - {model_name: a, litellm_params: {model: openai/gpt-5.4, never_heard_of: 1, off: false}}
  - {model_name: b, litellm_params: {model: openai/gpt-5.4, never_heard_of: 2}}
litellm_settings: {heard_a: 1}
router_settings: {heard_b: {x: y}}
general_settings: {heard_c: [1], unset: null, off: false}
heard_d: text
`, nil)
	for _, want := range []string{"never_heard_of in litellm_params: a, b |", "heard_a, heard_b, heard_c, heard_d |"} {
		if !strings.Contains(shown(c), want) {
			t.Errorf("%q is missing in %s", want, shown(c))
		}
	}
	if strings.Contains(shown(c), "off") || strings.Contains(shown(c), "unset") {
		t.Error("what is not set is listed:", shown(c))
	}
}

func TestAFaultOfTheFileShowsNoSecret(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"secret-file-canary", "model_list: [\nsecret-file-canary", "a: {b: secret-file-canary, b: 2}"} {
		_, err := litellm.Configure([]byte(file), nil, os.Getenv)
		if err == nil || canary.MatchString(err.Error()) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestModelsWithoutAPriceAreListed(t *testing.T) {
	t.Parallel()
	c := configure(t, "model_list: [{model_name: a, litellm_params: {model: openai/gpt-5.4}}, {model_name: b, litellm_params: {model: groq/b}}]", nil)
	c.Unpriced(func(name string) bool { return name == "a" })
	if last := c.Losses[len(c.Losses)-1]; last.Thing != "models without a price: b" || last.Notice {
		t.Errorf("%+v", last)
	}
}

// What a deployment of LiteLLM becomes, beyond the golden file: its entry of the models file has these texts, and the gateway
// accepts it.
func TestDeploymentsBecomeEntries(t *testing.T) {
	t.Parallel()
	azure := "api_base: 'https://r.openai.azure.com/openai/deployments/x/chat/completions?api-version=1', api_key: os.environ/AZURE_API_KEY"
	for name, of := range map[string]struct {
		list string
		want []string
	}{
		"the vendor of a bare name":      {`{model: claude-haiku-4-5}`, []string{"{id: m, provider: anthropic, upstream: claude-haiku-4-5}"}},
		"a custom provider":              {`{model: org/x, custom_llm_provider: groq}`, []string{"preset: groq", "{id: m, upstream: org/x}"}},
		"a query of Azure":               {`{model: azure/x, ` + azure + `}`, []string{"base_url: https://r.openai.azure.com/openai/v1\n"}},
		"a series of Azure":              {`{model: azure/o_series/x, ` + azure + `}`, []string{"{id: m, upstream: x}"}},
		"a client secret":                {`{model: azure/x, api_base: 'https://r.openai.azure.com', tenant_id: t1, client_id: c1, client_secret: os.environ/AZ_SECRET}`, []string{"auth: {azure: {client_id: c1, client_secret: {env: AZ_SECRET}, tenant: t1}}"}},
		"the usual access key":           {`{model: bedrock/amazon.nova-pro-v1:0, aws_region_name: us-east-1, aws_access_key_id: os.environ/AWS_ACCESS_KEY_ID, aws_secret_access_key: os.environ/AWS_SECRET_ACCESS_KEY}`, []string{"region: us-east-1\n    discovery"}},
		"a local server":                 {`{model: hosted_vllm/org/x, api_base: 'http://127.0.0.1:8000/v1', api_key: fake-key}`, []string{"preset: vllm\n    base_url: http://127.0.0.1:8000/v1\n    discovery"}},
		"free":                           {`{model: groq/x, input_cost_per_token: 0, output_cost_per_token: '0.0000000001'}`, []string{"price: {input: 0, output: 0.0001}"}},
		"a price of model_info":          {`{model: groq/x}, model_info: {input_cost_per_token: 3e-6, output_cost_per_token: 1.5e-05, cache_creation_input_token_cost: 3.75e-06}`, []string{"price: {cache_write: 3.75, input: 3, output: 15}"}},
		"a name that YAML would misread": {`{model: "groq/1.0"}}, {model_name: "yes: #1", litellm_params: {model: groq/null}`, []string{`{id: m, upstream: "1.0"}`, `{id: 'yes: #1', upstream: "null"}`}},
		"weights that are no integers":   {`{model: groq/x, weight: 0.5}}, {model_name: m, litellm_params: {model: groq/y, weight: 0.25}`, []string{"x, weight: 50}", `"y", weight: 25}`}},
		"no weights":                     {`{model: groq/x}}, {model_name: m, litellm_params: {model: xai/y}`, []string{"upstream: x, weight: 1}", `upstream: "y", weight: 1}`}},
		"twice the same":                 {`{model: groq/x}}, {model_name: m, litellm_params: {model: groq/x}`, []string{"{id: m, upstream: x}"}},
		"an old name of several":         {`{model: groq/x}}, {model_name: gpt-4, litellm_params: {model: groq/y}}, {model_name: gpt-4, litellm_params: {model: xai/z}`, []string{"- id: gpt-4\n    state: active\n    upstreams"}},
		"any name":                       {`{model: groq/x}}, {model_name: '*', litellm_params: {model: 'openai/*'}`, []string{"# * needs no entry"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := configure(t, "model_list: [{model_name: m, litellm_params: "+of.list+"}]", nil)
			for _, want := range of.want {
				if !strings.Contains(c.ModelsFile, want) {
					t.Errorf("%q is missing in\n%s", want, shown(c))
				}
			}
			c.Names = slices.DeleteFunc(c.Names, func(name string) bool { return name == "*" })
			accepted(t, c)
		})
	}
}

func TestAKeyThatAUsualVariableHasNeedsNoOther(t *testing.T) {
	t.Parallel()
	const file = `model_list: [{model_name: a, litellm_params: {model: openai/gpt-5.4, api_key: sk-secret-openai-canary}}]`
	c := configure(t, file, nil, "OPENAI_API_KEY=sk-secret-openai-canary")
	if strings.Contains(c.ModelsFile, "providers") || len(c.Secrets) != 1 || c.Secrets[0].Name != "OPENAI_API_KEY" || !c.Secrets[0].Set {
		t.Error(shown(c))
	}
}

func TestCredentialsThatAreNoPathAreNotWritten(t *testing.T) {
	t.Parallel()
	for credentials, want := range map[string]bool{
		`/run/secrets/google`: true, `keys/google.json`: true, `'{"private_key": "secret-google-canary"}'`: false,
		`{private_key: secret-google-canary}`: false, `secret-google-canary`: false, `os.environ/GOOGLE`: false,
	} {
		c := configure(t, `model_list: [{model_name: a, litellm_params: {model: vertex_ai/gemini-3.5-flash, vertex_credentials: `+credentials+`}}]`,
			nil, `GOOGLE={"private_key": "secret-google-canary"}`)
		if strings.Contains(c.ModelsFile, "google: {file: ") != want || strings.Contains(shown(c), "loss: vertex_credentials: a |") == want {
			t.Errorf("%s: %s", credentials, shown(c))
		}
	}
}

func TestWindowsOfTheBudgetOfAll(t *testing.T) {
	t.Parallel()
	for duration, want := range map[string]string{
		"''": "total", "1d": "day", "24h": "day", "12h": "day*", "7d": "week", "1w": "week", "3d": "week*", "30d": "month", "1mo": "month",
		"10d": "month*", "2mo": "total*", "nonsense": "total*",
	} {
		c := configure(t, "litellm_settings: {max_budget: 5, budget_duration: "+duration+"}", nil)
		name, longer := strings.CutSuffix(want, "*")
		if !strings.Contains(c.Settings, "MAX_BUDGET_USD=5\n") || !strings.Contains(c.Settings, "MAX_BUDGET_WINDOW="+name+"\n") ||
			longer != (len(c.Losses) > 0) {
			t.Errorf("%s: %s", duration, shown(c))
		}
	}
}
