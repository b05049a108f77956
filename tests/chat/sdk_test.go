package chat

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
	baranov "github.com/sashabaranov/go-openai"

	"modelgateway/providers/providertest"
	"modelgateway/providers/simulator/simulatortest"
	"modelgateway/tests/gatewaytest"
)

func TestOfficialSDKIsUnaffectedByAFallback(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	p, own, other, by := gatewaytest.StartWithFallback(t, f)
	own.Play(gatewaytest.JSON(529, `{}`))
	other.Play(gatewaytest.JSON(200, by.Answer("instead")))
	client := officialSDK(p)
	params := openai.ChatCompletionNewParams{Model: f.Model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}}
	var resp *http.Response
	answer, err := client.Chat.Completions.New(t.Context(), params, option.WithResponseInto(&resp))
	if err != nil || answer.Choices[0].Message.Content != "instead" || answer.Model != by.Model ||
		resp.Header.Get("X-Gateway-Fallback") != by.Model {
		t.Errorf("%v, %+v", err, answer)
	}
	other.Play(by.WholeAnswer(gatewaytest.Streaming, "instead"))
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var together openai.ChatCompletionAccumulator
	for stream.Next() {
		together.AddChunk(stream.Current())
	}
	if stream.Err() != nil || together.Choices[0].Message.Content != "instead" || together.Model != by.Model {
		t.Errorf("%v, %+v", stream.Err(), together)
	}
	limited := gatewaytest.JSON(429, `{}`)
	limited.Header.Set("Retry-After", "20")
	own.Play(limited)
	_, err = client.Chat.Completions.New(t.Context(), params, option.WithHeader("X-Gateway-Fallback", "false"))
	if refused, ok := errors.AsType[*openai.Error](err); !ok || refused.StatusCode != 429 ||
		refused.Response.Header.Get("Retry-After") != "20" {
		t.Errorf("%v", err)
	}
}

// officialSDK returns OpenAI's Go SDK as a client of the gateway.
func officialSDK(p *gatewaytest.Program) openai.Client {
	return openai.NewClient(option.WithBaseURL(p.URL+"/v1"), option.WithAPIKey("sk-dummy"), option.WithHTTPClient(p.Client),
		option.WithMaxRetries(0))
}

func weather() openai.ChatCompletionToolUnionParam {
	return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "get_weather", Description: param.NewOpt("the weather of a city"),
		Parameters: shared.FunctionParameters{
			"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"},
		},
	})
}

// eachSimulated runs a test for every provider, simulated by a simulator that
// refuses what the provider would refuse.
func eachSimulated(t *testing.T, test func(t *testing.T, f gatewaytest.Provider, p *gatewaytest.Program)) {
	t.Helper()
	p := gatewaytest.Start(t, simulatortest.Settings(t)...)
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) { test(t, f, p) })
	}
}

