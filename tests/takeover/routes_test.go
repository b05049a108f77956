package takeover

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	baranov "github.com/sashabaranov/go-openai"

	"modelgateway/tests/gatewaytest"
)

const routesModel = "gpt-5.2"

// routesGateway is a gateway with the routes of LiteLLM, and a key. Its client does not compare answers with the OpenAPI
// document, which has only the gateway's own paths.
func routesGateway(t *testing.T, settings ...string) (p *gatewaytest.Program, u *gatewaytest.Recorder, key string) {
	t.Helper()
	p, u = gatewaytest.StartRecorded(t, append(settings, "LITELLM_ROUTES=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)...)
	_, key = p.CreateKey(t, p.Login(t))
	return routesPlain(t, p), u, key
}

func routesPlain(t *testing.T, p *gatewaytest.Program) *gatewaytest.Program {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	plain := *p
	plain.Client = &http.Client{Transport: transport}
	return &plain
}

func routesHi(model string) string { return `{"model":"` + model + `",` + gatewaytest.HiMessages + `}` }

func TestOpenAISDKWithoutV1FindsTheRoutesOfLiteLLM(t *testing.T) {
	t.Parallel()
	p, _, key := routesGateway(t, "ENCRYPTION_KEY=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	for _, base := range []string{p.URL, p.URL + "/openai/v1"} {
		client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(key), option.WithHTTPClient(p.Client), option.WithMaxRetries(0))
		params := openai.ChatCompletionNewParams{
			Model: routesModel, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello there")},
		}
		answer, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil || !strings.Contains(answer.Choices[0].Message.Content, "Hello there") {
			t.Errorf("%v, %+v", err, answer)
		}
		stream, together := client.Chat.Completions.NewStreaming(t.Context(), params), openai.ChatCompletionAccumulator{}
		for stream.Next() {
			together.AddChunk(stream.Current())
		}
		if err := stream.Err(); err != nil || !strings.Contains(together.Choices[0].Message.Content, "Hello there") {
			t.Errorf("%v, %+v", err, together)
		}
		vectors, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
			Model: "text-embedding-3-small", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("hi")},
		})
		if err != nil || len(vectors.Data) != 1 || len(vectors.Data[0].Embedding) == 0 {
			t.Errorf("%v, %+v", err, vectors)
		}
		made, err := client.Responses.New(t.Context(), responses.ResponseNewParams{
			Model: "claude-sonnet-5", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hello there")},
		})
		if err != nil || !strings.Contains(made.OutputText(), "Hello there") {
			t.Fatalf("%v, %+v", err, made)
		}
		kept, err := client.Responses.Get(t.Context(), made.ID, responses.ResponseGetParams{})
		if err != nil || kept.OutputText() != made.OutputText() {
			t.Errorf("%v, %+v", err, kept)
		}
		if _, err := client.Responses.InputItems.List(t.Context(), made.ID, responses.InputItemListParams{}); err != nil {
			t.Error(err)
		}
		const listed = "claude-sonnet-4-5-20250929"
		list, err := client.Models.List(t.Context())
		if err != nil || !slices.ContainsFunc(list.Data, func(m openai.Model) bool { return m.ID == listed }) {
			t.Errorf("%v, %+v", err, list)
		}
		if m, err := client.Models.Get(t.Context(), listed); err != nil || m.ID != listed {
			t.Errorf("%v, %+v", err, m)
		}
		params.Model = "nonexistent-1"
		_, err = client.Chat.Completions.New(t.Context(), params)
		if refused, ok := errors.AsType[*openai.Error](err); !ok || refused.StatusCode != 404 || refused.Code != "model_not_found" {
			t.Error(err)
		}
	}
}

