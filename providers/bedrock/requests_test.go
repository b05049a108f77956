package bedrock_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/dialects/embeddings"
	"modelgateway/dialects/messages"
	"modelgateway/dialects/responses"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

const answer = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5","content":[{"type":"text","text":"Hi"}],` +
	`"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}`

// sent is what a call sends, and what is ignored of it.
func sent(t testing.TB, call providers.Call) (providertest.Request, []string) {
	t.Helper()
	return providertest.Sent(t, at, testKey, answer, call)
}

func TestRequestsOfTheMessagesAPIAreThoseOfInvokeModel(t *testing.T) {
	const head = `{"anthropic_version":"bedrock-2023-05-31"`
	for _, tt := range []struct {
		name, model, body, betas string
		path, want               string
		ignored                  []string
	}{
		{
			"plain", "claude-sonnet-4-5-20250929", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"q"}]}`, "",
			"/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke", head + `,"max_tokens":5,"messages":[{"role":"user","content":"q"}]}`, nil,
		},
		{
			"stream", "eu.anthropic.claude-opus-4-6-v1",
			`{ "messages":[{"role":"user","content":"q"}] , "stream" : true, "model":"m","max_tokens":5 , "metadata":{"user_id":"u"}}`, "",
			"/model/eu.anthropic.claude-opus-4-6-v1/invoke-with-response-stream",
			head + `, "messages":[{"role":"user","content":"q"}],"max_tokens":5 , "metadata":{"user_id":"u"}}`, nil,
		},
		{
			"both of the first members", "anthropic.claude-opus-5", `{"stream":false,"model":"m","max_tokens":5,"messages":[{"role":"user","content":"q"}]}`, "",
			"/model/anthropic.claude-opus-5/invoke", head + `,"max_tokens":5,"messages":[{"role":"user","content":"q"}]}`, nil,
		},
		{
			"the last members", "anthropic.claude-opus-5", ` {"max_tokens":5,"messages":[{"role":"user","content":"q"}],"stream":false,"model":"m" } `, "",
			"/model/anthropic.claude-opus-5/invoke", ` ` + head + `,"max_tokens":5,"messages":[{"role":"user","content":"q"}] } `, nil,
		},
		{
			"betas", "anthropic.claude-opus-5", `{"model":"m","anthropic_beta":["context-1m-2025-08-07","oauth-2025-04-20"],"anthropic_version":"x",` +
				`"max_tokens":5,"messages":[{"role":"user","content":"q"}]}`,
			"claude-code-20250219, interleaved-thinking-2025-05-14,advanced-tool-use-2025-11-20,context-1m-2025-08-07,",
			"/model/anthropic.claude-opus-5/invoke",
			head + `,"anthropic_beta":["interleaved-thinking-2025-05-14","tool-search-tool-2025-10-19","context-1m-2025-08-07"],"max_tokens":5,` +
				`"messages":[{"role":"user","content":"q"}]}`,
			[]string{"anthropic-beta: claude-code-20250219", "anthropic-beta: oauth-2025-04-20"},
		},
		{
			"preferences", "anthropic.claude-opus-5", `{"model":"m","service_tier":"standard_only","speed":"standard","inference_geo":"global",` +
				`"diagnostics":{"previous_message_id":null},"container":null,"max_tokens":5,"messages":[{"role":"user","content":"q"}]}`, "",
			"/model/anthropic.claude-opus-5/invoke", head + `,"max_tokens":5,"messages":[{"role":"user","content":"q"}]}`,
			[]string{"service_tier", "diagnostics"},
		},
		{
			"effort of Opus 4.5", "claude-opus-4-5", `{"model":"m","max_tokens":5,"output_config":{"effort":"low"},"messages":[{"role":"user","content":"q"}]}`, "",
			"/model/us.anthropic.claude-opus-4-5-20251101-v1%3A0/invoke", head + `,"anthropic_beta":["effort-2025-11-24"],"max_tokens":5,` +
				`"output_config":{"effort":"low"},"messages":[{"role":"user","content":"q"}]}`, nil,
		},
		{
			"tools of the client", "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5",
			`{"model":"m","max_tokens":5,"tools":[{"name":"f","input_schema":{}},{"type":"bash_20250124","name":"bash"},` +
				`{"type":"tool_search_tool_regex_20251119","name":"s"}],"messages":[{"role":"user","content":"q"}]}`, "",
			"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.anthropic.claude-sonnet-5/invoke",
			head + `,"max_tokens":5,"tools":[{"name":"f","input_schema":{}},{"type":"bash_20250124","name":"bash"},` +
				`{"type":"tool_search_tool_regex_20251119","name":"s"}],"messages":[{"role":"user","content":"q"}]}`, nil,
		},
	} {
		call := native(t, tt.body, tt.model)
		call.Request.Beside = llm.Beside{Query: "beta=true", Headers: []llm.Header{{Name: "Anthropic-Version", Value: "2023-06-01"}}}
		if tt.betas != "" {
			call.Request.Beside.Headers = append(call.Request.Beside.Headers, llm.Header{Name: "Anthropic-Beta", Value: tt.betas})
		}
		got, ignored := sent(t, call)
		if got.Path != tt.path || string(got.Body) != tt.want || !slices.Equal(ignored, tt.ignored) {
			t.Errorf("%s: %s\n%s\nignored %q\nwant %s\n%s\nignored %q", tt.name, got.Path, got.Body, ignored, tt.path, tt.want, tt.ignored)
		}
		if got.Header.Get("Anthropic-Version")+got.Header.Get("Anthropic-Beta") != "" || got.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("%s: %v", tt.name, got.Header)
		}
	}
}

func TestTranslatedRequestsAreThoseOfInvokeModel(t *testing.T) {
	models := providertest.Catalog(t)
	model := *models.Derive(catalog.Anthropic, "claude-sonnet-4-5-20250929")
	for _, tt := range []struct{ body, path, want string }{
		{
			`{"model":"m","messages":[{"role":"user","content":"q"}],"max_tokens":7}`, "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke",
			`{"anthropic_version":"bedrock-2023-05-31","max_tokens":7,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`,
		},
		{
			`{"model":"m","stream":true,"messages":[{"role":"user","content":"q"}],"max_tokens":7,"tools":[{"type":"function",` +
				`"function":{"name":"f","parameters":{"type":"object"}}}]}`,
			"/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream",
			`{"anthropic_version":"bedrock-2023-05-31","max_tokens":7,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],` +
				`"tool_choice":{"type":"auto"},"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
		},
	} {
		req, err := chat.Decode(nil, []byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := sent(t, providers.Call{Request: req, Model: &model}); got.Path != tt.path || string(got.Body) != tt.want {
			t.Errorf("%s\n%s\nwant %s\n%s", got.Path, got.Body, tt.path, tt.want)
		}
	}
	_, err := at("http://127.0.0.1:1").Prepare(providers.Call{Model: &model, Request: chatRequest(t, `{"model":"m","messages":[{"role":"user","content":[`+
		`{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}`)})
	refusedAs(t, "an image by its address", err, "messages[0].content[0].image_url.url")
}