func TestOfficialSDKChats(t *testing.T) {
	t.Parallel()
	eachSimulated(t, func(t *testing.T, f gatewaytest.Provider, p *gatewaytest.Program) {
		client := officialSDK(p)
		params := openai.ChatCompletionNewParams{
			Model:    f.Model,
			Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be brief."), openai.UserMessage("Hello there")},
		}
		answer, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		choice := answer.Choices[0]
		if !strings.Contains(choice.Message.Content, "Hello there") || choice.FinishReason != "stop" || choice.Message.Role != "assistant" {
			t.Errorf("%s", answer.RawJSON())
		}
		if u := answer.Usage; u.PromptTokens == 0 || u.CompletionTokens == 0 || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
			t.Errorf("usage %+v", u)
		}
		params.StreamOptions.IncludeUsage = param.NewOpt(true)
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		var together openai.ChatCompletionAccumulator
		for stream.Next() {
			if !together.AddChunk(stream.Current()) {
				t.Errorf("a chunk that does not fit: %s", stream.Current().RawJSON())
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if together.Choices[0].Message.Content != choice.Message.Content || together.Choices[0].FinishReason != "stop" ||
			together.Usage.TotalTokens == 0 {
			t.Errorf("streamed %q, answered %q, usage %+v", together.Choices[0].Message.Content, choice.Message.Content, together.Usage)
		}
	})
}

func TestOfficialSDKCallsTools(t *testing.T) {
	t.Parallel()
	eachSimulated(t, func(t *testing.T, f gatewaytest.Provider, p *gatewaytest.Program) {
		client := officialSDK(p)
		params := openai.ChatCompletionNewParams{
			Model:    f.Model,
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What is the weather in both Paris and Rome?")},
			Tools:    []openai.ChatCompletionToolUnionParam{weather()},
		}
		answer, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		calls := answer.Choices[0].Message.ToolCalls
		if len(calls) != 2 || answer.Choices[0].FinishReason != "tool_calls" || calls[0].ID == calls[1].ID {
			t.Fatalf("%s", answer.RawJSON())
		}
		params.Messages = append(params.Messages, answer.Choices[0].Message.ToParam())
		for _, call := range calls {
			var arguments struct{ City string }
			if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil || call.Function.Name != "get_weather" ||
				arguments.City == "" {
				t.Errorf("%s(%s): %v", call.Function.Name, call.Function.Arguments, err)
			}
			params.Messages = append(params.Messages, openai.ToolMessage(`{"sky":"blue"}`, call.ID))
		}
		answer, err = client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(answer.Choices[0].Message.Content, "blue") || answer.Choices[0].FinishReason != "stop" {
			t.Errorf("%s", answer.RawJSON())
		}
	})
}

func TestOfficialSDKStreamsToolCalls(t *testing.T) {
	t.Parallel()
	eachSimulated(t, func(t *testing.T, f gatewaytest.Provider, p *gatewaytest.Program) {
		client := officialSDK(p)
		params := openai.ChatCompletionNewParams{
			Model:      f.Model,
			Messages:   []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Weather in both Paris and Rome")},
			Tools:      []openai.ChatCompletionToolUnionParam{weather()},
			ToolChoice: openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: param.NewOpt("required")},
		}
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		var together openai.ChatCompletionAccumulator
		for stream.Next() {
			together.AddChunk(stream.Current())
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		message := together.Choices[0].Message
		if len(message.ToolCalls) != 2 || together.Choices[0].FinishReason != "tool_calls" {
			t.Fatalf("%+v", message)
		}
		for _, call := range message.ToolCalls {
			if !json.Valid([]byte(call.Function.Arguments)) || call.Function.Name != "get_weather" {
				t.Errorf("%+v", call)
			}
		}
	})
}

func TestOfficialSDKGetsStructuredAnswers(t *testing.T) {
	t.Parallel()
	eachSimulated(t, func(t *testing.T, f gatewaytest.Provider, p *gatewaytest.Program) {
		client := officialSDK(p)
		answer, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
			Model:    f.Model,
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("A city, as JSON")},
			ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
				JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "city", Strict: param.NewOpt(true), Schema: map[string]any{
					"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}, "people": map[string]any{"type": "integer"}},
					"required": []string{"name", "people"}, "additionalProperties": false,
				}},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var city struct {
			Name   *string
			People *int
		}
		if err := json.Unmarshal([]byte(answer.Choices[0].Message.Content), &city); err != nil || city.Name == nil || city.People == nil {
			t.Errorf("%s: %v", answer.RawJSON(), err)
		}
	})
}

func TestOfficialSDKReadsModels(t *testing.T) {
	t.Parallel()
	client := officialSDK(gatewaytest.Start(t))
	page, err := client.Models.List(t.Context())
	if err != nil || len(page.Data) != 18 || page.Data[0].OwnedBy != "anthropic" {
		t.Errorf("%+v, %v", page, err)
	}
	one, err := client.Models.Get(t.Context(), "gpt-3.5-turbo")
	if err != nil || one.Created != 1677610602 || one.OwnedBy != "openai" {
		t.Errorf("%+v, %v", one, err)
	}
	_, err = client.Models.Get(t.Context(), "nope")
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != 404 || e.Code != "model_not_found" ||
		e.Type != "invalid_request_error" {
		t.Errorf("%v", err)
	}
}

