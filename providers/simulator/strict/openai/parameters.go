package openai

import (
	"slices"
	"strconv"
	"strings"

	"modelgateway/llm"
	simulated "modelgateway/providers/simulator/openai"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/strict/grammar"
	"modelgateway/providers/simulator/wire"
)

func (q *request) checkFormat() *wire.Failure {
	f := q.ResponseFormat
	switch {
	case f == nil || f.Type == "text":
		return nil
	case f.Type == "json_object":
		for _, m := range q.Messages {
			if strings.Contains(strings.ToLower(m.Text()), "json") {
				return nil
			}
		}
		return refuse("messages", "",
			"'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	}
	if refusal := checkName("response_format.json_schema.name", f.JSONSchema.Name); refusal != nil {
		return refusal
	}
	if f.JSONSchema.Strict && grammar.OpenObject(f.JSONSchema.Schema) {
		return refuse("response_format", "", "Invalid schema for response_format '%s': "+
			"In context=(), 'additionalProperties' is required to be supplied and to be false.", f.JSONSchema.Name)
	}
	return nil
}

func (q *request) checkExtras() *wire.Failure {
	stops := len(rawjson.Strings(q.Stop))
	switch {
	case q.StreamOptions != nil && !q.Stream:
		return refuse("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case q.TopLogprobs != nil && !q.Logprobs:
		return refuse("top_logprobs", "", "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.")
	case stops > 4:
		return refuse("stop", "array_above_max_length", "Invalid 'stop': array too long. "+
			"Expected an array with maximum length 4, but got an array with length %d instead.", stops)
	case llm.Given(q.WebSearchOptions) && !strings.Contains(q.Model, "-search-"):
		return refuse("web_search_options", "", "Web search options not supported with this model.")
	case slices.Contains(q.Modalities, "audio"):
		return refuse("modalities", "invalid_value", "This model does not support the audio modality.")
	}
	return nil
}

// generation is 4.1 for gpt-4.1 and 0 for what is not called gpt-N.
func generation(model string) float64 {
	digits, _, _ := strings.Cut(strings.TrimPrefix(model, "gpt-"), "-")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	return n
}

// checkReasoning refuses parameters that reasoning models do not accept.
// gpt-5.1 to 5.4 reason only on request.
func (q *request) checkReasoning() *wire.Failure {
	version := generation(q.Model)
	isO := strings.HasPrefix(q.Model, "o1") || strings.HasPrefix(q.Model, "o3") || strings.HasPrefix(q.Model, "o4")
	if !isO && version < 5 {
		return nil
	}
	if q.MaxTokens != nil {
		return refuse("max_tokens", "unsupported_parameter",
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	if llm.Given(q.Stop) && !strings.HasPrefix(q.Model, "o1") {
		return refuse("stop", "unsupported_parameter", "Unsupported parameter: 'stop' is not supported with this model.")
	}
	if q.ReasoningEffort == "none" || q.ReasoningEffort == "" && version > 5 && version < 5.5 {
		return nil
	}
	if version >= 5.4 && slices.ContainsFunc(q.Tools, func(t simulated.Tool) bool { return t.Type == "function" }) {
		return refuse("reasoning_effort", "", "Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. "+
			"To use function tools, use /v1/responses or set reasoning_effort to 'none'.", q.Model)
	}
	if f := defaultOnly("temperature", q.Temperature); f != nil {
		return f
	}
	return defaultOnly("top_p", q.TopP)
}

func defaultOnly(param string, value *float64) *wire.Failure {
	if value == nil || *value == 1 {
		return nil
	}
	return refuse(param, "unsupported_value",
		"Unsupported value: '%s' does not support %v with this model. Only the default (1) value is supported.", param, *value)
}
