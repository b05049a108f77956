package simulator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"modelgateway/providers/simulator/simulatortest"
)

func sdk(t *testing.T) openai.Client {
	t.Helper()
	return openai.NewClient(option.WithBaseURL(simulatortest.Strict(t).URL+"/v1"), option.WithAPIKey("sk-demo"), option.WithMaxRetries(0))
}

func TestOpenAISDKUnderstandsItsStreams(t *testing.T) {
	client := sdk(t)
	params := openai.ChatCompletionNewParams{
		Model:         "gpt-4o",
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.UserMessage("In Paris and Rome, both")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "get_weather",
			Parameters: openai.FunctionParameters{
				"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}},
			},
		})},
	}
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var got openai.ChatCompletionAccumulator
	for stream.Next() {
		if !got.AddChunk(stream.Current()) {
			t.Fatalf("chunk does not fit: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	calls := got.Choices[0].Message.ToolCalls
	if len(calls) != 2 || calls[1].Function.Arguments != `{"city": "Rome"}` ||
		got.Choices[0].FinishReason != "tool_calls" || got.Usage.TotalTokens == 0 {
		t.Fatalf("%+v", got.ChatCompletion)
	}
}

func TestOpenAISDKSeesErrorsMidstream(t *testing.T) {
	client := sdk(t)
	stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
		Model: "gpt-4", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("simulate error midstream")},
	})
	chunks := 0
	for stream.Next() {
		chunks++
	}
	if chunks == 0 || stream.Err() == nil {
		t.Fatalf("%d chunks, then %v", chunks, stream.Err())
	}
}

func TestOpenAISDKSeesRefusals(t *testing.T) {
	client := sdk(t)
	_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model: "nope", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
	})
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != 404 || refused.Code != "model_not_found" {
		t.Fatal(err)
	}
}

func TestOpenAISDKUnderstandsResponses(t *testing.T) {
	client := sdk(t)
	params := responses.ResponseNewParams{
		Model: "gpt-5.5", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hello there")},
	}
	whole, err := client.Responses.New(t.Context(), params)
	if err != nil || !strings.Contains(whole.OutputText(), `You said: "Hello there"`) {
		t.Fatalf("%+v %v", whole, err)
	}
	stream := client.Responses.NewStreaming(t.Context(), params)
	text := ""
	var last responses.ResponseStreamEventUnion
	for stream.Next() {
		last = stream.Current()
		if last.Type == "response.output_text.delta" {
			text += last.Delta
		}
	}
	if err := stream.Err(); err != nil || text != whole.OutputText() || last.Response.OutputText() != text {
		t.Fatalf("%q, want %q; %v %+v", text, whole.OutputText(), err, last)
	}
	kept, err := client.Responses.Get(t.Context(), whole.ID, responses.ResponseGetParams{})
	if err != nil || kept.OutputText() != whole.OutputText() {
		t.Fatalf("%+v %v", kept, err)
	}
	items, err := client.Responses.InputItems.List(t.Context(), whole.ID, responses.InputItemListParams{})
	if err != nil || len(items.Data) != 1 {
		t.Fatalf("%+v %v", items, err)
	}
	if err := client.Responses.Delete(t.Context(), whole.ID); err != nil {
		t.Fatal(err)
	}
	count, err := client.Responses.InputTokens.Count(t.Context(), responses.InputTokenCountParams{
		Model: openai.String("gpt-5.5"), Input: responses.InputTokenCountParamsInputUnion{OfString: openai.String("Hello there")},
	})
	if err != nil || count.InputTokens != 2 {
		t.Fatalf("%+v %v", count, err)
	}
}

func TestOpenAISDKSeesErrorsMidstreamOfResponses(t *testing.T) {
	client := sdk(t)
	stream := client.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
		Model: "gpt-5.5", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("simulate error midstream")},
	})
	events := 0
	for stream.Next() {
		events++
	}
	if events == 0 || stream.Err() == nil {
		t.Fatalf("%d events, then %v", events, stream.Err())
	}
}
