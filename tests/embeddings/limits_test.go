package embeddings

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

func TestLimitsOfAKeyHoldForVectors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	p, u := openai(t, "DATABASE_URL=sqlite:"+file, "MODEL_ALIASES=ada="+small)
	login := p.Login(t)
	long := strings.Repeat("word ", 5000) // costs about 0.0001 dollars
	for _, tt := range []struct {
		name, limits, input string
		status              int
		code                string
	}{
		{"a budget", `"budget_usd":0.00001`, long, http.StatusPaymentRequired, "budget_exceeded"},
		{"models", `"models":["gpt-4o"]`, "a", http.StatusForbidden, "model_not_allowed"},
	} {
		_, key := p.CreateLimitedKey(t, login, tt.limits)
		got := post(t, p, `{"model":"ada","input":"`+tt.input+`"}`, "X-Api-Key", key)
		if e := got.APIError(t); got.Status != tt.status || e.Code != tt.code || len(u.Requests()) != 0 {
			t.Errorf("%s: %d %s", tt.name, got.Status, got.Body)
		}
	}
	id, key := p.CreateLimitedKey(t, login, `"budget_usd":0.001,"tpm_limit":1100`)
	u.Play(gatewaytest.JSON(http.StatusOK, vectors))
	asked := `{"model":"ada","input":"` + strings.Repeat("word ", 900) + `"}`
	longtest.AwaitMinute(t, 20*time.Second)
	got := post(t, p, asked, "X-Api-Key", key)
	row := gatewaytest.AwaitLedgerRow(t, file, got.Header.Get("X-Request-Id"))
	if got.Body != vectors || row.Served != small || row.Prompt != 1000 || row.Cost != 20 || row.KeyID != id {
		t.Errorf("%d %s, %+v", got.Status, got.Body, row)
	}
	if got.Header.Get("X-Gateway-Model-Alias") != small || got.Header.Get("X-Ratelimit-Limit-Tokens") != "1100" {
		t.Errorf("%v", got.Header)
	}
	got = post(t, p, asked, "X-Api-Key", key)
	if e := got.APIError(t); got.Status != http.StatusTooManyRequests || e.Code != "rate_limit_exceeded" || len(u.Requests()) != 1 {
		t.Errorf("over its tokens a minute: %d %s", got.Status, got.Body)
	}
	if sent := string(u.Requests()[0].Body); !strings.Contains(sent, `"`+small+`"`) {
		t.Errorf("sent %s", sent)
	}
}

// A server that lists a model for embeddings that no list of prices knows serves it by its own name.
func TestADiscoveredModelGivesVectors(t *testing.T) {
	t.Parallel()
	u := gatewaytest.NewFuncUpstream(t)
	u.Handle(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/v1/models":
			_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"text-embedding-7","object":"model"},{"id":"` + small + `","object":"model"}]}`))
		case "/v1/embeddings":
			_, _ = w.Write([]byte(vectors))
		}
	})
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+u.URL, "MODEL_DISCOVERY=true")
	gatewaytest.Until(t, "the models are listed", func() bool {
		return strings.Contains(p.Call(t, http.MethodGet, "/v1/models?kind=embedding", "").Body, "text-embedding-7")
	})
	for _, model := range []string{small, "text-embedding-7"} {
		if got := post(t, p, `{"model":"`+model+`","input":"a"}`); got.Body != vectors {
			t.Errorf("%s: %d %s", model, got.Status, got.Body)
		}
	}
}
