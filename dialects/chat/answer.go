package chat

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The values of an object field.
const (
	ObjectCompletion = "chat.completion"
	ObjectChunk      = "chat.completion.chunk"
)

// finishFunctionCall answers a request that used the deprecated functions.
const finishFunctionCall = "function_call"

// Completion is a whole answer.
type Completion struct {
	ID                string         `json:"id"`
	Object            string         `json:"object"`
	Created           int64          `json:"created"` // Unix seconds
	Model             string         `json:"model"`   // the one that answered
	Choices           []Choice       `json:"choices"`
	Usage             *Usage         `json:"usage,omitzero"`
	ServiceTier       string         `json:"service_tier,omitempty"`
	SystemFingerprint string         `json:"system_fingerprint,omitempty"`
	Extra             jsontext.Value `json:",embed"`
}

// Choice is one of the n answers.
type Choice struct {
	Index        int            `json:"index"`
	Message      Answer         `json:"message"`
	Logprobs     jsontext.Value `json:"logprobs,omitzero"`
	FinishReason string         `json:"finish_reason"`
	Extra        jsontext.Value `json:",embed"`
}

// Answer is the assistant's message. Content is null, not empty, when there
// are only tool calls; Refusal is null when there is none.
type Answer struct {
	Role             string            `json:"role"`
	Content          *string           `json:"content"`
	Refusal          *string           `json:"refusal"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []ReasoningDetail `json:"reasoning_details,omitempty"`
	ToolCalls        []ToolCall        `json:"tool_calls,omitempty"`
	FunctionCall     *FunctionCall     `json:"function_call,omitzero"`
	Images           []Image           `json:"images,omitempty"`
	Extra            jsontext.Value    `json:",embed"`
}

// Image is a picture the model made, as a data URL.
type Image struct {
	Type     string         `json:"type"` // image_url
	ImageURL ImageURL       `json:"image_url"`
	Extra    jsontext.Value `json:",embed"`
}

// Usage counts tokens the way OpenAI does: PromptTokens includes cached ones,
// CompletionTokens includes reasoning.
type Usage struct {
	PromptTokens            int64              `json:"prompt_tokens"`
	CompletionTokens        int64              `json:"completion_tokens"`
	TotalTokens             int64              `json:"total_tokens"`
	PromptTokensDetails     *PromptDetails     `json:"prompt_tokens_details,omitzero"`
	CompletionTokensDetails *CompletionDetails `json:"completion_tokens_details,omitzero"`
	Extra                   jsontext.Value     `json:",embed"`
}

// PromptDetails are parts of PromptTokens.
type PromptDetails struct {
	CachedTokens     int64          `json:"cached_tokens"`
	CacheWriteTokens int64          `json:"cache_write_tokens,omitzero"`
	Extra            jsontext.Value `json:",embed"`
}

// CompletionDetails are parts of CompletionTokens.
type CompletionDetails struct {
	ReasoningTokens int64          `json:"reasoning_tokens"`
	Extra           jsontext.Value `json:",embed"`
}

// Texts is everything that a message says, one text after the other.
func (a *Answer) Texts() string {
	var b strings.Builder
	if a.Content != nil {
		b.WriteString(*a.Content)
	}
	if a.Refusal != nil {
		b.WriteString(*a.Refusal)
	}
	b.WriteString(a.ReasoningContent)
	for i := range a.ToolCalls {
		c := &a.ToolCalls[i]
		if c.Function != nil {
			b.WriteString(c.Function.Name + c.Function.Arguments)
		}
		b.Write(c.Custom)
	}
	if f := a.FunctionCall; f != nil {
		b.WriteString(f.Name + f.Arguments)
	}
	return b.String()
}
