package clouds

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"modelgateway/tests/cloudtest"
	"modelgateway/tests/gatewaytest"
)

// way is one to log in at a cloud.
type way struct {
	name, model string
	settings    func(t *testing.T, c clouds) []string
	logIns      int
}

func ways() []way {
	static := []string{"AWS_ACCESS_KEY_ID=" + cloudtest.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + cloudtest.SecretAccessKey}
	const nova, gemini, gpt = "bedrock/amazon.nova-pro-v1:0", "vertex/gemini-2.5-flash", "azure/gpt-4.1"
	return []way{
		{"bedrock-access-key", nova, func(_ *testing.T, c clouds) []string { return append(c.aws.Settings(), static...) }, 0},
		{"bedrock-instance", nova, func(_ *testing.T, c clouds) []string { return c.aws.Settings() }, 1},
		{"bedrock-container", nova, func(_ *testing.T, c clouds) []string {
			return append(c.aws.Settings(), "AWS_CONTAINER_CREDENTIALS_FULL_URI="+c.aws.URL+cloudtest.ContainerPath,
				"AWS_CONTAINER_AUTHORIZATION_TOKEN="+cloudtest.ContainerCredential)
		}, 1},
		{"bedrock-web-identity", nova, func(t *testing.T, c clouds) []string {
			return append(c.aws.Settings(), "AWS_WEB_IDENTITY_TOKEN_FILE="+write(t, "token", cloudtest.WebIdentity), "AWS_ROLE_ARN="+cloudtest.Role,
				"AWS_ROLE_SESSION_NAME=gateway")
		}, 1},
		{"bedrock-profile", nova, func(t *testing.T, c clouds) []string {
			return append(c.aws.Settings(), "AWS_PROFILE=team", "AWS_CONFIG_FILE="+write(t, "config", "[profile team]\naws_access_key_id = "+
				cloudtest.AccessKeyID+"\naws_secret_access_key = "+cloudtest.SecretAccessKey+"\n"))
		}, 0},
		{"bedrock-role", "amazon/amazon.nova-pro-v1:0", func(t *testing.T, c clouds) []string {
			return append(static, "MODELS_FILE="+write(t, "models.yaml", role(c, "")))
		}, 1},
		{"bedrock-role-beside-a-key", "amazon/amazon.nova-pro-v1:0", func(t *testing.T, c clouds) []string {
			return append(static, "AWS_BEARER_TOKEN_BEDROCK=of-another-account", "MODELS_FILE="+write(t, "models.yaml", role(c, "")))
		}, 1},
		{"vertex-service-account", gemini, func(t *testing.T, c clouds) []string {
			return append(c.google.Settings(), "GOOGLE_APPLICATION_CREDENTIALS="+c.google.ServiceAccount(t))
		}, 1},
		{"vertex-user", gemini, func(t *testing.T, c clouds) []string {
			return append(c.google.Settings(), "GOOGLE_APPLICATION_CREDENTIALS="+c.google.User(t))
		}, 1},
		{"vertex-instance", gemini, func(_ *testing.T, c clouds) []string { return c.google.Settings() }, 1},
		{"azure-secret", gpt, func(_ *testing.T, c clouds) []string {
			return append(c.azure.Settings(), entra(cloudtest.ClientSecret)...)
		}, 1},
		{"azure-federated", gpt, func(t *testing.T, c clouds) []string {
			return append(c.azure.Settings(), "AZURE_TENANT_ID="+cloudtest.Tenant, "AZURE_CLIENT_ID="+cloudtest.ClientID,
				"AZURE_FEDERATED_TOKEN_FILE="+write(t, "token", cloudtest.Assertion))
		}, 1},
		{"azure-managed-identity", "microsoft/gpt-4.1", func(t *testing.T, c clouds) []string {
			return []string{"MODELS_FILE=" + write(t, "models.yaml", `
providers:
  - {name: microsoft, preset: azure, base_url: '`+c.azure.URL+`/openai/v1', auth: {azure: {managed_identity: true}}}
`)}
		}, 1},
	}
}

// role is a models file with an account of Amazon's that assumes a role.
func role(c clouds, more string) string {
	return `
providers:
  - name: amazon
    preset: bedrock
    region: ` + cloudtest.Region + `
    base_url: ` + c.aws.URL + `
    auth: {aws: {role: '` + cloudtest.Role + `', external_id: ` + cloudtest.ExternalID + more + `}}
`
}

func TestEveryWayToLogIn(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := serve(t)
			p := gateway(t, slices.Concat(c.addresses(), []string{"AWS_REGION=" + cloudtest.Region}, w.settings(t, c))...)
			for range 3 {
				if a := p.Chat(t, hi(w.model)); a.Status != http.StatusOK {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			}
			if n := c.aws.LogIns() + c.google.LogIns() + c.azure.LogIns(); n != w.logIns {
				t.Errorf("%d log-ins, not %d", n, w.logIns)
			}
			if t.Failed() {
				t.Log(p.Log.String()[max(0, len(p.Log.String())-3000):])
			}
			checkSecrets(t, p)
		})
	}
}

// Amazon's bills and logs say which user it was, where the operator asks for it.
func TestCallsAreSignedForTheirUsers(t *testing.T) {
	t.Parallel()
	c := serve(t)
	p := gateway(t, slices.Concat(c.addresses(), []string{
		"AWS_ACCESS_KEY_ID=" + cloudtest.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + cloudtest.SecretAccessKey, "REQUIRE_AUTH=true", gatewaytest.JWTSecret,
		"MODELS_FILE=" + write(t, "models.yaml", role(c, ", tags: [user]")),
	})...)
	p.SetUp(t, "root@example.com")
	want := map[string]bool{}
	for _, name := range []string{"ada", "bob"} {
		_, key := p.CreateKey(t, p.SignUp(t, name))
		for range 2 {
			if a := p.Chat(t, hi("amazon/amazon.nova-pro-v1:0"), "X-Api-Key", key); a.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", name, a.Status, a.Body)
			}
		}
	}
	_, key := p.CreateKey(t, p.SignUp(t, "eve"))
	const texts = `{"model":"amazon/amazon.titan-embed-text-v2:0","input":["one","two","three"]}` // of which each is a call
	if a := p.Call(t, http.MethodPost, "/v1/embeddings", texts, "X-Api-Key", key); a.Status != http.StatusOK {
		t.Errorf("embeddings: %d %s", a.Status, a.Body)
	}
	for _, call := range c.aws.Calls() {
		if strings.HasPrefix(call.Path, "/model/") {
			want[call.Session["user"]] = true
		}
	}
	if len(want) != 3 || want[""] || c.aws.LogIns() != 3 {
		t.Errorf("the users of the sessions: %v, of %d log-ins", want, c.aws.LogIns())
	}
}

// The lists of Bedrock say what can be called, and what it is for.
func TestModelsOfBedrockAreDiscovered(t *testing.T) {
	t.Parallel()
	p, _ := all(t, "MODEL_DISCOVERY=true")
	const claude, nova, embed = `"us.anthropic.` + sonnet + `-v1:0"`, `"amazon.nova-pro-v1:0"`, `"cohere.embed-english-v3"`
	var list string
	gatewaytest.Until(t, "the models of Bedrock", func() bool {
		list = p.Get(t, "/v1/models?kind=all").Body
		return strings.Contains(list, claude) && strings.Contains(list, nova) && strings.Contains(list, embed)
	})
	// An id that is in profiles only cannot be called, and pictures are made by no route of ours.
	if strings.Contains(list, `"anthropic.`) || strings.Contains(list, "image-generator") {
		t.Error(list)
	}
}