func chatRequest(t testing.TB, body string) *llm.Request {
	t.Helper()
	req, err := chat.Decode(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func refusedAs(t testing.TB, what string, err error, path string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != http.StatusBadRequest || e.Param != path {
		t.Errorf("%s: %v, want a 400 that names %s", what, err, path)
	}
}

func TestWhatRunsAtAnthropicIsRefusedByName(t *testing.T) {
	for body, path := range map[string]string{
		`"tools":[{"name":"f","input_schema":{}},{"type":"web_search_20250305","name":"web_search","max_uses":1}]`: "tools[1].type",
		`"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]`:                                               "tools[0].type",
		`"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`:                                     "tools[0].type",
		`"container":"container_1"`:                          "container",
		`"mcp_servers":[{"type":"url","url":"https://a.b"}]`: "mcp_servers",
		`"inference_geo":"us"`:                               "inference_geo",
		`"thread":{"type":"enabled"}`:                        "thread",
		`"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"file_1"}}]}]`: "messages[0].content[0].source.file_id",
	} {
		if !strings.Contains(body, `"messages"`) {
			body += `,"messages":[{"role":"user","content":"q"}]`
		}
		_, err := at("http://127.0.0.1:1").Prepare(native(t, `{"model":"m","max_tokens":5,`+body+`}`, "claude-opus-5"))
		refusedAs(t, body, err, path)
	}
}

func TestTokensAreCounted(t *testing.T) {
	up := providertest.Serve(t, providertest.Script{
		Header: http.Header{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(`{"inputTokens":42}`)},
	})
	req, err := messages.DecodeCount(nil, []byte(`{"model":"m","messages":[{"role":"user","content":"q"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		call       providers.Call
		path, body string
	}{
		"native": {
			providers.Call{Request: req, Model: &catalog.Model{Upstream: "us.anthropic.claude-sonnet-4-20250514-v1:0", MaxOutput: 64000}},
			"/model/anthropic.claude-sonnet-4-20250514-v1%3A0/count-tokens",
			`{"anthropic_version":"bedrock-2023-05-31","max_tokens":64000,"messages":[{"role":"user","content":"q"}]}`,
		},
		"translated": {
			providers.Call{
				Request: chatRequest(t, `{"model":"m","messages":[{"role":"user","content":"q"}]}`), Model: &catalog.Model{Upstream: "claude-sonnet-4-0"},
			},
			"/model/anthropic.claude-sonnet-4-20250514-v1%3A0/count-tokens",
			`{"anthropic_version":"bedrock-2023-05-31","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`,
		},
	} {
		up.Play(providertest.Script{Header: http.Header{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(`{"inputTokens":42}`)}})
		count, err := at(up.URL).Abilities().Count(t.Context(), tt.call, testKey)
		if err != nil || count.Tokens != 42 || count.Raw != nil {
			t.Fatalf("%s: %+v, %v", name, count, err)
		}
		var asked struct {
			Input struct {
				InvokeModel struct {
					Body string `json:"body"`
				} `json:"invokeModel"`
			} `json:"input"`
		}
		got := up.Requests()[0]
		if err := json.Unmarshal(got.Body, &asked); err != nil {
			t.Fatal(err)
		}
		body, err := base64.StdEncoding.DecodeString(asked.Input.InvokeModel.Body)
		if err != nil || got.Path != tt.path || string(body) != tt.body {
			t.Errorf("%s: %v, %s\n%s", name, err, got.Path, body)
		}
	}
}

func TestErrorsAreThoseOfTheMessagesAPI(t *testing.T) {
	const opus = `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"q"}]}`
	for _, tt := range []struct {
		status     int
		body, want string
	}{
		{400, `{"message":"The model returned the following errors: invalid beta flag"}`, "invalid_request_error invalid beta flag"},
		{400, `{"message":"Input is too long for requested model."}`, "invalid_request_error prompt is too long: Input is too long for requested model."},
		{404, `{"message":"Could not resolve the foundation model"}`, "not_found_error Could not resolve the foundation model"},
		{413, `{"Message":"too large"}`, "request_too_large too large"},
		{429, `{"message":"Too many tokens, please wait"}`, "rate_limit_error Too many tokens, please wait"},
		{500, `{"message":"oops"}`, "api_error oops"},
		{503, `{"message":"Bedrock is unable to process your request."}`, "overloaded_error Bedrock is unable to process your request."},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens"}}`, "invalid_request_error max_tokens"},
		{403, `{"message":"User: arn:aws:iam::1:user/x is not authorized"}`, ""},
		{503, `<html>`, ""},
	} {
		up := providertest.Serve(t, providertest.Script{
			Status: tt.status, Header: http.Header{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(tt.body)},
		})
		for _, stream := range []bool{false, true} {
			call := native(t, opus, "claude-opus-5")
			call.Request.Stream = stream
			got := open(t, at(up.URL), call)
			r, ok := errors.AsType[*providers.Refusal](got.Err)
			if !ok || r.Status != tt.status {
				t.Fatalf("%d %s: %v", tt.status, tt.body, got.Err)
			}
			var said struct {
				Type  string `json:"type"`
				Error struct {
					Type    string `json:"type"`
					Message string `json:"message"`
				} `json:"error"`
			}
			if tt.want == "" {
				if r.Body != nil || strings.Contains(r.ClientError().Message, "arn:") {
					t.Errorf("%d: the client is told %s, %s", tt.status, r.Body, r.ClientError().Message)
				}
				continue
			}
			if err := json.Unmarshal(r.Body, &said); err != nil || said.Type != "error" || said.Error.Type+" "+said.Error.Message != tt.want {
				t.Errorf("%d %s: the client is told %s, want %s", tt.status, tt.body, r.Body, tt.want)
			}
		}
	}
}

// TestTheModelSaysTheAPI asks each kind of model in each dialect.
func TestTheModelSaysTheAPI(t *testing.T) {
	req := map[llm.Dialect]*llm.Request{llm.Chat: chatRequest(t, `{"model":"m","messages":[{"role":"user","content":"q"}]}`)}
	var err error
	if req[llm.Responses], err = responses.Decode(nil, []byte(`{"model":"m","input":"q","store":false}`)); err != nil {
		t.Fatal(err)
	}
	if req[llm.Messages], err = messages.Decode(nil, []byte(`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"q"}]}`)); err != nil {
		t.Fatal(err)
	}
	const profile = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
	const profilePath = "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc/"
	for _, tt := range []struct {
		model, id string
		paths     map[llm.Dialect]string
		speaks    []llm.Dialect
	}{
		{"us.anthropic.claude-sonnet-5", "", every("/model/us.anthropic.claude-sonnet-5/invoke"), []llm.Dialect{llm.Messages}},
		{profile, "mine/claude-sonnet-5", every(profilePath + "invoke"), []llm.Dialect{llm.Messages}},
		{profile, "mine", every(profilePath + "converse"), nil},
		{"amazon.nova-pro-v1:0", "", every("/model/amazon.nova-pro-v1%3A0/converse"), nil},
		{"us.meta.llama4-scout-17b-instruct-v1:0", "", every("/model/us.meta.llama4-scout-17b-instruct-v1%3A0/converse"), nil},
		{"openai.gpt-oss-120b-1:0", "", every("/openai/v1/chat/completions"), []llm.Dialect{llm.Chat}},
		{"openai.gpt-5.6-terra", "", map[llm.Dialect]string{
			llm.Chat: "/openai/v1/chat/completions", llm.Messages: "/openai/v1/chat/completions", llm.Responses: "/openai/v1/responses",
		}, []llm.Dialect{llm.Chat, llm.Responses}},
	} {
		model := &catalog.Model{ID: tt.id, Provider: "bedrock", Upstream: tt.model}
		for dialect, path := range tt.paths {
			if got, _ := sent(t, providers.Call{Request: req[dialect], Model: model}); got.Path != path {
				t.Errorf("%s, %s: %s, want %s", tt.model, dialect, got.Path, path)
			}
			speaks := at("http://127.0.0.1:1").Abilities().Speaks
			if speaks(dialect, model) != slices.Contains(tt.speaks, dialect) || !speaks(dialect, nil) || speaks(llm.Embeddings, model) {
				t.Errorf("%s speaks %s: %t", tt.model, dialect, speaks(dialect, model))
			}
		}
	}
	vectors, err := embeddings.Decode(nil, []byte(`{"model":"m","input":"q"}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = at("http://127.0.0.1:1").Abilities().PrepareEmbeddings(providers.Call{
		Request: vectors, Model: &catalog.Model{Upstream: "cohere.embed-v4:0", Kind: llm.KindEmbedding},
	})
	if err != nil {
		t.Error(err)
	}
}

func every(path string) map[llm.Dialect]string {
	return map[llm.Dialect]string{llm.Chat: path, llm.Responses: path, llm.Messages: path}
}

func TestModelsAreListed(t *testing.T) {
	script := func(text string) providertest.Script {
		return providertest.Script{Header: http.Header{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(text)}}
	}
	up := providertest.Serve(t, script(`{"modelSummaries":[
		{"modelId":"amazon.nova-pro-v1:0","outputModalities":["TEXT"],"inferenceTypesSupported":["ON_DEMAND"],"modelLifecycle":{"status":"ACTIVE"}},
		{"modelId":"anthropic.claude-sonnet-5","outputModalities":["TEXT"],"inferenceTypesSupported":["INFERENCE_PROFILE"],"modelLifecycle":{"status":"ACTIVE"}},
		{"modelId":"anthropic.claude-v2","outputModalities":["TEXT"],"inferenceTypesSupported":["ON_DEMAND"],"modelLifecycle":{"status":"LEGACY"}},
		{"modelId":"cohere.rerank-v3-5:0","outputModalities":["TEXT"],"inferenceTypesSupported":["ON_DEMAND"],"modelLifecycle":{"status":"ACTIVE"}},
		{"modelId":"cohere.embed-v4:0","outputModalities":["EMBEDDING"],"inferenceTypesSupported":["ON_DEMAND"],"modelLifecycle":{"status":"ACTIVE"}},
		{"modelId":"amazon.nova-canvas-v1:0","outputModalities":["IMAGE"],"inferenceTypesSupported":["ON_DEMAND"],"modelLifecycle":{"status":"ACTIVE"}}]}`),
		script(`{"inferenceProfileSummaries":[{"inferenceProfileId":"us.anthropic.claude-sonnet-5","type":"SYSTEM_DEFINED","status":"ACTIVE",
			"models":[{"modelArn":"arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-5"}]},
			{"inferenceProfileId":"us.stability.x","type":"SYSTEM_DEFINED","status":"ACTIVE",
			"models":[{"modelArn":"arn:aws:bedrock:us-east-1::foundation-model/stability.x"}]},
			{"inferenceProfileId":"abc","inferenceProfileArn":"arn:aws:bedrock:us-east-1:1:application-inference-profile/abc",
			"type":"APPLICATION","status":"ACTIVE","models":[{"modelArn":"arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0"}]}]}`))
	got, err := at(up.URL).Abilities().Models(t.Context(), testKey)
	want := []providers.Listed{
		{ID: "amazon.nova-pro-v1:0", Kind: llm.KindChat}, {ID: "cohere.embed-v4:0", Kind: llm.KindEmbedding},
		{ID: "us.anthropic.claude-sonnet-5", Kind: llm.KindChat},
		{ID: "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", Kind: llm.KindChat},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	var paths []string
	for _, r := range up.Requests() {
		paths = append(paths, r.Path)
	}
	if !slices.Equal(paths, []string{"/foundation-models", "/inference-profiles?maxResults=1000"}) {
		t.Errorf("asked %q", paths)
	}
}

// TestWhatTheGatewayCarriesIsUnpacked sends a conversation whose thoughts and ids the gateway has
// sealed: Claude's own come back as they were, and those of others are left out. Where the gateway
// has moved the call and Bedrock refuses the thoughts, they are left out of one more request.
func TestWhatTheGatewayCarriesIsUnpacked(t *testing.T) {
	own := &llm.Thought{Format: llm.FormatAnthropic, Text: "t", Signature: "sig+/="}
	other := &llm.Thought{Format: llm.FormatGemini, Text: "t", Signature: "other"}
	id := roundtrip.Pack("toolu_1", other)
	body := `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` +
		`{"type":"thinking","thinking":"t","signature":"` + roundtrip.Seal(own) + `"},` +
		`{"type":"thinking","thinking":"u","signature":"` + roundtrip.Seal(other) + `"},` +
		`{"type":"tool_use","id":"` + id + `","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"r"}]}],"stream":false,"max_tokens":5}`
	call := native(t, body, "claude-opus-5")
	call.Moved = true
	script := func(status int, text string) providertest.Script {
		return providertest.Script{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(text)}}
	}
	up := providertest.Serve(t, script(http.StatusBadRequest, `{"message":"messages.1.content.0: Invalid signature in thinking block"}`), script(200, answer))
	if got := open(t, at(up.URL), call); got.Err != nil || got.Bytes != answer {
		t.Fatalf("%q, %v", got.Bytes, got.Err)
	}
	const begin = `{"anthropic_version":"bedrock-2023-05-31","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[`
	const end = `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"r"}]}],"max_tokens":5}`
	for i, want := range []string{begin + `{"type":"thinking","thinking":"t","signature":"sig+/="},` + end, begin + end} {
		if got := up.Requests()[i]; string(got.Body) != want {
			t.Errorf("request %d:\n%s\nwant\n%s", i, got.Body, want)
		}
	}
}

// TestAnExceptionInsideAStreamIsAnError is one that comes in place of the answer, and one in the
// middle of it.
func TestAnExceptionInsideAStreamIsAnError(t *testing.T) {
	const start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],` +
		`"usage":{"input_tokens":3,"output_tokens":1}}}`
	var frame bytes.Buffer
	m := eventstream.Message{Payload: []byte(`{"message":"Too many requests"}`)}
	m.Headers.Set(":message-type", eventstream.StringValue("exception"))
	m.Headers.Set(":exception-type", eventstream.StringValue("throttlingException"))
	if err := eventstream.NewEncoder().Encode(&frame, m); err != nil {
		t.Fatal(err)
	}
	for _, first := range [][]byte{nil, chunk(t, []byte(start))} {
		up := providertest.Serve(t, providertest.Script{
			Header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}, Pieces: [][]byte{append(first, frame.Bytes()...)},
		})
		call := native(t, `{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"q"}]}`, "claude-opus-5")
		got := open(t, at(up.URL), call)
		r, ok := errors.AsType[*providers.Refusal](got.Err)
		if !ok || r.Status != http.StatusTooManyRequests || !strings.Contains(string(r.Body), `"rate_limit_error"`) || (got.Bytes == "") != (first == nil) {
			t.Errorf("%q, %v", got.Bytes, got.Err)
		}
	}
}