// TestSDKsMapErrorsToTheirClasses checks how both SDKs report the gateway's errors.
func TestSDKsMapErrorsToTheirClasses(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, "MAX_RETRIES=0") // the SDKs retry
	client := officialSDK(p)
	config := baranov.DefaultConfig("sk-dummy")
	config.BaseURL, config.HTTPClient = p.URL+"/v1", p.Client
	other := baranov.NewClientWithConfig(config)
	for _, tt := range []struct {
		name        string
		upstream    int
		model       string
		temperature float64
		status      int
		kind, code  string
		calls       int // of the upstream: with two retries allowed
	}{
		{"our 400", 200, f.Model, 3, 400, "invalid_request_error", "invalid_value", 0},
		{"our 404", 200, "nope", 1, 404, "invalid_request_error", "model_not_found", 0},
		{"their 400", 400, f.Model, 1, 400, "api_error", "provider_error", 1},
		{"their 401", 401, f.Model, 1, 502, "api_error", "provider_error", 1},
		{"their 404", 404, f.Model, 1, 404, "api_error", "provider_error", 1},
		{"their 429", 429, f.Model, 1, 429, "api_error", "provider_error", 3},
		{"their 500", 500, f.Model, 1, 502, "api_error", "provider_error", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u.Play(gatewaytest.JSON(tt.upstream, `{"error":{"message":"no","type":"x","code":"y"}}`))
			_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
				Model: tt.model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}, Temperature: param.NewOpt(tt.temperature),
			}, option.WithMaxRetries(2))
			e, ok := errors.AsType[*openai.Error](err)
			if !ok || e.StatusCode != tt.status || e.Type != tt.kind || e.Code != tt.code || e.Message == "" {
				t.Errorf("official: %v", err)
			}
			if got := len(u.Requests()); got != tt.calls {
				t.Errorf("the upstream was called %d times, want %d", got, tt.calls)
			}
			_, err = other.CreateChatCompletion(t.Context(), baranov.ChatCompletionRequest{
				Model: tt.model, Messages: []baranov.ChatCompletionMessage{{Role: "user", Content: "hi"}}, Temperature: float32(tt.temperature),
			})
			b, ok := errors.AsType[*baranov.APIError](err)
			if !ok || b.HTTPStatusCode != tt.status || b.Type != tt.kind || b.Code != tt.code {
				t.Errorf("sashabaranov: %v", err)
			}
		})
	}
}

func TestSDKsReportAnInterruptedStreamAsAnError(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		u.Play(gatewaytest.Events(providertest.Proper, f.Start, f.Text("par"), f.ErrorEvent))
		client := officialSDK(p)
		stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
			Model: f.Model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
		})
		text := ""
		for stream.Next() {
			for _, c := range stream.Current().Choices {
				text += c.Delta.Content
			}
		}
		if stream.Err() == nil || text != "par" {
			t.Errorf("official: %q, %v", text, stream.Err())
		}
		config := baranov.DefaultConfig("sk-dummy")
		config.BaseURL, config.HTTPClient = p.URL+"/v1", p.Client
		other, err := baranov.NewClientWithConfig(config).CreateChatCompletionStream(t.Context(), baranov.ChatCompletionRequest{
			Model: f.Model, Messages: []baranov.ChatCompletionMessage{{Role: "user", Content: "hi"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close() }()
		for err == nil {
			_, err = other.Recv()
		}
		if _, ok := errors.AsType[*baranov.APIError](err); !ok {
			t.Errorf("sashabaranov: %v", err)
		}
	})
}

func TestCommunitySDKChatsAndCallsTools(t *testing.T) {
	t.Parallel()
	eachSimulated(t, func(t *testing.T, f gatewaytest.Provider, p *gatewaytest.Program) {
		config := baranov.DefaultConfig("sk-dummy")
		config.BaseURL, config.HTTPClient = p.URL+"/v1", p.Client
		client := baranov.NewClientWithConfig(config)
		req := baranov.ChatCompletionRequest{
			Model: f.Model, Messages: []baranov.ChatCompletionMessage{{Role: "user", Content: "Weather in Paris"}},
			Tools: []baranov.Tool{{Type: "function", Function: &baranov.FunctionDefinition{
				Name: "get_weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
			}}},
		}
		answer, err := client.CreateChatCompletion(t.Context(), req)
		if err != nil || len(answer.Choices[0].Message.ToolCalls) != 1 {
			t.Fatalf("%+v, %v", answer, err)
		}
		call := answer.Choices[0].Message.ToolCalls[0]
		req.Messages = append(req.Messages, answer.Choices[0].Message,
			baranov.ChatCompletionMessage{Role: "tool", ToolCallID: call.ID, Content: "sunny"})
		answer, err = client.CreateChatCompletion(t.Context(), req)
		if err != nil || !strings.Contains(answer.Choices[0].Message.Content, "sunny") {
			t.Errorf("%+v, %v", answer, err)
		}
		models, err := client.ListModels(t.Context())
		if err != nil || len(models.Models) != 18 {
			t.Errorf("%d models, %v", len(models.Models), err)
		}
	})
}
