package takeover

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// ignoredMembers are some of LiteLLM's, and their names.
const (
	ignoredMembers = `"tags":["a"],"num_retries":2,"timeout":30,"cache":{"no-cache":true},"litellm_metadata":{"tags":["a"]},"no-log":true`
	ignoredNames   = "tags, num_retries, timeout, cache, litellm_metadata, no-log"
)

func TestMembersOfLiteLLMAreTakenOutAndNamed(t *testing.T) {
	t.Parallel()
	p, u, key := routesGateway(t)
	for path, own := range map[string]string{
		"/chat/completions":         `"model":"gpt-5.2",` + gatewaytest.HiMessages,
		"/v1/chat/completions":      `"model":"claude-sonnet-5",` + gatewaytest.HiMessages,
		"/responses":                `"model":"gpt-5","input":"hi"`,
		"/v1/responses":             `"model":"gemini-3.5-flash","input":"hi"`,
		"/embeddings":               `"model":"text-embedding-3-small","input":"hi"`,
		"/v1/embeddings":            `"model":"gemini-embedding-001","input":"hi"`,
		"/anthropic/v1/messages":    `"model":"claude-sonnet-5","max_tokens":50,` + gatewaytest.HiMessages,
		"/v1/messages":              `"model":"gpt-5.2","max_tokens":50,` + gatewaytest.HiMessages,
		"/v1/messages/count_tokens": `"model":"claude-sonnet-5",` + gatewaytest.HiMessages,
	} {
		u.Take()
		for _, body := range []string{`{` + own + `,` + ignoredMembers + `}`, `{` + ignoredMembers + `,` + own + `}`} {
			a := p.Call(t, "POST", path, body, "Authorization", "Bearer "+key)
			if isCount := strings.HasSuffix(path, "count_tokens"); a.Status != 200 ||
				!isCount && a.Header.Get("X-Gateway-Ignored-Params") != ignoredNames {
				t.Errorf("%s: %d %q %s", path, a.Status, a.Header.Get("X-Gateway-Ignored-Params"), a.Body)
			}
		}
		for _, sent := range u.Take() {
			for name := range strings.SplitSeq(ignoredNames, ", ") {
				if strings.Contains(string(sent.Body), `"`+name+`"`) {
					t.Errorf("%s: sent %s", path, sent.Body)
				}
			}
		}
	}
}

