package all_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"modelgateway/dialects/chat"
	"modelgateway/providers/providertest"
)

// askChat is a client of the chat dialect: OpenAI's SDK.
func askChat(t *testing.T, gateway, model string, stream bool) providertest.Outcome {
	t.Helper()
	sdk := openai.NewClient(option.WithBaseURL(gateway+"/v1"), option.WithAPIKey("sk-test"), option.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{
		Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello")},
	}
	var o providertest.Outcome
	if !stream {
		answer, err := sdk.Chat.Completions.New(t.Context(), params)
		if err != nil {
			o.Failure = chatFailure(err)
			return o
		}
		if answer.JSON.Usage.Valid() {
			o.Usage = chatUsage(answer.Usage)
		}
		for _, c := range answer.Choices {
			if c.Index == 0 {
				o.Choice = chatChoice(t, c)
			}
		}
		return o
	}
	params.StreamOptions.IncludeUsage = param.NewOpt(true)
	events := sdk.Chat.Completions.NewStreaming(t.Context(), params)
	for events.Next() {
		chunk := events.Current()
		if chunk.JSON.Usage.Valid() {
			o.Usage = chatUsage(chunk.Usage)
		}
		for _, c := range chunk.Choices {
			if c.Index == 0 {
				addChat(t, &o.Choice, c)
			}
		}
	}
	if err := events.Err(); err != nil {
		o.Failure = chatFailure(err)
	}
	return o
}

func chatChoice(t *testing.T, c openai.ChatCompletionChoice) providertest.Choice {
	t.Helper()
	out := providertest.Choice{
		Text: c.Message.Content, Refusal: c.Message.Refusal, FinishReason: c.FinishReason,
		Reasoning: reasoning(t, c.Message.JSON.ExtraFields),
	}
	var raw chat.Choice
	if err := json.Unmarshal([]byte(c.RawJSON()), &raw); err != nil {
		t.Error(err)
	}
	out.AddExtra(raw.Message.Extra)
	out.Ending = string(raw.Extra)
	for _, call := range c.Message.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, providertest.ToolCall{
			ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments,
		})
	}
	return out
}

func addChat(t *testing.T, out *providertest.Choice, c openai.ChatCompletionChunkChoice) {
	t.Helper()
	out.Text += c.Delta.Content
	out.Refusal += c.Delta.Refusal
	out.Reasoning += reasoning(t, c.Delta.JSON.ExtraFields)
	var raw chat.ChunkChoice
	if err := json.Unmarshal([]byte(c.RawJSON()), &raw); err != nil {
		t.Error(err)
	}
	out.AddExtra(raw.Delta.Extra)
	for _, call := range c.Delta.ToolCalls {
		for int64(len(out.ToolCalls)) <= call.Index {
			out.ToolCalls = append(out.ToolCalls, providertest.ToolCall{})
		}
		have := &out.ToolCalls[call.Index]
		have.ID += call.ID
		have.Name += call.Function.Name
		have.Arguments += call.Function.Arguments
	}
	if c.FinishReason != "" {
		out.FinishReason, out.Ending = c.FinishReason, string(raw.Extra)
	}
}

// reasoning is a member that the SDK does not know by name.
func reasoning(t *testing.T, extra map[string]respjson.Field) (text string) {
	t.Helper()
	if field, ok := extra["reasoning_content"]; ok {
		if err := json.Unmarshal([]byte(field.Raw()), &text); err != nil {
			t.Errorf("reasoning_content: %v", err)
		}
	}
	return text
}

func chatUsage(u openai.CompletionUsage) *chat.Usage {
	return &chat.Usage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens,
		PromptTokensDetails:     &chat.PromptDetails{CachedTokens: u.PromptTokensDetails.CachedTokens},
		CompletionTokensDetails: &chat.CompletionDetails{ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens},
	}
}

// chatFailure is an error as the SDK gives it to its caller.
func chatFailure(err error) *providertest.Failure {
	if refused, ok := errors.AsType[*openai.Error](err); ok {
		return &providertest.Failure{Status: refused.StatusCode, Type: refused.Type, Code: refused.Code}
	}
	var last struct {
		Error struct {
			Type string `json:"type"`
			Code string `json:"code"`
		} `json:"error"`
	}
	broken, ok := errors.AsType[*ssestream.StreamError](err)
	if !ok || json.Unmarshal(broken.Event.Data, &last) != nil {
		return &providertest.Failure{Type: err.Error()}
	}
	return &providertest.Failure{Type: last.Error.Type, Code: last.Error.Code}
}
