package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (q *openaiRequest) checkFormat() *failure {
	f := q.ResponseFormat
	switch {
	case f == nil || f.Type == "text":
		return nil
	case f.Type == "json_object":
		for _, m := range q.Messages {
			if strings.Contains(strings.ToLower(m.text()), "json") {
				return nil
			}
		}
		return openaiRefusal("messages", "", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	case !openaiName.MatchString(f.JSONSchema.Name):
		at := "response_format.json_schema.name"
		return openaiRefusal(at, "invalid_value", fmt.Sprintf("Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at))
	case f.JSONSchema.Strict && openObject(f.JSONSchema.Schema):
		return openaiRefusal("response_format", "", fmt.Sprintf("Invalid schema for response_format '%s': In context=(), 'additionalProperties' is required to be supplied and to be false.", f.JSONSchema.Name))
	}
	return nil
}

func (q *openaiRequest) checkExtras() *failure {
	switch {
	case q.StreamOptions != nil && !q.Stream:
		return openaiRefusal("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case q.TopLogprobs != nil && !q.Logprobs:
		return openaiRefusal("top_logprobs", "", "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.")
	case len(stringOrList(q.Stop)) > 4:
		return openaiRefusal("stop", "array_above_max_length", fmt.Sprintf("Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length %d instead.", len(stringOrList(q.Stop))))
	case given(q.WebSearchOptions) && !strings.Contains(q.Model, "-search-"):
		return openaiRefusal("web_search_options", "", "Web search options not supported with this model.")
	case slices.Contains(q.Modalities, "audio"):
		return openaiRefusal("modalities", "invalid_value", "This model does not support the audio modality.")
	}
	return nil
}

// openaiGeneration is 4.1 for gpt-4.1 and 0 for what is not called gpt-N.
func openaiGeneration(id string) float64 {
	digits, _, _ := strings.Cut(strings.TrimPrefix(id, "gpt-"), "-")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	return n
}

// checkReasoning refuses what models that reason do not take. gpt-5.1 to 5.4 do
// not reason unless they are asked to.
func (q *openaiRequest) checkReasoning() *failure {
	generation := openaiGeneration(q.Model)
	isO := strings.HasPrefix(q.Model, "o1") || strings.HasPrefix(q.Model, "o3") || strings.HasPrefix(q.Model, "o4")
	if !isO && generation < 5 {
		return nil
	}
	if q.MaxTokens != nil {
		return openaiRefusal("max_tokens", "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	if given(q.Stop) && !strings.HasPrefix(q.Model, "o1") {
		return openaiRefusal("stop", "unsupported_parameter", "Unsupported parameter: 'stop' is not supported with this model.")
	}
	silent := q.ReasoningEffort == "none" || q.ReasoningEffort == "" && generation > 5 && generation < 5.5
	if silent {
		return nil
	}
	if v := q.Temperature; v != nil && *v != 1 {
		return openaiDefaultOnly("temperature", *v)
	}
	if v := q.TopP; v != nil && *v != 1 {
		return openaiDefaultOnly("top_p", *v)
	}
	return nil
}

func openaiDefaultOnly(param string, value float64) *failure {
	return openaiRefusal(param, "unsupported_value", fmt.Sprintf("Unsupported value: '%s' does not support %v with this model. Only the default (1) value is supported.", param, value))
}

func (q *openaiRequest) checkLengths(m model) *failure {
	p := q.prompt(m)
	if p.tokens > m.context {
		return openaiRefusal("messages", "context_length_exceeded", fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", m.context, p.tokens))
	}
	if p.limit > m.output {
		param := "max_completion_tokens"
		if q.MaxTokens != nil {
			param = "max_tokens"
		}
		return openaiRefusal(param, "invalid_value", fmt.Sprintf("%s is too large: %d. This model supports at most %d completion tokens, whereas you provided %d.", param, p.limit, m.output, p.limit))
	}
	return nil
}
