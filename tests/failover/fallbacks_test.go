package failover

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

func TestFallbackModelAnswersWhenTheRequestedModelCannot(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			p, own, other, by := gatewaytest.StartWithFallback(t, f, "MAX_RETRIES=1")
			for _, members := range []string{"", gatewaytest.Streaming} {
				own.Play(f.WholeAnswer(members, "itself"))
				other.Play(by.WholeAnswer(members, "instead"))
				if a := p.Chat(t, f.Request(members)); gatewaytest.TextOf(a.Body) != "itself" || a.Header.Get("X-Gateway-Fallback") != "" ||
					a.Header.Get("X-Gateway-Provider") != f.Name ||
					len(other.Requests()) != 0 {
					t.Errorf("it can: %v %s", a.Header, a.Body)
				}
				own.Play(gatewaytest.JSON(503, `{"error":{"message":"down"}}`))
				a := p.Chat(t, f.Request(members))
				if a.Status != 200 || a.Err != nil || gatewaytest.TextOf(a.Body) != "instead" || len(own.Requests()) != 2 ||
					len(other.Requests()) != 1 {
					t.Errorf("it cannot: %d, %v, %s", a.Status, a.Err, a.Body)
				}
				if a.Header.Get("X-Gateway-Fallback") != by.Model || a.Header.Get("X-Gateway-Provider") != by.Name ||
					!strings.Contains(a.Body, `"model":"`+by.Model) ||
					strings.Contains(a.Body, f.Model+`"`) {
					t.Errorf("who answered is not said: %v %s", a.Header, a.Body)
				}
				a = p.Chat(t, f.Request(members), "X-Gateway-Fallback", "false")
				if e := a.APIError(t); a.Status != 502 || e.Provider != f.Name || a.Header.Get("X-Gateway-Fallback") != "" ||
					len(other.Requests()) != 1 {
					t.Errorf("it is forbidden: %d %v %s", a.Status, a.Header, a.Body)
				}
				other.Play(gatewaytest.JSON(500, `{}`))
				a = p.Chat(t, f.Request(members))
				if e := a.APIError(t); a.Status != 502 || e.Provider != f.Name || e.UpstreamStatus != 503 ||
					a.Header.Get("X-Gateway-Provider") != f.Name {
					t.Errorf("both cannot: %d %v %s", a.Status, a.Header, a.Body)
				}
			}
			text := p.Get(t, "/metrics").Body
			for _, line := range []string{
				`modelgateway_fallbacks_total{model="` + f.Model + `",served="` + by.Model + `"} 2`,
				`modelgateway_upstream_retries_total{provider="` + f.Name + `"} 6`, `modelgateway_upstream_retries_total{provider="` + by.Name + `"} 2`,
			} {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("the metrics do not have %s", line)
				}
			}
		})
	}
}

func TestUnreachableOrUnconfiguredProviderFallsBack(t *testing.T) {
	t.Parallel()
	fs := gatewaytest.Providers()
	gpt, claude, gemini := fs[0], fs[1], fs[2]
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL=http://127.0.0.1:1", "GEMINI_API_KEY=sk-x", "GEMINI_BASE_URL="+u.URL,
		"FALLBACKS="+gpt.Model+"="+claude.Model+","+gemini.Model+";"+claude.Model+"="+gpt.Model)
	for _, members := range []string{"", gatewaytest.Streaming} {
		u.Play(gemini.WholeAnswer(members, "instead"))
		if a := p.Chat(t, gpt.Request(members)); a.Status != 200 || gatewaytest.TextOf(a.Body) != "instead" ||
			a.Header.Get("X-Gateway-Fallback") != gemini.Model {
			t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
		}
		a := p.Chat(t, claude.Request(members)) // the transient failure is reported
		if e := a.APIError(t); a.Status != 502 || e.Provider != "openai" || a.Header.Get("X-Gateway-Fallback") != gpt.Model ||
			a.Header.Get("X-Should-Retry") != "true" {
			t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
		}
	}
}

