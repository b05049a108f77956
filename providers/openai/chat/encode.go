package chat

import (
	"strconv"

	"github.com/go-json-experiment/json"

	"modelgateway/providers"
	"modelgateway/providers/openai/compose"
)

// encode writes the request, as json.Marshal does. Its messages and its most frequent options
// are written without reflection.
func (r *request) encode() ([]byte, error) {
	const usual = 192 // bytes beside the texts
	size := usual
	for i := range r.Messages {
		size += len(r.Messages[i].Content) + len(r.Messages[i].Reasoning) + usual/4
	}
	dst := providers.AppendQuote(append(make([]byte, 0, size), `{"model":`...), r.Model)
	dst = append(dst, `,"messages":[`...)
	var err error
	for i := range r.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = r.Messages[i].append(dst); err != nil {
			return nil, err
		}
	}
	return r.appendOptions(append(dst, ']'))
}

func (m *message) append(dst []byte) ([]byte, error) {
	dst = append(append(append(dst, `{"role":"`...), m.Role...), '"')
	if m.Reasoning != "" {
		dst = providers.AppendQuote(append(dst, `,"reasoning_content":`...), m.Reasoning)
	}
	dst = append(append(dst, `,"content":`...), m.Content...)
	if len(m.ToolCalls) > 0 {
		calls, err := json.Marshal(m.ToolCalls, compose.Encoding)
		if err != nil {
			return nil, err
		}
		dst = append(append(dst, `,"tool_calls":`...), calls...)
	}
	if m.ToolCallID != "" {
		dst = providers.AppendQuote(append(dst, `,"tool_call_id":`...), m.ToolCallID)
	}
	return append(dst, '}'), nil
}

// appendOptions adds the options and the end of the request.
func (o *options) appendOptions(dst []byte) ([]byte, error) {
	if o.rare() || !providers.IsDecimal(o.Temperature) || !providers.IsDecimal(o.TopP) {
		all, err := json.Marshal(o, compose.Encoding)
		if err != nil || len(all) == len("{}") {
			return append(dst, '}'), err
		}
		return append(append(dst, ','), all[1:]...), nil
	}
	if o.MaxTokens != nil {
		dst = strconv.AppendInt(append(dst, `,"max_tokens":`...), *o.MaxTokens, 10)
	}
	if o.MaxCompletionTokens != nil {
		dst = strconv.AppendInt(append(dst, `,"max_completion_tokens":`...), *o.MaxCompletionTokens, 10)
	}
	dst = providers.AppendDecimal(dst, `,"temperature":`, o.Temperature)
	dst = providers.AppendDecimal(dst, `,"top_p":`, o.TopP)
	if o.Stream {
		dst = append(dst, `,"stream":true`...)
	}
	if o.StreamOptions != nil {
		dst = append(append(dst, `,"stream_options":`...), o.StreamOptions...)
	}
	return append(dst, '}'), nil
}

// rare says whether there are other options than those that appendOptions writes itself.
func (o *options) rare() bool {
	return len(o.Tools) > 0 || o.ToolChoice != nil || o.ParallelToolCalls != nil || o.ResponseFormat != nil || o.N != 0 ||
		o.TopK != nil || o.FrequencyPenalty != nil || o.PresencePenalty != nil || o.Seed != nil || len(o.Stop) > 0 ||
		o.LogitBias != nil || o.Logprobs || o.TopLogprobs != nil || o.ReasoningEffort != "" || o.User != "" ||
		o.SafetyIdentifier != "" || o.PromptCacheKey != "" || len(o.Metadata) > 0 || o.ServiceTier != "" ||
		len(o.Modalities) > 0 || o.WebSearchOptions != nil
}