// The rest of a body travels as it came: what a provider's cache knows is the same.
func TestTheRestOfABodyTravelsAsItCame(t *testing.T) {
	t.Parallel()
	p, u, key := routesGateway(t)
	const hi = gatewaytest.HiMessages
	for body, sent := range map[string]string{
		` { "tags" : ["a"] , "model":"gpt-5.2" ,  ` + hi + ` } `:                                                `{"model":"gpt-5.2",` + hi + `}`,
		`{"model":"gpt-5.2", "cache": {}, ` + hi + `, "ttl": 5 }`:                                               `{"model":"gpt-5.2",` + hi + `}`,
		`{"tags":1,"ttl":2,"model":"gpt-5.2","num_retries":3,"cache":{"a":[",\"}"]},` + hi + `}`:                `{"model":"gpt-5.2",` + hi + `}`,
		`{"t\u0061gs":["a"],"model":"gpt-5.2",` + hi + `}`:                                                      `{"model":"gpt-5.2",` + hi + `}`,
		`{"guardrails":[],"api_key":null,"model":"gpt-5.2",` + hi + `,"metadata":{},"fallbacks":[]}`:            `{"model":"gpt-5.2",` + hi + `}`,
		`{"model":"gpt-5.2","user":"u1","metadata":{"job":"1"},"seed":4,` + hi + `}`:                            `{"model":"gpt-5.2","user":"u1","metadata":{"job":"1"},"seed":4,` + hi + `}`,
		`{"model":"gpt-5.2","metadata":{"trace":{"a":1},"job":"1"},` + hi + `}`:                                 `{"model":"gpt-5.2",` + hi + `}`,
		`{"model":"gpt-5.2","metadata":"text",` + hi + `,"disable_fallbacks":true,"litellm_session_id":"s"}`:    `{"model":"gpt-5.2",` + hi + `}`,
		`{"model":"gpt-5.2","drop_params":true,` + hi + `,"context_window_fallback_dict":{"gpt-5.2":"gpt-4o"}}`: `{"model":"gpt-5.2",` + hi + `}`,
	} {
		a := p.Call(t, "POST", "/chat/completions", body, "Authorization", "Bearer "+key)
		if got := u.Take(); a.Status != 200 || len(got) != 1 || string(got[0].Body) != sent {
			t.Errorf("%s: %d %s\nsent %s", body, a.Status, a.Body, got)
		}
	}
	for _, body := range []string{
		`{"tags":[1,"model":"gpt-5.2",` + hi + `}`, `{"model":"gpt-5.2",` + hi + `,"tags":tru}`, `{"model":"gpt-5.2",` + hi + `,"tags":1]`,
		`{"model":"gpt-5.2",` + hi + `,"tags"`, `{"tags":1`, `{"tags":{"a":1,"a":2},"model":"gpt-5.2",` + hi + `}`, `"tags"`, ` `,
	} {
		a := p.Call(t, "POST", "/chat/completions", body, "Authorization", "Bearer "+key)
		if e := a.APIError(t); a.Status != 400 || e.Code != "invalid_json" {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	if sent := u.Take(); len(sent) > 0 {
		t.Errorf("sent %s", sent)
	}
}

func TestMetadataOfEmbeddingsAreLiteLLMsAlways(t *testing.T) {
	t.Parallel()
	p, u, key := routesGateway(t)
	const body = `{"model":"text-embedding-3-small","input":"hi","metadata":{"a":"b"},"fallbacks":["gpt-4o"],"user":"u1"}`
	a := p.Call(t, "POST", "/embeddings", body, "Authorization", "Bearer "+key)
	sent := u.Take()
	if a.Status != 200 || a.Header.Get("X-Gateway-Ignored-Params") != "metadata, fallbacks" || len(sent) != 1 ||
		string(sent[0].Body) != `{"model":"text-embedding-3-small","input":"hi","user":"u1"}` {
		t.Errorf("%d %s %s, sent %s", a.Status, a.Header, a.Body, sent)
	}
}

func TestABodyIsNotMadeRightByTakingMembersOut(t *testing.T) {
	t.Parallel()
	p, u, key := routesGateway(t)
	for _, begin := range []string{`{"model":"gpt-5.2" "tags":1,`, `{"model":"gpt-5.2","tags":1,"tags":2,`, `{"model":"gpt-5.2","metadata":"{\"guardrails\":[],\"guardrails\":[1]}",`} {
		a := p.Call(t, "POST", "/chat/completions", begin+gatewaytest.HiMessages+`}`, "Authorization", "Bearer "+key)
		if sent := u.Take(); a.Status != 400 || len(sent) > 0 {
			t.Errorf("%s: %d %s, sent %s", begin, a.Status, a.Body, sent)
		}
	}
}

func TestMetadataOfAnthropicsAPIStay(t *testing.T) {
	t.Parallel()
	p, u, key := routesGateway(t)
	const body = `{"model":"claude-sonnet-5","max_tokens":50,"metadata":{"user_id":null},` + gatewaytest.HiMessages
	a := p.Call(t, "POST", "/v1/messages", body+`,"litellm_metadata":{"user_id":"u"}}`, "X-Api-Key", key)
	if sent := u.Take(); a.Status != 200 || len(sent) != 1 || string(sent[0].Body) != body+`}` {
		t.Errorf("%d %s, sent %s", a.Status, a.Body, sent)
	}
}

func TestStrictRequestsRefuseIgnoredMembersOfLiteLLM(t *testing.T) {
	t.Parallel()
	p, u, key := routesGateway(t)
	_, strict := routesGatewayStrict(t)
	for _, model := range []string{"gpt-5.2", "claude-sonnet-5"} {
		body := `{"model":"` + model + `",` + gatewaytest.HiMessages + `,"num_retries":2,"tags":["a"]`
		a := p.Call(t, "POST", "/chat/completions", body+`}`, "Authorization", "Bearer "+key, "X-Gateway-Strict-Params", "true")
		if e := a.APIError(t); a.Status != 400 || e.Code != "unsupported_value" || *e.Param != "num_retries" || !strings.Contains(e.Message, "tags") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		for end, want := range map[string]int{`}`: 400, `,"drop_params":true}`: 200, `,"drop_params":false}`: 400} {
			if a := strict.Call(t, "POST", "/chat/completions", body+end); a.Status != want {
				t.Errorf("%s: %d %s", end, a.Status, a.Body)
			}
			headers := []string{"X-Gateway-Strict-Params", "true"}
			if a := strict.Call(t, "POST", "/chat/completions", body+end, headers...); a.Status != 400 {
				t.Errorf("%s with the header: %d %s", end, a.Status, a.Body)
			}
		}
	}
	if sent := u.Take(); len(sent) > 0 {
		t.Errorf("sent %s", sent)
	}
}

func routesGatewayStrict(t *testing.T) (*gatewaytest.Recorder, *gatewaytest.Program) {
	t.Helper()
	p, u := gatewaytest.StartRecorded(t, "LITELLM_ROUTES=true", "STRICT_PARAMS=true")
	return u, routesPlain(t, p)
}

func TestMembersThatWouldChooseAnUpstreamOrSkipACheckAreRefused(t *testing.T) {
	t.Parallel()
	p, u, key := routesGateway(t)
	for member, param := range map[string]string{
		`"guardrails":["g"]`: "guardrails", `"metadata":{"guardrails":["g"]}`: "guardrails", `"litellm_metadata":{"guardrails":["g"]}`: "guardrails",
		`"metadata":"{\"guardrails\":[\"g\"]}"`: "guardrails", `"policies":["p"]`: "policies", `"guardrails":{"g":{}}`: "guardrails",
		`"api_key":"sk-mine"`: "api_key", `"api_base":"http://h"`: "api_base", `"base_url":"http://h"`: "base_url",
		`"model_list":[{"model_name":"m"}]`: "model_list", `"user_config":{"model_list":[]}`: "user_config", `"\u0061pi_key":"sk"`: "api_key",
		`"extra_headers":{"Authorization":"x"}`: "extra_headers", `"aws_secret_access_key":"x"`: "aws_secret_access_key",
		`"vertex_credentials":"x"`: "vertex_credentials", `"extra_body":{"guardrails":["g"]}`: "extra_body", `"prompt_id":"p"`: "prompt_id",
	} {
		for _, model := range []string{"gpt-5.2", "claude-sonnet-5"} {
			a := p.Call(t, "POST", "/v1/chat/completions", `{"model":"`+model+`",`+member+`,`+gatewaytest.HiMessages+`}`,
				"Authorization", "Bearer "+key, "X-Gateway-Strict-Params", "false")
			if e := a.APIError(t); a.Status != 400 || e.Type != "invalid_request_error" || e.Code != "unsupported_value" || *e.Param != param ||
				strings.Contains(a.Body, "sk-mine") {
				t.Errorf("%s: %d %s", member, a.Status, a.Body)
			}
		}
	}
	a := p.Call(t, "POST", "/anthropic/v1/messages", `{"model":"claude-sonnet-5","guardrails":["g"],"max_tokens":5,`+gatewaytest.HiMessages+`}`,
		"X-Api-Key", key)
	if a.Status != 400 || !strings.HasPrefix(a.Body, `{"type":"error","error":{"type":"invalid_request_error"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if sent := u.Take(); len(sent) > 0 {
		t.Errorf("sent %s", sent)
	}
}

func TestSessionOfLiteLLMIsTheSessionOfTheCall(t *testing.T) {
	t.Parallel()
	p, _, key := routesGateway(t)
	body := `{"model":"gpt-5.2","litellm_session_id":"session-7","metadata":{"project":"Rocket"},` + gatewaytest.HiMessages + `}`
	if a := p.Call(t, "POST", "/chat/completions", body, "Authorization", "Bearer "+key); a.Status != 200 || a.Header.Get("X-Gateway-Ignored-Params") != "" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	gatewaytest.Until(t, "the call is booked", func() bool {
		a := p.Call(t, "GET", "/v1/calls?session=session-7&project=Rocket", "", "Authorization", "Bearer "+key)
		return strings.Contains(a.Body, `"session-7"`)
	})
}

// fallbackGateway is a gateway whose own fallback for gpt-4 is Gemini's, and the upstreams of OpenAI, of Anthropic and of Gemini.
func fallbackGateway(t *testing.T, settings ...string) (p *gatewaytest.Program, upstreams [3]*providertest.Upstream, token []string) {
	t.Helper()
	settings = append(settings, "LITELLM_ROUTES=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "MAX_RETRIES=0",
		"FALLBACKS=gpt-4="+gatewaytest.Providers()[2].Model)
	for i, f := range gatewaytest.Providers() {
		upstreams[i] = providertest.Serve(t)
		settings = append(settings, f.EnvPrefix+"_API_KEY=sk-x", f.EnvPrefix+"_BASE_URL="+upstreams[i].URL)
	}
	p = gatewaytest.Start(t, settings...)
	return p, upstreams, p.Login(t)
}

func TestFallbacksOfTheClientAnswerInPlaceOfTheGateways(t *testing.T) {
	t.Parallel()
	p, u, token := fallbackGateway(t)
	all := gatewaytest.Providers()
	claude, gemini := all[1].Model, all[2].Model
	u[0].Play(gatewaytest.JSON(529, `{}`))
	u[1].Play(gatewaytest.JSON(200, all[1].Answer("of Claude")))
	u[2].Play(gatewaytest.JSON(200, all[2].Answer("of Gemini")))
	for members, want := range map[string]string{
		``:                                gemini,
		`,"fallbacks":["` + claude + `"]`: claude,
		`,"fallbacks":["gpt-4",{"model":"` + claude + `"},"` + gemini + `"]`: claude,
		`,"fallbacks":["` + gemini + `","` + claude + `"]`:                   gemini,
		`,"fallbacks":null`: gemini,
		`,"fallbacks":["` + claude + `"],"disable_fallbacks":true`: "",
		`,"disable_fallbacks":true`:                                "",
	} {
		a := p.Call(t, "POST", "/v1/chat/completions", `{"model":"gpt-4",`+gatewaytest.HiMessages+members+`}`, token...)
		if a.Header.Get("X-Gateway-Fallback") != want || (a.Status == 200) != (want != "") || a.Header.Get("X-Gateway-Ignored-Params") != "" {
			t.Errorf("%s: %d %s %s", members, a.Status, a.Header, a.Body)
		}
	}
	body := `{"model":"gpt-4",` + gatewaytest.HiMessages + `,"fallbacks":["` + claude + `"]}`
	if a := p.Call(t, "POST", "/v1/chat/completions", body, append(token, "X-Gateway-Fallback", "false")...); a.Status == 200 {
		t.Errorf("with the header: %d %s", a.Status, a.Body)
	}
	for _, upstream := range u {
		for _, sent := range upstream.Requests() {
			if strings.Contains(string(sent.Body), "fallbacks") {
				t.Errorf("sent %s", sent.Body)
			}
		}
	}
}

func TestFallbacksOfTheClientMustBeAllowed(t *testing.T) {
	t.Parallel()
	p, u, token := fallbackGateway(t)
	claude := gatewaytest.Providers()[1].Model
	u[0].Play(gatewaytest.JSON(200, gatewaytest.Providers()[0].Answer("fine")))
	_, key := p.CreateLimitedKey(t, token, `"models":["gpt-4"]`)
	caller := []string{"Authorization", "Bearer " + key}
	ask := func(model, fallbacks string) gatewaytest.Answer {
		return p.Call(t, "POST", "/v1/chat/completions", `{"model":"`+model+`",`+gatewaytest.HiMessages+`,"fallbacks":`+fallbacks+`}`, caller...)
	}
	for name, status := range map[string]int{claude: 403, "nonexistent-1": 404} {
		direct, asked := ask(name, `null`), ask("gpt-4", `["gpt-4","`+name+`"]`)
		if direct.Status != status || asked.Status != status || asked.APIError(t).Code != direct.APIError(t).Code ||
			asked.APIError(t).Message != direct.APIError(t).Message {
			t.Errorf("%s: %d %s, asked for: %d %s", name, asked.Status, asked.Body, direct.Status, direct.Body)
		}
	}
	for _, fallbacks := range []string{`"gpt-4"`, `[7]`, `[""]`, `[{"gpt-4":["gpt-4"]}]`, `[{"model":"gpt-4","api_key":"x"}]`, `{"gpt-4":"gpt-4"}`,
		`[` + strings.Repeat(`"gpt-4-a",`, 3) + `"1","2","3","4","5","6","7","8","9","10"]`} {
		if a := ask("gpt-4", fallbacks); a.Status != 400 || a.APIError(t).Code != "invalid_value" || *a.APIError(t).Param != "fallbacks" {
			t.Errorf("%s: %d %s", fallbacks, a.Status, a.Body)
		}
	}
	if sent := u[0].Requests(); len(sent) > 0 {
		t.Errorf("%d calls were made", len(sent))
	}
	if a := ask("gpt-4", `["gpt-4"]`); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// A budget covers the dearest model that may answer.
func TestFallbacksOfTheClientAreReservedInBudgets(t *testing.T) {
	t.Parallel()
	models := filepath.Join(t.TempDir(), "models.yaml")
	err := os.WriteFile(models, []byte(`models:
  - {id: cheap-1, provider: openai, price: {input: 1, output: 1}}
  - {id: dear-1, provider: openai, price: {input: 900, output: 900}}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p, u, token := fallbackGateway(t, "BUDGET_RESERVE=worst", "MODELS_FILE="+models)
	u[0].Play(gatewaytest.JSON(200, gatewaytest.Providers()[0].Answer("fine")))
	_, key := p.CreateLimitedKey(t, token, `"budget_usd":0.05`)
	ask := func(fallbacks string) gatewaytest.Answer {
		return p.Call(t, "POST", "/v1/chat/completions", `{"model":"cheap-1","max_tokens":100,`+gatewaytest.HiMessages+fallbacks+`}`,
			"Authorization", "Bearer "+key)
	}
	if a := ask(``); a.Status != 200 {
		t.Errorf("without a fallback: %d %s", a.Status, a.Body)
	}
	if a := ask(`,"fallbacks":["dear-1"]`); a.Status != http.StatusPaymentRequired && a.Status != 429 {
		t.Errorf("with a fallback that the budget does not cover: %d %s", a.Status, a.Body)
	}
	if a := ask(`,"fallbacks":["cheap-1"]`); a.Status != 200 {
		t.Errorf("with itself: %d %s", a.Status, a.Body)
	}
}