func TestIgnoredParamsAreThoseOfTheAnsweringModel(t *testing.T) {
	t.Parallel()
	p, own, other, by := gatewaytest.StartWithFallback(t, gatewaytest.Providers()[0], "MAX_RETRIES=0") // Claude takes no seed
	f := gatewaytest.Providers()[0]
	own.Play(gatewaytest.JSON(503, `{}`))
	other.Play(by.WholeAnswer("", "instead"))
	const members = `,"seed":7,"logit_bias":{"1":2}`
	if a := p.Chat(t, f.Request(members)); a.Status != 200 || !strings.Contains(a.Header.Get("X-Gateway-Ignored-Params"), "seed") {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	if a := p.Chat(t, f.Request(members), "X-Gateway-Strict-Params", "true"); a.Status != 502 || a.APIError(t).Provider != f.Name ||
		len(other.Requests()) != 1 {
		t.Errorf("strict: %d %s", a.Status, a.Body)
	}
	own.Play(f.WholeAnswer("", "itself"))
	if a := p.Chat(t, f.Request(members), "X-Gateway-Strict-Params", "true"); a.Status != 200 ||
		a.Header.Get("X-Gateway-Ignored-Params") != "" {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
}

func TestFallbacksComeFromTheModelsFileAndTheSetting(t *testing.T) {
	t.Parallel()
	fs := gatewaytest.Providers()
	gpt, claude, gemini := fs[0], fs[1], fs[2]
	file := filepath.Join(t.TempDir(), "models.yaml")
	text := "models: [{id: gpt-4, provider: openai, fallbacks: [" + claude.Model + "]}, {id: gpt-3.5-turbo, provider: openai, fallbacks: [" + claude.Model + "]}]"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, g := providertest.Serve(t, gatewaytest.JSON(200, claude.Answer("c"))), providertest.Serve(
		t, gatewaytest.JSON(200, gemini.Answer("g")),
	)
	p := gatewaytest.Start(t, "MODELS_FILE="+file, "FALLBACKS=gpt-4="+gemini.Model, "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+c.URL,
		"GEMINI_API_KEY=sk-x", "GEMINI_BASE_URL="+g.URL)
	for model, by := range map[string]string{gpt.Model: gemini.Model, "gpt-3.5-turbo": claude.Model} {
		if a := p.Chat(t, strings.Replace(gpt.Request(""), gpt.Model, model, 1)); a.Status != 200 ||
			a.Header.Get("X-Gateway-Fallback") != by {
			t.Errorf("%s: %d %v %s", model, a.Status, a.Header, a.Body)
		}
	}
}

func TestUnknownModelsInSettingsRefuseToStartUnlessDiscoveryIsOn(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"FALLBACKS=gpt-4=no-such-model", "FALLBACKS=no-such-model=gpt-4", "DEFAULT_KEY_MODELS=gpt-4,no-such-model"} {
		name, _, _ := strings.Cut(setting, "=")
		p, err := gatewaytest.TryStart(t, setting)
		if err == nil {
			_ = p.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), name+":") || !strings.Contains(err.Error(), "no-such-model") {
			t.Errorf("%s: %v", setting, err)
		}
		p = gatewaytest.Start(t, setting, "MODEL_DISCOVERY=true")
		if !strings.Contains(p.Log.String(), "no-such-model") || !strings.Contains(p.Log.String(), `"level":"WARN"`) {
			t.Errorf("%s: there is no warning:\n%s", setting, p.Log.String())
		}
	}
}

func TestFallbacksBetweenKindsOfModelsRefuseToStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "models.yaml")
	text := "models: [{id: v1, provider: openai, kind: embedding}, {id: v2, provider: openai, kind: embedding}]"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{
		"FALLBACKS=gpt-4=v1": `the model "gpt-4" is for chat completions, and its fallback "v1" for embeddings`,
		"FALLBACKS=v1=v2":    `the model "v1" is for embeddings, which no other model can answer in its place`,
	} {
		p, err := gatewaytest.TryStart(t, setting, "MODELS_FILE="+file)
		if err == nil {
			_ = p.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestSlowAnswerIsHedgedAndTheSlowCallCancelled(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			p, own, other, by := gatewaytest.StartWithFallback(t, f, "HEDGE_AFTER_MS=50")
			own.Play(providertest.Script{End: providertest.Hold})
			other.Play(by.WholeAnswer("", "instead"))
			a := p.Chat(t, f.Request(""))
			if a.Status != 200 || gatewaytest.TextOf(a.Body) != "instead" || a.Header.Get("X-Gateway-Fallback") != by.Model {
				t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
			}
			if _, ok := own.Gone(5 * time.Second); !ok {
				t.Error("the call that lost was not ended")
			}
			if text := p.Get(t, "/metrics").Body; !strings.Contains(text, `modelgateway_upstream_hedges_total{provider="`+f.Name+`"} 1`) {
				t.Error("the hedge is not counted")
			}
			own.Play(gatewaytest.Events(providertest.Hold, f.Start, f.Text("a")))
			before := len(other.Requests())
			gatewaytest.Until(t, "a stream begins", func() bool {
				return strings.Contains(p.ReadFor(t, f.Request(gatewaytest.Streaming), 200*time.Millisecond), `"content":"a"`)
			})
			if len(other.Requests()) != before {
				t.Error("a stream was hedged")
			}
		})
	}
}
