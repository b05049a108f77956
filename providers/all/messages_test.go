package all_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/providers/providertest"
)

// askMessages is a client of the messages dialect: Anthropic's SDK.
func askMessages(t *testing.T, gateway, model string, stream bool) providertest.Outcome {
	t.Helper()
	sdk := anthropic.NewClient(option.WithBaseURL(gateway), option.WithAPIKey("sk-test"), option.WithMaxRetries(0))
	params := anthropic.MessageNewParams{
		Model: model, MaxTokens: 4096,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello"))},
		Thinking: anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{}},
	}
	var message anthropic.Message
	var err error
	if stream {
		events := sdk.Messages.NewStreaming(t.Context(), params)
		for events.Next() {
			if err := message.Accumulate(events.Current()); err != nil {
				t.Error(err)
			}
		}
		err = events.Err()
	} else {
		var answer *anthropic.Message
		if answer, err = sdk.Messages.New(t.Context(), params); answer != nil {
			message = *answer
		}
	}
	return messageOutcome(&message, err)
}

// finishReasons are Anthropic's in OpenAI's words.
var finishReasons = map[anthropic.StopReason]string{
	"end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "compaction": "stop", "tool_use": "tool_calls",
	"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter",
}

func messageOutcome(m *anthropic.Message, err error) providertest.Outcome {
	var o providertest.Outcome
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			if !strings.Contains(b.Text, " left out: ") { // what this API has no form for
				o.Text += b.Text
			}
		case "thinking":
			o.Reasoning += b.Thinking
		case "tool_use":
			o.ToolCalls = append(o.ToolCalls, providertest.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
	}
	if err != nil {
		// The type says what went wrong rather than where: that of the API is compared elsewhere.
		o.Failure = &providertest.Failure{Type: api.TypeAPI, Code: api.CodeProviderError}
		if refused, ok := errors.AsType[*anthropic.Error](err); ok && refused.StatusCode != http.StatusOK { // before the stream
			o.Failure.Status = refused.StatusCode
		}
		return o
	}
	o.FinishReason = finishReasons[m.StopReason]
	u := m.Usage
	o.Usage = &chat.Usage{
		PromptTokens: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, CompletionTokens: u.OutputTokens,
		PromptTokensDetails:     &chat.PromptDetails{CachedTokens: u.CacheReadInputTokens},
		CompletionTokensDetails: &chat.CompletionDetails{ReasoningTokens: u.OutputTokensDetails.ThinkingTokens},
	}
	o.Usage.TotalTokens = o.Usage.PromptTokens + o.Usage.CompletionTokens
	return o
}

// ofMessages is a recording without what a message cannot say. What is said in place of an
// answer is its text, and calls are why it ends.
func ofMessages(rec providertest.Recording) providertest.Recording {
	e := &rec.Expect
	e.Native, e.Ending, e.Annotations, e.Files, e.Audio = nil, nil, nil, nil, ""
	refused := e.Refusal != ""
	e.Text, e.Refusal = e.Text+e.Refusal, ""
	e.ToolCalls = slices.Clone(e.ToolCalls)
	for i := range e.ToolCalls {
		if c := &e.ToolCalls[i]; !jsontext.Value(c.Arguments).IsValid() { // cut off: the SDK keeps no part of an object
			c.Arguments = "{}"
		}
	}
	if e.FinishReason == nil {
		return rec
	}
	reason := *e.FinishReason
	switch {
	case reason == "length" || reason == "content_filter":
	case len(e.ToolCalls) > 0:
		reason = "tool_calls"
	case refused:
		reason = "content_filter"
	}
	e.FinishReason = &reason
	return rec
}
