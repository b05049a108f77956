package agents

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"modelgateway/tests/cloudtest"
	"modelgateway/tests/gatewaytest"
)

// With a cloud in place of the maker's own API, and no key of the maker, agents do their task:
// by the plain name of a model, and by that of a model which only the cloud has.
func TestAgentsDoATaskOnClouds(t *testing.T) {
	folder := needClients(t)
	for name, test := range map[string]struct {
		agent, model, provider string
		credential             string // what the cloud accepted
		path                   string // of each call of a model
	}{
		"claude-bedrock-claude": {"claude", "claude-opus-5-5", "bedrock", cloudtest.AccessKeyID, "/model/us.anthropic.claude-opus-5-5/invoke-with-response-stream"},
		"claude-vertex-claude":  {"claude", "claude-opus-5-5", "vertex", "bearer", "/publishers/anthropic/models/claude-opus-5-5:streamRawPredict"},
		"claude-vertex-gemini":  {"claude", "claude-via-gemini-3.5-flash", "vertex", "bearer", "/publishers/google/models/gemini-3.5-flash:streamGenerateContent"},
		"claude-foundry-claude": {"claude", "claude-opus-5-5", "foundry", "bearer", "/anthropic/v1/messages"},
		"codex-azure-gpt":       {"codex", "gpt-5.5", "azure", "bearer", "/openai/v1/responses"},
		"codex-bedrock-claude":  {"codex", "claude-sonnet-5", "bedrock", cloudtest.AccessKeyID, "/model/us.anthropic.claude-sonnet-5/invoke-with-response-stream"},
		"opencode-bedrock-nova": {"opencode", "bedrock/amazon.nova-pro-v1:0", "bedrock", cloudtest.AccessKeyID, "/model/amazon.nova-pro-v1%3A0/converse-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, clouds := startOnClouds(t, folder, test.provider)
			switch test.agent {
			case "claude":
				s.didTheTask(t, s.claude(t, task, "ANTHROPIC_MODEL="+test.model))
			case "codex":
				s.codexDidTheTask(t, s.codex(t, test.model, task))
			default:
				s.openCode(t, test.model)
			}
			s.upstream.acceptedAll(t)

			served := 0
			for cloud, of := range clouds {
				for _, call := range of.Calls() {
					switch {
					case !strings.Contains(cloud, test.provider):
						t.Errorf("%s was called: %s", cloud, call.Path)
					case strings.HasSuffix(call.Path, "/token"): // a log-in
					case call.Credential != test.credential || !strings.Contains(call.Path, test.path):
						t.Errorf("%s with the credential %q", call.Path, call.Credential)
					default:
						served++
					}
				}
			}
			if served < turns {
				t.Errorf("%d calls", served)
			}
			db := gatewaytest.OpenSQL(t, "sqlite:"+s.database)
			gatewaytest.Until(t, "the ledger has every call, as the cloud's", func() bool {
				return served == int(gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger_calls WHERE provider = $1 AND status = 200 AND input_tokens > 0 AND "+
					"output_tokens > 0 AND cost > 0", test.provider))
			})
		})
	}
}

// startOnClouds starts a session with a gateway that has the clouds' providers, of which one is
// asked for plain names, and the clouds by the names of their providers. The gateway is a process
// of its own, as the clouds' credentials are in its environment.
func startOnClouds(t *testing.T, clients, first string) (*session, map[string]*cloudtest.Cloud) {
	t.Helper()
	u := &upstream{simulator: newSimulator()}
	aws, google, azure := cloudtest.NewAWS(t, u), cloudtest.NewGoogle(t, u), cloudtest.NewAzure(t, u)
	s := startSession(t, clients, func(settings ...string) *gatewaytest.Program {
		return gatewaytest.Launch(t, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "HOME="+t.TempDir()) }, settings...).Program
	}, slices.Concat([]string{"PROVIDER_ORDER=" + first, "AZURE_AUTHORITY_HOST=" + azure.URL + "/"}, aws.Settings(), aws.Credentials(),
		google.Settings(), google.Credentials(t), azure.Settings(), azure.Credentials())...)
	s.upstream = u
	return s, map[string]*cloudtest.Cloud{"bedrock": &aws.Cloud, "vertex": &google.Cloud, "azure and foundry": &azure.Cloud}
}