func TestAzureClientsNameTheModelInThePath(t *testing.T) {
	t.Parallel()
	p, u, key := routesGateway(t)
	config := baranov.DefaultAzureConfig(key, p.URL)
	config.AzureModelMapperFunc = func(model string) string { return model }
	config.HTTPClient = p.Client
	client := baranov.NewClientWithConfig(config)
	ask := baranov.ChatCompletionRequest{Model: routesModel, Messages: []baranov.ChatCompletionMessage{{Role: "user", Content: "Hello there"}}}
	answer, err := client.CreateChatCompletion(t.Context(), ask)
	if err != nil || !strings.Contains(answer.Choices[0].Message.Content, "Hello there") {
		t.Errorf("%v, %+v", err, answer)
	}
	stream, err := client.CreateChatCompletionStream(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	text := ""
	for {
		chunk, err := stream.Recv()
		if err != nil {
			break
		}
		if len(chunk.Choices) > 0 {
			text += chunk.Choices[0].Delta.Content
		}
	}
	if !strings.Contains(text, "Hello there") {
		t.Errorf("streamed %q", text)
	}
	vectors, err := client.CreateEmbeddings(t.Context(), baranov.EmbeddingRequest{Model: "text-embedding-3-small", Input: []string{"hi"}})
	if err != nil || len(vectors.Data) != 1 {
		t.Errorf("%v, %+v", err, vectors)
	}
	u.Take()
	for path, body := range map[string]string{
		"/openai/deployments/" + routesModel + "/chat/completions?api-version=2024-10-21": `{` + gatewaytest.HiMessages + `}`,
		"/openai/deployments/openai/" + routesModel + "/chat/completions":                 routesHi("gpt-0"),
		"/openai/deployments/openai%2F" + routesModel + "/chat/completions":               `{"stream":false,"model":"gpt-0",` + gatewaytest.HiMessages + `}`,
		"/engines/" + routesModel + "/chat/completions":                                   "\n { \"model\" : null ," + gatewaytest.HiMessages + ` }`,
	} {
		a := p.Call(t, "POST", path, body, "Api-Key", key)
		if sent := u.Take(); a.Status != 200 || len(sent) != 1 || !strings.Contains(string(sent[0].Body), `"`+routesModel+`"`) ||
			strings.Contains(string(sent[0].Body), "gpt-0") {
			t.Errorf("%s: %d %s, sent %s", path, a.Status, a.Body, sent)
		}
	}
	for body, code := range map[string]string{`{}`: "missing_field", `[]`: "invalid_json", `{`: "invalid_json"} {
		a := p.Call(t, "POST", "/openai/deployments/"+routesModel+"/chat/completions", body, "Api-Key", key)
		if e := a.APIError(t); a.Status != 400 || e.Code != code {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
}

func TestAnthropicSDKFindsThePassThroughOfLiteLLM(t *testing.T) {
	t.Parallel()
	p, _, key := routesGateway(t)
	client := anthropic.NewClient(anthropicoption.WithBaseURL(p.URL+"/anthropic"), anthropicoption.WithAPIKey(key),
		anthropicoption.WithHTTPClient(p.Client), anthropicoption.WithMaxRetries(0))
	ask := anthropic.MessageNewParams{
		Model: "claude-sonnet-5", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello there"))},
	}
	answer, err := client.Messages.New(t.Context(), ask)
	if err != nil || !strings.Contains(answer.RawJSON(), "Hello there") {
		t.Errorf("%v, %+v", err, answer)
	}
	counted, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: ask.Model, Messages: ask.Messages})
	if err != nil || counted.InputTokens == 0 {
		t.Errorf("%v, %+v", err, counted)
	}
	ask.Model = "nonexistent-1"
	if _, err = client.Messages.New(t.Context(), ask); err == nil || !strings.Contains(err.Error(), `"type":"not_found_error"`) {
		t.Error(err)
	}
}

func TestCredentialsAreTakenFromTheHeadersOfLiteLLMAndAzure(t *testing.T) {
	t.Parallel()
	p, u, key := routesGateway(t)
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{[]string{"X-Litellm-Api-Key", key}, 200},
		{[]string{"X-Litellm-Api-Key", "Bearer " + key}, 200},
		{[]string{"X-Litellm-Api-Key", "bearer " + key, "Authorization", "Bearer sk-other", "X-Api-Key", "sk-third"}, 200},
		{[]string{"X-Litellm-Api-Key", "sk-other", "Authorization", "Bearer " + key}, 401},
		{[]string{"Api-Key", key}, 200},
		{[]string{"Api-Key", "sk-other", "Authorization", "Bearer " + key}, 200},
		{[]string{"Api-Key", "sk-other", "X-Api-Key", key}, 200},
		{[]string{"Api-Key", "sk-other"}, 401},
		{nil, 401},
	} {
		for _, path := range []string{"/chat/completions", "/v1/chat/completions"} {
			if a := p.Call(t, "POST", path, routesHi(routesModel), c.headers...); a.Status != c.status {
				t.Errorf("%s %v: %d %s", path, c.headers, a.Status, a.Body)
			}
		}
	}
	for _, sent := range u.Take() {
		for name, values := range sent.Header {
			if text := strings.Join(values, " "); strings.Contains(text, key) || strings.Contains(text, "sk-other") {
				t.Errorf("the header %s was sent to the provider", name)
			}
		}
	}
	if a := p.Call(t, "GET", "/auth/keys", "", "X-Litellm-Api-Key", key); a.Status != 401 {
		t.Errorf("a route of accounts: %d %s", a.Status, a.Body)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", p.URL+"/models", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header["X-Litellm-Api-Key"] = []string{"sk-other", key}
	resp, err := p.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != 401 {
		t.Errorf("two headers: %d", resp.StatusCode)
	}
}

// routesOfLiteLLM are requests to the paths that only LiteLLM has.
func routesOfLiteLLM() []string {
	return []string{
		"POST /chat/completions", "POST /embeddings", "POST /responses", "GET /responses/resp_1", "GET /models", "GET /models/" + routesModel,
		"POST /openai/deployments/" + routesModel + "/chat/completions", "POST /openai/deployments/" + routesModel + "/embeddings",
		"POST /engines/" + routesModel + "/chat/completions", "POST /openai/v1/chat/completions", "POST /anthropic/v1/messages",
		"GET /model/info", "GET /v1/model/info", "GET /key/info", "POST /key/info", "GET /health/liveliness", "GET /health/liveness",
		"GET /health/readiness",
	}
}

func TestRoutesOfLiteLLMAreOffUntilTheyAreSwitchedOn(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartRecorded(t)
	p = routesPlain(t, p)
	for _, route := range routesOfLiteLLM() {
		method, path, _ := strings.Cut(route, " ")
		a := p.Call(t, method, path, "", "X-Litellm-Api-Key", "sk-1", "Api-Key", "sk-1")
		if e := a.APIError(t); a.Status != 404 || e.Code != "route_not_found" || strings.Contains(a.Body, "model/info\\\"?") {
			t.Errorf("%s: %d %s", route, a.Status, a.Body)
		}
	}
	body := `{"model":"` + routesModel + `","tags":["a"],"guardrails":["g"],"num_retries":2,` + gatewaytest.HiMessages + `}`
	p.Chat(t, body)
	if sent := u.Take(); len(sent) != 1 || string(sent[0].Body) != body {
		t.Errorf("sent %s", sent)
	}
}

func TestRoutesOfLiteLLMAreLoggedAndCountedAsTheGatewaysOwn(t *testing.T) {
	t.Parallel()
	p, _, key := routesGateway(t, "METRICS_TOKEN=0123456789abcdef0123456789abcdef")
	p.Call(t, "POST", "/chat/completions", routesHi(routesModel), "Authorization", "Bearer "+key)
	p.Call(t, "GET", "/key/info", "", "Authorization", "Bearer "+key)
	text := p.Call(t, "GET", "/metrics", "", "Authorization", "Bearer 0123456789abcdef0123456789abcdef").Body
	for _, route := range []string{`route="/v1/chat/completions"`, `route="/key/info"`} {
		if !strings.Contains(text, route) {
			t.Errorf("the metrics have no %s", route)
		}
	}
	gatewaytest.Until(t, "the call is booked", func() bool {
		return strings.Contains(p.Call(t, "GET", "/v1/calls", "", "Authorization", "Bearer "+key).Body, routesModel)
	})
	gatewaytest.Until(t, "the call is in the log", func() bool { return strings.Contains(p.Log.String(), "/v1/chat/completions") })
	if strings.Contains(p.Log.String(), key) {
		t.Errorf("%s", p.Log)
	}
}

func TestProbesOfLiteLLMNeedNoKey(t *testing.T) {
	t.Parallel()
	p, _, _ := routesGateway(t)
	for _, path := range []string{"/health/liveliness", "/health/liveness", "/health/readiness"} {
		if a := p.Call(t, "GET", path, ""); a.Status != 200 || a.Body != `{"status":"ok"}` {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "GET", "/health", ""); !strings.Contains(a.Body, `"version"`) {
		t.Errorf("the gateway's own report: %d %s", a.Status, a.Body)
	}
	if a := p.Call(t, "GET", "/models", "", "Accept", "text/html,*/*"); !strings.Contains(a.Body, "<!doctype html>") {
		t.Errorf("a browser: %d %s", a.Status, a.Body)
	}
}

func TestErrorsOfLiteLLMsRoutesAreInTheDialectOfTheRoute(t *testing.T) {
	t.Parallel()
	p, _, key := routesGateway(t)
	const unknown = "nonexistent-1"
	for _, c := range []struct{ route, body, want string }{
		{"POST /chat/completions", routesHi(unknown), `{"error":{"type":"invalid_request_error"`},
		{"POST /responses", `{"model":"nonexistent-1","input":"hi"}`, `{"error":{"type":"invalid_request_error"`},
		{"POST /anthropic/v1/messages", `{"model":"nonexistent-1","max_tokens":5,` + gatewaytest.HiMessages + `}`, `{"type":"error","error":{"type":"not_found_error"`},
		{"GET /models/" + unknown, "", `{"error":{"type":"invalid_request_error"`},
	} {
		method, path, _ := strings.Cut(c.route, " ")
		a := p.Call(t, method, path, c.body, "Authorization", "Bearer "+key)
		if a.Status/100 != 4 || a.Status == 401 || !strings.HasPrefix(a.Body, c.want) || !strings.Contains(a.Body, unknown) {
			t.Errorf("%s: %d %s", c.route, a.Status, a.Body)
		}
		if a := p.Call(t, method, path, c.body); a.Status != 401 {
			t.Errorf("%s without a key: %d %s", c.route, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "GET", "/chat/completions", "", "Authorization", "Bearer "+key); a.Status != 405 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.Call(t, "DELETE", "/key/info", "", "Authorization", "Bearer "+key); a.Status != 405 || a.Header.Get("Allow") == "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestModelInfoHasTheModelsThatTheKeyMayUse(t *testing.T) {
	t.Parallel()
	p := routesPlain(t, gatewaytest.Start(t, "SIMULATOR=true", "MODELS_LISTED=all", "LITELLM_ROUTES=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret))
	_, key := p.CreateKey(t, p.Login(t))
	_, limited := p.CreateLimitedKey(t, p.Login(t), `"models":["gpt-4o","text-embedding-3-small"]`)
	ask := func(path, key string) (all map[string]map[string]any) {
		t.Helper()
		a := p.Call(t, "GET", path, "", "Authorization", "Bearer "+key)
		var list struct {
			Data []struct {
				Name   string         `json:"model_name"`
				Params map[string]any `json:"litellm_params"`
				Info   map[string]any `json:"model_info"`
			}
		}
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil || a.Status != 200 {
			t.Fatalf("%v: %d %s", err, a.Status, a.Body)
		}
		all = map[string]map[string]any{}
		for _, m := range list.Data {
			all[m.Name] = m.Info
			provider, _ := m.Info["litellm_provider"].(string)
			if of, _ := m.Params["model"].(string); provider == "" || !strings.HasPrefix(of, provider+"/") {
				t.Errorf("%v: %v", m.Name, m.Params)
			}
		}
		return all
	}
	if all := ask("/v1/model/info", key); len(all) < 20 || all["claude-sonnet-5"] == nil {
		t.Errorf("%d models", len(all))
	}
	some := ask("/model/info", limited)
	chat, vectors := some["gpt-4o"], some["text-embedding-3-small"]
	if len(some) != 2 || vectors["mode"] != "embedding" {
		t.Fatalf("%v", some)
	}
	for name, want := range map[string]any{
		"id": "gpt-4o", "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-6, "output_cost_per_token": 1e-5,
		"cache_read_input_token_cost": 1.25e-6, "max_input_tokens": 128000.0, "max_output_tokens": 16384.0, "max_tokens": 16384.0,
		"supports_vision": true, "supports_function_calling": true,
	} {
		if chat[name] != want {
			t.Errorf("%s is %v, not %v", name, chat[name], want)
		}
	}
	if one := ask("/v1/model/info?litellm_model_id=gpt-4o", key); len(one) != 1 || one["gpt-4o"] == nil {
		t.Errorf("%v", one)
	}
}

func TestKeyInfoIsAboutTheOwnKeyOnly(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p, _, other := routesGateway(t, settings...)
		token := p.Login(t)
		id, key := p.CreateLimitedKey(t, token, `"models":["gpt-4o"],"budget_usd":5,"budget_window":"day","rpm_limit":60,"tpm_limit":1000,`+
			`"max_parallel_requests":3,"expires_at":4000000000`)
		if a := p.Call(t, "POST", "/chat/completions", routesHi("gpt-4o"), "Authorization", "Bearer "+key); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		var got struct {
			Key  string
			Info map[string]any
		}
		gatewaytest.Until(t, "the call is booked", func() bool {
			p.Call(t, "GET", "/key/info", "", "Authorization", "Bearer "+key).JSON(t, &got)
			spend, _ := got.Info["spend"].(float64)
			return spend > 0
		})
		for name, want := range map[string]any{
			"key_alias": "app", "max_budget": 5.0, "budget_duration": "1d", "rpm_limit": 60.0, "tpm_limit": 1000.0, "max_parallel_requests": 3.0,
			"expires": "2096-10-02T07:06:40Z", "team_id": nil, "blocked": false,
		} {
			if got.Info[name] != want {
				t.Errorf("%s is %v, not %v", name, got.Info[name], want)
			}
		}
		name, _ := got.Info["key_name"].(string)
		if models, _ := got.Info["models"].([]any); got.Key != id || name == "" || !strings.HasPrefix(key, strings.Trim(name, ".…")) ||
			len(models) != 1 || models[0] != "gpt-4o" || got.Info["user_id"] == nil || got.Info["budget_reset_at"] == nil {
			t.Errorf("%+v", got)
		}
		if a := p.Call(t, "GET", "/key/info?key="+key, "", "X-Api-Key", key); a.Status != 200 || !strings.Contains(a.Body, `"key":"`+key+`"`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := p.Call(t, "GET", "/key/info", "", "Authorization", "Bearer "+other); !strings.Contains(a.Body, `"models":[]`) ||
			!strings.Contains(a.Body, `"max_budget":null`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		for _, asked := range []string{other, id, "sk-unknown"} {
			if a := p.Call(t, "GET", "/key/info?key="+asked, "", "Authorization", "Bearer "+key); a.Status != 403 || strings.Contains(a.Body, "app") {
				t.Errorf("%s: %d %s", asked, a.Status, a.Body)
			}
		}
		for _, headers := range [][]string{nil, token, {"Authorization", "Bearer sk-unknown"}} {
			if a := p.Call(t, "GET", "/key/info", "", headers...); a.Status != 401 {
				t.Errorf("%v: %d %s", headers, a.Status, a.Body)
			}
		}
	})
}
