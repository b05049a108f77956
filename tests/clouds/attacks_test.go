package clouds

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"modelgateway/tests/cloudtest"
)

// Variables that every program on a machine of the cloud has switch nothing on.
func TestAmbientCredentialsSwitchNothingOn(t *testing.T) {
	t.Parallel()
	c := serve(t)
	p := gateway(t, append(append(c.addresses(), c.credentials(t)...), "AWS_REGION="+cloudtest.Region, "AWS_DEFAULT_REGION="+cloudtest.Region,
		"GOOGLE_CLOUD_PROJECT="+cloudtest.Project)...)
	if health := p.Get(t, "/health").Body; strings.Contains(health, "bedrock") || strings.Contains(health, "vertex") || strings.Contains(health, "azure") {
		t.Errorf("health: %s", health)
	}
	for _, f := range families() {
		if a := p.Chat(t, hi(f.model)); a.Status < 400 {
			t.Errorf("%s: %d %s", f.name, a.Status, a.Body)
		}
	}
	if calls := append(append(c.aws.Calls(), c.google.Calls()...), c.azure.Calls()...); len(calls) != 0 {
		t.Errorf("calls: %+v", calls)
	}
}

// sent are the paths that calls of clients may reach, in which a name is one segment, however
// it is written; of the others only the log-in is asked.
var sent = regexp.MustCompile(`^/model/[^/?#]+/(invoke|invoke-with-response-stream|converse|converse-stream|count-tokens)$` +
	`|^/(openai/)?v1/(chat/completions|responses)$` +
	`|^/v1/projects/stand-in-project/locations/global/(publishers/(google|anthropic)/models/[^/?#]+:[A-Za-z]+(\?alt=sse)?|endpoints/openapi/chat/completions)$` +
	`|^/openai/v1/(chat/completions|responses|embeddings)$|^/anthropic/v1/messages(/count_tokens)?$|^/token$|^/[0-9-]+/oauth2/v2.0/token$`)

// hostile are names of models that lead elsewhere where they are put into a path as they are.
func hostile() (names []string) {
	for _, provider := range []string{"bedrock", "vertex", "azure", "foundry"} {
		for _, name := range []string{
			"../../latest/meta-data", "../../latest/meta-data/iam/security-credentials/", "..%2f..%2flatest%2fmeta-data", "%2e%2e/%2e%2e/latest/meta-data",
			"http://169.254.169.254/latest/meta-data/", "//169.254.169.254/latest", "@169.254.169.254/latest", "a/../../../latest/api/token",
			"anthropic.claude/../../../latest/meta-data", "us.anthropic.claude-x?x=/invoke", "us.anthropic.claude-x#", "amazon.nova-pro-v1:0/../../../foundation-models",
			"../../../../../../computeMetadata/v1/project/project-id", "gemini-2.5-flash:generateContent?alt=json&x=", "gemini-2.5-flash/../../../../computeMetadata/v1",
			"claude-sonnet-4-5@20250929:rawPredict/../x", "meta/../../../computeMetadata/v1/x", "../../metadata/identity/oauth2/token", "..\\\\..\\\\latest", ".", "..", "/", "//",
			"a b", "a\\u0000b", "a\\r\\nHost: other", "arn:aws:bedrock:us-east-1:1:../../latest/meta-data",
		} {
			names = append(names, provider+"/"+name)
		}
	}
	return names
}

func TestNamesOfModelsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	p, c := all(t)
	for _, name := range hostile() {
		for _, d := range dialects() {
			if a := p.Call(t, http.MethodPost, d.path, ask(name, d.prompt("hi"))); a.Status < 400 || a.Status == http.StatusInternalServerError {
				// The API of OpenAI's form has a name with a slash in the body, where it leads nowhere.
				if !strings.HasPrefix(name, "vertex/") || strings.Count(name, "/") < 2 {
					t.Errorf("%s by %s: %d %s", name, d.name, a.Status, a.Body)
				}
			}
		}
		p.Call(t, http.MethodPost, "/v1/messages/count_tokens", ask(name, `"messages":[{"role":"user","content":"hi"}]`))
		p.Call(t, http.MethodPost, "/v1/embeddings", ask(name, `"input":"hi"`))
	}
	checkReached(t, c)
	checkSecrets(t, p)
}

// Pictures that are somewhere else are not fetched by the gateway.
func TestPicturesLeadNowhereElse(t *testing.T) {
	t.Parallel()
	p, c := all(t)
	for _, at := range []string{c.aws.URL + "/latest/meta-data/iam/security-credentials/", c.google.URL + "/computeMetadata/v1/project/project-id",
		c.azure.URL + "/metadata/identity/oauth2/token?api-version=2018-02-01", "http://169.254.169.254/latest/meta-data/"} {
		for _, url := range []string{at, "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(at))} {
			quoted, _ := json.Marshal(url)
			for _, f := range families() {
				p.Chat(t, ask(f.model, `"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":`+string(quoted)+`}}]}]`))
				p.Call(t, http.MethodPost, "/v1/responses", ask(f.model, `"input":[{"role":"user","content":[{"type":"input_image","image_url":`+string(quoted)+`}]}]`))
				p.Call(t, http.MethodPost, "/v1/messages", ask(f.model,
					`"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":`+string(quoted)+`}}]}]`))
			}
		}
	}
	checkReached(t, c)
}

// checkReached fails for calls that are none of a model.
func checkReached(t *testing.T, c clouds) {
	t.Helper()
	for _, calls := range [][]cloudtest.Call{c.aws.Calls(), c.google.Calls(), c.azure.Calls()} {
		for _, call := range calls {
			segments := strings.Split(call.Path, "/")
			if call.Method != http.MethodPost || !sent.MatchString(call.Path) || slices.Contains(segments, "..") || slices.Contains(segments, ".") {
				t.Errorf("%s %s was reached", call.Method, call.Path)
			}
		}
	}
}
