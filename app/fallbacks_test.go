package app

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"modelgateway/providers/providertest"
)

func TestAnotherModelAnswersWhenTheOneThatWasAskedForCannot(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			p, own, other, by := backed(t, f, "MAX_RETRIES=1")
			for _, members := range []string{"", streaming} {
				own.Play(f.whole(members, "itself"))
				other.Play(by.whole(members, "instead"))
				if a := p.chat(t, f.request(members)); said(a.body) != "itself" || a.header.Get("X-Gateway-Fallback") != "" || a.header.Get("X-Gateway-Provider") != f.name || len(other.Requests()) != 0 {
					t.Errorf("it can: %v %s", a.header, a.body)
				}
				own.Play(jsonScript(503, `{"error":{"message":"down"}}`))
				a := p.chat(t, f.request(members))
				if a.status != 200 || a.err != nil || said(a.body) != "instead" || len(own.Requests()) != 2 || len(other.Requests()) != 1 {
					t.Errorf("it cannot: %d, %v, %s", a.status, a.err, a.body)
				}
				if a.header.Get("X-Gateway-Fallback") != by.model || a.header.Get("X-Gateway-Provider") != by.name || !strings.Contains(a.body, `"model":"`+by.model) || strings.Contains(a.body, f.model+`"`) {
					t.Errorf("who answered is not said: %v %s", a.header, a.body)
				}
				a = p.chat(t, f.request(members), "X-Gateway-Fallback", "false")
				if e := a.fault(t); a.status != 502 || e.Provider != f.name || a.header.Get("X-Gateway-Fallback") != "" || len(other.Requests()) != 1 {
					t.Errorf("it is forbidden: %d %v %s", a.status, a.header, a.body)
				}
				other.Play(jsonScript(500, `{}`))
				a = p.chat(t, f.request(members))
				if e := a.fault(t); a.status != 502 || e.Provider != f.name || e.UpstreamStatus != 503 || a.header.Get("X-Gateway-Provider") != f.name {
					t.Errorf("both cannot: %d %v %s", a.status, a.header, a.body)
				}
			}
			text := p.get(t, "/metrics").body
			for _, line := range []string{
				`modelgateway_fallbacks_total{model="` + f.model + `",served="` + by.model + `"} 2`,
				`modelgateway_upstream_retries_total{provider="` + f.name + `"} 6`, `modelgateway_upstream_retries_total{provider="` + by.name + `"} 2`,
			} {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("the metrics do not have %s", line)
				}
			}
		})
	}
}

