// Package embeddings tests POST /v1/embeddings with the official SDK as its client.
package embeddings

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

const small = "text-embedding-3-small"

// openai starts a gateway for a scripted OpenAI.
func openai(t testing.TB, settings ...string) (*gatewaytest.Program, *providertest.Upstream) {
	t.Helper()
	u := providertest.Serve(t)
	own := []string{"OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL=" + u.URL, "MAX_RETRIES=0"}
	return gatewaytest.Start(t, append(own, settings...)...), u
}

func post(t testing.TB, p *gatewaytest.Program, body string, headers ...string) gatewaytest.Answer {
	t.Helper()
	return p.Call(t, http.MethodPost, "/v1/embeddings", body, headers...)
}

// recordings are the recorded bodies of a package of providers with their requests.
func recordings(t testing.TB, name string) map[string][2]string {
	t.Helper()
	folder := filepath.Join("../../providers", name, "testdata/embeddings")
	files, err := filepath.Glob(filepath.Join(folder, "*.req.json"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	all := map[string][2]string{}
	for _, file := range files {
		request, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := os.ReadFile(strings.TrimSuffix(file, ".req.json") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = [2]string{string(request), string(answer)}
	}
	return all
}

var modelMember = regexp.MustCompile(`"model": *"[^"]*"`)

func TestClientAndOpenAISeeEachOthersBytes(t *testing.T) {
	t.Parallel()
	p, u := openai(t)
	for name, r := range recordings(t, "openai/embeddings") {
		request, answer := r[0], r[1]
		status := http.StatusOK
		if strings.Contains(name, "error") {
			status = http.StatusNotFound
			request = strings.Replace(request, "nonexistent", "text-embedding-nonexistent", 1)
		}
		u.Play(gatewaytest.JSON(status, answer))
		before := len(u.Requests())
		got := post(t, p, request)
		sent := u.Requests()[before:]
		if len(sent) != 1 || sent[0].Path != "/v1/embeddings" || !same(string(sent[0].Body), request) {
			t.Errorf("%s: sent %+v", name, sent)
		}
		if status != http.StatusOK {
			if e := got.APIError(t); got.Status != 404 || e.Code != "model_not_found" || e.Param == nil || *e.Param != "model" {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
			continue
		}
		if got.Status != 200 || got.Body != answer || got.Header.Get("X-Gateway-Provider") != "openai" {
			t.Errorf("%s: %d, %d bytes of %d", name, got.Status, len(got.Body), len(answer))
		}
		var want struct {
			Usage struct {
				Tokens int64 `json:"prompt_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(answer), &want); err != nil {
			t.Fatal(err)
		}
		gatewaytest.Until(t, "the call is in the log", func() bool {
			return loggedTokens(p, got.Header.Get("X-Request-Id")) == want.Usage.Tokens
		})
	}
}

// same compares two bodies but for the space between their members, and their models.
func same(a, b string) bool {
	plain := func(text string) string {
		return strings.Join(strings.Fields(modelMember.ReplaceAllString(text, "")), "")
	}
	return plain(a) == plain(b)
}

// loggedTokens are the prompt tokens that the log has of a request; -1 without its line.
func loggedTokens(p *gatewaytest.Program, id string) int64 {
	for line := range strings.Lines(p.Log.String()) {
		var l struct {
			ID     string `json:"request_id"`
			Tokens *int64 `json:"input_tokens"`
			Out    int64  `json:"output_tokens"`
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.ID == id && l.Tokens != nil && l.Out == 0 {
			return *l.Tokens
		}
	}
	return -1
}

func TestUnknownMembersTravelAndGeminisAreTakenOut(t *testing.T) {
	t.Parallel()
	p, u := openai(t)
	answer := `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1e0,-0]}],"model":"m",` +
		`"usage":{"prompt_tokens":2,"total_tokens":2}}`
	u.Play(gatewaytest.JSON(200, answer))
	got := post(t, p, `{ "model":"`+small+`","input":[1,2], "task_type":"CLUSTERING","title":null,"new":{"a": [1 ,2]}, "dimensions":"many"}`)
	if sent := string(u.Requests()[0].Body); sent != `{"model":"`+small+`","input":[1,2],"new":{"a": [1 ,2]},"dimensions":"many"}` {
		t.Errorf("sent %s", sent)
	}
	if got.Body != answer || got.Header.Get("X-Gateway-Ignored-Params") != "task_type" {
		t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
	}
}
