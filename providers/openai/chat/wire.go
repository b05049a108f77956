package chat

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/providers/openai/compose"
)

// request is the body of POST /v1/chat/completions, as it is written for clients
// of other dialects.
type request struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	options
}

// options is a request without its model and its messages.
type options struct {
	Tools             []tool          `json:"tools,omitempty"`
	ToolChoice        jsontext.Value  `json:"tool_choice,omitzero"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls,omitzero"`
	ResponseFormat    *responseFormat `json:"response_format,omitzero"`

	MaxTokens           *int64 `json:"max_tokens,omitzero"`
	MaxCompletionTokens *int64 `json:"max_completion_tokens,omitzero"`
	N                   int64  `json:"n,omitzero"`

	Temperature      *float64       `json:"temperature,omitzero"`
	TopP             *float64       `json:"top_p,omitzero"`
	TopK             *int64         `json:"top_k,omitzero"`
	FrequencyPenalty *float64       `json:"frequency_penalty,omitzero"`
	PresencePenalty  *float64       `json:"presence_penalty,omitzero"`
	Seed             *int64         `json:"seed,omitzero"`
	Stop             []string       `json:"stop,omitempty"`
	LogitBias        jsontext.Value `json:"logit_bias,omitzero"`
	Logprobs         bool           `json:"logprobs,omitzero"`
	TopLogprobs      *int64         `json:"top_logprobs,omitzero"`
	ReasoningEffort  string         `json:"reasoning_effort,omitempty"`

	User             string            `json:"user,omitempty"`
	SafetyIdentifier string            `json:"safety_identifier,omitempty"`
	PromptCacheKey   string            `json:"prompt_cache_key,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	ServiceTier      string            `json:"service_tier,omitempty"`
	Modalities       []string          `json:"modalities,omitempty"`
	WebSearchOptions jsontext.Value    `json:"web_search_options,omitzero"`

	Stream        bool           `json:"stream,omitzero"`
	StreamOptions jsontext.Value `json:"stream_options,omitzero"`
}

type message struct {
	Role       string         `json:"role"`
	Reasoning  string         `json:"reasoning_content,omitempty"`
	Content    jsontext.Value `json:"content"` // a string, parts or null
	ToolCalls  []toolCall     `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
}

type contentPart struct {
	Type       string              `json:"type"`
	Text       string              `json:"text,omitempty"`
	Refusal    string              `json:"refusal,omitempty"`
	ImageURL   *chat.ImageURL      `json:"image_url,omitzero"`
	InputAudio *chat.InputAudio    `json:"input_audio,omitzero"`
	File       *compose.File       `json:"file,omitzero"`
	Breakpoint *compose.Breakpoint `json:"prompt_cache_breakpoint,omitzero"`
}

type toolCall struct {
	ID       string             `json:"id"`
	Type     string             `json:"type"`
	Function *chat.FunctionCall `json:"function,omitzero"`
	Custom   *customCall        `json:"custom,omitzero"`
}

type customCall struct {
	Name  string `json:"name"`
	Input string `json:"input"`
}

type tool struct {
	Type     string         `json:"type"`
	Function *function      `json:"function,omitzero"`
	Custom   jsontext.Value `json:"custom,omitzero"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
}

type responseFormat struct {
	Type       string              `json:"type"`
	JSONSchema *compose.JsonSchema `json:"json_schema,omitzero"`
}