func TestAProviderThatIsGoneOrWithoutKeyFallsBack(t *testing.T) {
	fs := families()
	gpt, claude, gemini := fs[0], fs[1], fs[2]
	u := providertest.Serve(t)
	p := start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL=http://127.0.0.1:1", "GEMINI_API_KEY=sk-x", "GEMINI_BASE_URL="+u.URL,
		"FALLBACKS="+gpt.model+"="+claude.model+","+gemini.model+";"+claude.model+"="+gpt.model)
	for _, members := range []string{"", streaming} {
		u.Play(gemini.whole(members, "instead"))
		if a := p.chat(t, gpt.request(members)); a.status != 200 || said(a.body) != "instead" || a.header.Get("X-Gateway-Fallback") != gemini.model {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
		a := p.chat(t, claude.request(members)) // the failure that may pass is told
		if e := a.fault(t); a.status != 502 || e.Provider != "openai" || a.header.Get("X-Gateway-Fallback") != gpt.model || a.header.Get("X-Should-Retry") != "true" {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
	}
}

func TestTheIgnoredParamsAreOfTheModelThatAnswers(t *testing.T) {
	p, own, other, by := backed(t, families()[0], "MAX_RETRIES=0") // by a claude, which knows no seed
	f := families()[0]
	own.Play(jsonScript(503, `{}`))
	other.Play(by.whole("", "instead"))
	const members = `,"seed":7,"logit_bias":{"1":2}`
	if a := p.chat(t, f.request(members)); a.status != 200 || !strings.Contains(a.header.Get("X-Gateway-Ignored-Params"), "seed") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := p.chat(t, f.request(members), "X-Gateway-Strict-Params", "true"); a.status != 502 || a.fault(t).Provider != f.name || len(other.Requests()) != 1 {
		t.Errorf("strict: %d %s", a.status, a.body)
	}
	own.Play(f.whole("", "itself"))
	if a := p.chat(t, f.request(members), "X-Gateway-Strict-Params", "true"); a.status != 200 || a.header.Get("X-Gateway-Ignored-Params") != "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
}

func TestFallbacksOfTheModelsFileAndOfTheSetting(t *testing.T) {
	fs := families()
	gpt, claude, gemini := fs[0], fs[1], fs[2]
	file := filepath.Join(t.TempDir(), "models.yaml")
	text := "models: [{id: gpt-4, provider: openai, fallbacks: [" + claude.model + "]}, {id: gpt-3.5-turbo, provider: openai, fallbacks: [" + claude.model + "]}]"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, g := providertest.Serve(t, jsonScript(200, claude.answer("c"))), providertest.Serve(t, jsonScript(200, gemini.answer("g")))
	p := start(t, "MODELS_FILE="+file, "FALLBACKS=gpt-4="+gemini.model, "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+c.URL, "GEMINI_API_KEY=sk-x", "GEMINI_BASE_URL="+g.URL)
	for model, by := range map[string]string{gpt.model: gemini.model, "gpt-3.5-turbo": claude.model} {
		if a := p.chat(t, strings.Replace(gpt.request(""), gpt.model, model, 1)); a.status != 200 || a.header.Get("X-Gateway-Fallback") != by {
			t.Errorf("%s: %d %v %s", model, a.status, a.header, a.body)
		}
	}
}

func TestModelsOfSettingsThatNobodyKnowsRefuseToStartUnlessDiscoveryMayFindThem(t *testing.T) {
	for _, setting := range []string{"FALLBACKS=gpt-4=no-such-model", "FALLBACKS=no-such-model=gpt-4", "DEFAULT_KEY_MODELS=gpt-4,no-such-model"} {
		name, _, _ := strings.Cut(setting, "=")
		p, err := tryStart(t, setting)
		if err == nil {
			_ = p.stop()
		}
		if err == nil || !strings.Contains(err.Error(), name+":") || !strings.Contains(err.Error(), "no-such-model") {
			t.Errorf("%s: %v", setting, err)
		}
		p = start(t, setting, "MODEL_DISCOVERY=true")
		if !strings.Contains(p.log.String(), "no-such-model") || !strings.Contains(p.log.String(), `"level":"WARN"`) {
			t.Errorf("%s: there is no warning:\n%s", setting, p.log.String())
		}
	}
}

func TestTheOfficialSDKSeesNothingOfAFallback(t *testing.T) {
	f := families()[0]
	p, own, other, by := backed(t, f)
	own.Play(jsonScript(529, `{}`))
	other.Play(jsonScript(200, by.answer("instead")))
	client := official(p)
	params := openai.ChatCompletionNewParams{Model: f.model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}}
	var resp *http.Response
	answer, err := client.Chat.Completions.New(t.Context(), params, option.WithResponseInto(&resp))
	if err != nil || answer.Choices[0].Message.Content != "instead" || answer.Model != by.model || resp.Header.Get("X-Gateway-Fallback") != by.model {
		t.Errorf("%v, %+v", err, answer)
	}
	other.Play(by.whole(streaming, "instead"))
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var together openai.ChatCompletionAccumulator
	for stream.Next() {
		together.AddChunk(stream.Current())
	}
	if stream.Err() != nil || together.Choices[0].Message.Content != "instead" || together.Model != by.model {
		t.Errorf("%v, %+v", stream.Err(), together)
	}
	limited := jsonScript(429, `{}`)
	limited.Header.Set("Retry-After", "20")
	own.Play(limited)
	_, err = client.Chat.Completions.New(t.Context(), params, option.WithHeader("X-Gateway-Fallback", "false"))
	if refused, ok := errors.AsType[*openai.Error](err); !ok || refused.StatusCode != 429 || refused.Response.Header.Get("Retry-After") != "20" {
		t.Errorf("%v", err)
	}
}

func TestASlowAnswerIsHedgedAndItsCallEnded(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			p, own, other, by := backed(t, f, "HEDGE_AFTER_MS=50")
			own.Play(providertest.Script{End: providertest.Hold})
			other.Play(by.whole("", "instead"))
			a := p.chat(t, f.request(""))
			if a.status != 200 || said(a.body) != "instead" || a.header.Get("X-Gateway-Fallback") != by.model {
				t.Errorf("%d %v %s", a.status, a.header, a.body)
			}
			if _, ok := own.Gone(5 * time.Second); !ok {
				t.Error("the call that lost was not ended")
			}
			if text := p.get(t, "/metrics").body; !strings.Contains(text, `modelgateway_upstream_hedges_total{provider="`+f.name+`"} 1`) {
				t.Error("the hedge is not counted")
			}
			own.Play(events(providertest.Hold, f.start, f.text("a")))
			before := len(other.Requests())
			s := p.leave(t, f.request(streaming), 200*time.Millisecond)
			if !strings.Contains(s, `"content":"a"`) || len(other.Requests()) != before {
				t.Errorf("a stream was hedged: %s", s)
			}
		})
	}
}
