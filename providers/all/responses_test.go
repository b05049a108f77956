package all_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/providers/providertest"
)

// askResponses is a client of the responses dialect: OpenAI's SDK.
func askResponses(t *testing.T, gateway, model string, stream bool) providertest.Outcome {
	t.Helper()
	client := openai.NewClient(option.WithBaseURL(gateway), option.WithAPIKey("sk-test"), option.WithMaxRetries(0))
	params := sdk.ResponseNewParams{
		Model: model, Input: sdk.ResponseNewParamsInputUnion{OfString: openai.String("Hello")},
		Reasoning: shared.ReasoningParam{Summary: shared.ReasoningSummaryAuto},
	}
	if !stream {
		response, err := client.Responses.New(t.Context(), params)
		return responseOutcome(response, err)
	}
	var last sdk.Response
	var said strings.Builder
	events := client.Responses.NewStreaming(t.Context(), params)
	for events.Next() {
		switch e := events.Current(); e.Type {
		case "response.output_text.delta":
			said.WriteString(e.Delta)
		case "response.completed", "response.incomplete", "response.failed":
			last = e.Response
		}
	}
	o := responseOutcome(&last, events.Err())
	if o.Failure != nil { // the SDK stops at the error, before the last event
		o.Text = said.String()
	}
	return o
}

func responseOutcome(r *sdk.Response, err error) providertest.Outcome {
	var o providertest.Outcome
	if r != nil {
		says(&o, r)
	}
	if err != nil || r.Status == "failed" {
		// The code says what went wrong rather than where: that of the API is compared elsewhere.
		o.Failure = &providertest.Failure{Type: api.TypeAPI, Code: api.CodeProviderError}
		if refused, ok := errors.AsType[*openai.Error](err); ok && refused.StatusCode != http.StatusOK { // before the stream
			o.Failure.Status = refused.StatusCode
		}
		return o
	}
	switch {
	case r.IncompleteDetails.Reason == "max_output_tokens":
		o.FinishReason = "length"
	case r.IncompleteDetails.Reason == "content_filter":
		o.FinishReason = "content_filter"
	case len(o.ToolCalls) > 0:
		o.FinishReason = "tool_calls"
	default:
		o.FinishReason = "stop"
	}
	u := r.Usage
	o.Usage = &chat.Usage{
		PromptTokens: u.InputTokens, CompletionTokens: u.OutputTokens, TotalTokens: u.TotalTokens,
		PromptTokensDetails:     &chat.PromptDetails{CachedTokens: u.InputTokensDetails.CachedTokens},
		CompletionTokensDetails: &chat.CompletionDetails{ReasoningTokens: u.OutputTokensDetails.ReasoningTokens},
	}
	return o
}

// says adds what the items of a response say.
func says(o *providertest.Outcome, r *sdk.Response) {
	for i := range r.Output {
		item := &r.Output[i]
		for _, s := range item.Summary {
			o.Reasoning += s.Text
		}
		if item.Type == "message" {
			for _, part := range item.Content {
				if !strings.HasPrefix(part.Text, "[audio left out: ") && !strings.HasPrefix(part.Text, "[file left out: ") {
					o.Text += part.Text
				}
				o.Refusal += part.Refusal
			}
		}
		if item.Type == "function_call" {
			o.ToolCalls = append(o.ToolCalls, providertest.ToolCall{ID: item.CallID, Name: item.Name, Arguments: item.Arguments.OfString})
		}
	}
}

// ofResponses is a recording without what a response cannot say: calls are not why it ends.
func ofResponses(rec providertest.Recording) providertest.Recording {
	e := &rec.Expect
	e.Native, e.Ending, e.Annotations, e.Files, e.Audio = nil, nil, nil, nil, ""
	return rec
}
