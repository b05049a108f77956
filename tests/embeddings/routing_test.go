package embeddings

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

const vectors = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1]}],"model":"m",` +
	`"usage":{"prompt_tokens":1000,"total_tokens":1000}}`

// Vectors of two models cannot be compared; those that another key brings are of the same.
func TestOtherKeysAnswerAndOtherModelsDoNot(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	p, u := openai(t, "OPENAI_API_KEY=sk-o1,sk-o2", "DATABASE_URL=sqlite:"+file, "HEDGE_AFTER_MS=1")
	u.Play(gatewaytest.JSON(http.StatusUnauthorized, `{}`), gatewaytest.JSON(http.StatusOK, vectors))
	got := post(t, p, `{"model":"`+small+`","input":"a"}`)
	row := gatewaytest.AwaitLedgerRow(t, file, got.Header.Get("X-Request-Id"))
	if got.Body != vectors || len(u.Requests()) != 2 || row.Attempts != 2 || row.Prompt != 1000 || row.Cost != 20 || row.Outcome != "ok" {
		t.Errorf("%d %s after %d calls, %+v", got.Status, got.Body, len(u.Requests()), row)
	}
	u.Play(gatewaytest.JSON(http.StatusServiceUnavailable, `{}`))
	before := len(u.Requests())
	got = post(t, p, `{"model":"`+small+`","input":"a"}`)
	row = gatewaytest.AwaitLedgerRow(t, file, got.Header.Get("X-Request-Id"))
	if got.Status != http.StatusBadGateway || len(u.Requests()) != before+1 || row.Outcome != "provider_error" || row.Cost != 0 {
		t.Errorf("%d after %d calls, %+v", got.Status, len(u.Requests())-before, row)
	}
}

func TestTheListHasModelsForEmbeddingsWithTheirDimensions(t *testing.T) {
	t.Parallel()
	if p, _ := openai(t); strings.Contains(p.Call(t, http.MethodGet, "/v1/models?kind=all&all=true", "").Body, "embedding") {
		t.Error("a model that its provider does not list is listed")
	}
	p, _ := openai(t, "MODELS_LISTED=all")
	all := p.Call(t, http.MethodGet, "/v1/models?kind=embedding", "")
	if chat := p.Call(t, http.MethodGet, "/v1/models", "").Body; strings.Contains(chat, "embedding") || strings.Contains(all.Body, `"chat"`) ||
		!strings.Contains(p.Call(t, http.MethodGet, "/v1/models?kind=all", "").Body, `"text-embedding-3-large"`) {
		t.Errorf("%.300s", chat)
	}
	if !strings.Contains(all.Body, `"id":"text-embedding-3-large"`) ||
		!strings.Contains(all.Body, `"dimensions":{"default":3072,"min":1,"max":3072}`) ||
		!strings.Contains(all.Body, `"id":"text-embedding-3-small","object":"model","created":1705948997`) {
		t.Errorf("%.300s", all.Body)
	}
	anthropic := p.Call(t, http.MethodGet, "/v1/models?limit=1000", "", "Anthropic-Version", "2023-06-01")
	if anthropic.Status != http.StatusOK || strings.Contains(anthropic.Body, "embedding") {
		t.Errorf("%d %.300s", anthropic.Status, anthropic.Body)
	}
}

// An alias is a name of a model for embeddings as for any other; it makes no model serve
// another kind of request.
func TestAliasesDoNotCrossKinds(t *testing.T) {
	t.Parallel()
	p := simulated(t, "MODEL_ALIASES=vectors="+newer+";search-*="+small+";talk=gpt-4")
	for alias, model := range map[string]string{"vectors": newer, "search-english": small} {
		got := post(t, p, `{"model":"`+alias+`","input":"a"}`)
		if got.Status != 200 || got.Header.Get("X-Gateway-Model-Alias") != model || !strings.Contains(got.Body, `"model":"`+model+`"`) {
			t.Errorf("%s: %d %v %.200s", alias, got.Status, got.Header, got.Body)
		}
		const hi = `"messages":[{"role":"user","content":"a"}]`
		for path, body := range map[string]string{
			"/v1/chat/completions":      `{"model":"` + alias + `",` + hi + `}`,
			"/v1/messages":              `{"model":"` + alias + `","max_tokens":5,` + hi + `}`,
			"/v1/messages/count_tokens": `{"model":"` + alias + `",` + hi + `}`,
			"/v1/responses":             `{"model":"` + alias + `","input":"a","store":false}`,
		} {
			if got := p.Call(t, http.MethodPost, path, body); got.Status != 400 || !strings.Contains(got.Body, "is for embeddings") {
				t.Errorf("%s at %s: %d %s", alias, path, got.Status, got.Body)
			}
		}
	}
	got := post(t, p, `{"model":"talk","input":"a"}`)
	if e := got.APIError(t); got.Status != 400 || e.Code != "unsupported_value" || !strings.Contains(e.Message, "not for embeddings") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

func TestATitleGoesToGeminiWithItsTask(t *testing.T) {
	t.Parallel()
	p, u := gemini(t)
	u.Play(gatewaytest.JSON(http.StatusOK, `{"embeddings":[{"values":[1]},{"values":[1]}]}`))
	got := post(t, p, `{"model":"`+newer+`","input":["a","b"],"task_type":"RETRIEVAL_DOCUMENT","title":"Letters"}`)
	sent := u.Requests()
	if got.Status != http.StatusOK || got.Header.Get("X-Gateway-Ignored-Params") != "" || len(sent) != 1 ||
		strings.Count(string(sent[0].Body), `"taskType":"RETRIEVAL_DOCUMENT"`) != 2 ||
		strings.Count(string(sent[0].Body), `"title":"Letters"`) != 2 {
		t.Errorf("%d %v %s, sent %+v", got.Status, got.Header, got.Body, sent)
	}
}
