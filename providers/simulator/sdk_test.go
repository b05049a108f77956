package simulator_test

import (
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

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
