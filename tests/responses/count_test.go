package responses

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	sdk "github.com/openai/openai-go/v3/responses"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// counted is the number of tokens of an answer, and how it is known.
func counted(t testing.TB, name string, a gatewaytest.Answer) (tokens int, how string) {
	t.Helper()
	var n struct {
		Object string
		Tokens *int `json:"input_tokens"`
	}
	if err := json.Unmarshal([]byte(a.Body), &n); err != nil || n.Object != "response.input_tokens" || n.Tokens == nil || a.Status != 200 {
		t.Errorf("%s: %d %s", name, a.Status, a.Body)
		return 0, ""
	}
	return *n.Tokens, a.Header.Get("X-Gateway-Token-Count")
}

// A client always gets a number: that of the provider if it answers within two seconds, else an
// estimate.
func TestTokensAreCountedForEveryProvider(t *testing.T) {
	t.Parallel()
	p, u := start(t, "MODEL_ALIASES=gpt-via-claude="+haiku)
	gpt := gatewaytest.JSON(200, `{"object":"response.input_tokens","input_tokens":14,"later":1}`)
	claude := gatewaytest.JSON(200, `{"input_tokens":15}`)
	gemini := gatewaytest.JSON(200, `{"totalTokens":8,"promptTokensDetails":[{"modality":"TEXT","tokenCount":8}]}`)
	hold := providertest.Script{End: providertest.Hold}
	down := gatewaytest.JSON(503, `{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}`)
	overloaded := gatewaytest.JSON(529, `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`)
	const gpt5 = "gpt-5.4"
	for _, tt := range []struct {
		name, model string
		script      providertest.Script
		how         string
		least, most int
		provider    string
		atUpstream  string
	}{
		{"GPT", gpt5, gpt, "exact", 14, 14, "openai", countPath},
		{"Claude", haiku, claude, "exact", 15, 15, "anthropic", "/v1/messages/count_tokens"},
		{"Gemini", flash, gemini, "exact", 8, 8, "gemini", "/v1beta/models/gemini-2.5-flash:countTokens"},
		{"an alias", "gpt-via-claude", claude, "exact", 15, 15, "anthropic", "/v1/messages/count_tokens"},
		{"GPT is down", gpt5, down, "estimate", 8, 20, "openai", ""},
		{"GPT limits", gpt5, gatewaytest.JSON(429, `{"error":{"message":"slow"}}`), "estimate", 8, 20, "openai", ""},
		{"GPT says nonsense", gpt5, gatewaytest.JSON(200, "<html>"), "estimate", 8, 20, "openai", ""},
		{"GPT is slow", gpt5, hold, "estimate", 8, 20, "openai", ""},
		{"a server without counts", gpt5, gatewaytest.JSON(404, "not found"), "estimate", 8, 20, "openai", ""},
		{"Claude is down", haiku, overloaded, "estimate", 8, 40, "anthropic", ""},
		{"Claude is slow", haiku, hold, "estimate", 8, 40, "anthropic", ""},
		{"Gemini is down", flash, down, "estimate", 8, 20, "gemini", ""},
		{"Gemini is slow", flash, hold, "estimate", 8, 20, "gemini", ""},
	} {
		at := u.of(tt.provider)
		at.Play(tt.script)
		began := time.Now()
		a := p.Call(t, "POST", countPath, body(tt.model, `,"instructions":""`))
		n, how := counted(t, tt.name, a)
		if how != tt.how || n < tt.least || n > tt.most || a.Header.Get("X-Gateway-Provider") != tt.provider {
			t.Errorf("%s: %d %s %v", tt.name, n, how, a.Header)
		}
		if took := time.Since(began); strings.HasSuffix(tt.name, "is slow") && took < 1900*time.Millisecond {
			t.Errorf("%s: the estimate came after %v", tt.name, took)
		}
		if sent := at.Requests(); tt.atUpstream != "" && (len(sent) == 0 || sent[len(sent)-1].Path != tt.atUpstream) {
			t.Errorf("%s: %+v", tt.name, sent)
		}
		if tt.name == "GPT" && a.Body != string(gpt.Pieces[0]) {
			t.Errorf("not the bytes of the provider: %s", a.Body)
		}
	}
}

// OpenAI's SDK counts at every provider.
func TestTheSDKCountsTokens(t *testing.T) {
	t.Parallel()
	p, _ := gatewaytest.StartRecorded(t)
	client := openai.NewClient(option.WithBaseURL(p.URL+"/v1/"), option.WithAPIKey("sk-dummy"), option.WithMaxRetries(0))
	for _, model := range []string{"gpt-5.4", haiku, flash} {
		n, err := client.Responses.InputTokens.Count(t.Context(), sdk.InputTokenCountParams{
			Model: openai.String(model), Instructions: openai.String("Be brief."),
			Input: sdk.InputTokenCountParamsInputUnion{OfString: openai.String("What is the capital of France?")},
		})
		if err != nil || n.InputTokens < 8 || n.InputTokens > 60 || string(n.Object) != "response.input_tokens" {
			t.Errorf("%s: %v %+v", model, err, n)
		}
	}
}
