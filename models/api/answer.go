package api

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The values of an object field.
const (
	ObjectCompletion = "chat.completion"
	ObjectChunk      = "chat.completion.chunk"
	ObjectModel      = "model"
	ObjectList       = "list"
	ObjectUser       = "user"
	ObjectKey        = "api_key"
)

// The finish reasons.
const (
	FinishStop          = "stop"
	FinishLength        = "length"
	FinishToolCalls     = "tool_calls"
	FinishContentFilter = "content_filter"
	FinishFunctionCall  = "function_call" // answers a request that used the deprecated functions
)

// ChatCompletion is a whole answer.
type ChatCompletion struct {
	// Raw is the answer as it came from an upstream that speaks the same format,
	// where nothing of it has to change: it is what the client is to be sent. Then
	// Choices and the members only OpenAI knows are not set. Nil otherwise.
	Raw []byte `json:"-"`

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

// Open reads all of an answer that has come as Raw, so that it can be changed.
func (c *ChatCompletion) Open() error {
	if c.Raw == nil {
		return nil
	}
	raw := c.Raw
	*c = ChatCompletion{}
	return json.Unmarshal(raw, c, Faithful)
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
	Type     string   `json:"type"` // image_url
	ImageURL ImageURL `json:"image_url"`
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
	CacheWriteHour   int64          `json:"-"` // of CacheWriteTokens: kept for an hour, which costs more
	Extra            jsontext.Value `json:",embed"`
}

// CompletionDetails are parts of CompletionTokens.
type CompletionDetails struct {
	ReasoningTokens int64          `json:"reasoning_tokens"`
	Extra           jsontext.Value `json:",embed"`
}

// ChatChunk is one event of a stream. The providers reuse the chunk they
// yield: it is valid until the loop goes on, and who wants to keep it copies.
type ChatChunk struct {
	ID                string         `json:"id"`
	Object            string         `json:"object"`
	Created           int64          `json:"created"` // Unix seconds
	Model             string         `json:"model"`
	Choices           []ChunkChoice  `json:"choices"` // empty in the usage chunk only
	Usage             *Usage         `json:"usage,omitzero"`
	ServiceTier       string         `json:"service_tier,omitempty"`
	SystemFingerprint string         `json:"system_fingerprint,omitempty"`
	Extra             jsontext.Value `json:",embed"`

	// Counter is the same for all chunks of a stream; nil where nobody counts.
	Counter UsageCounter `json:"-"`
}

// UsageCounter says what the upstream of a stream has counted so far, for
// streams that do not come to their usage. Of a count that it has not told yet
// it says 0; nil is that it has told none. It is to be asked while the stream is
// ranged over, or after that.
type UsageCounter interface{ Counted() *Usage }

// ChunkChoice is what one event adds to one choice.
type ChunkChoice struct {
	Index        int            `json:"index"`
	Delta        Delta          `json:"delta"`
	Logprobs     jsontext.Value `json:"logprobs,omitzero"`
	FinishReason *string        `json:"finish_reason"` // null until the last
	Extra        jsontext.Value `json:",embed"`
}

// Delta is what an event adds to a message.
type Delta struct {
	Role             string            `json:"role,omitempty"`
	Content          *string           `json:"content,omitzero"`
	Refusal          *string           `json:"refusal,omitzero"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []ReasoningDetail `json:"reasoning_details,omitempty"`
	ToolCalls        []ToolCallDelta   `json:"tool_calls,omitempty"`
	FunctionCall     *FunctionDelta    `json:"function_call,omitzero"`
	Images           []Image           `json:"images,omitempty"`
	Extra            jsontext.Value    `json:",embed"`
}

// ToolCallDelta is a fragment of a tool call. ID, Type and the name come with
// the first fragment of a call only; Index is dense from 0 for each choice.
type ToolCallDelta struct {
	Index        int            `json:"index"`
	ID           string         `json:"id,omitempty"`
	Type         string         `json:"type,omitempty"`
	Function     *FunctionDelta `json:"function,omitzero"`
	Custom       jsontext.Value `json:"custom,omitzero"`
	ExtraContent *ExtraContent  `json:"extra_content,omitzero"`
}

// FunctionDelta is a fragment of a function call's arguments.
type FunctionDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// ModelList is the answer of GET /v1/models.
type ModelList struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}

// Model is one model of the catalogue as clients see it. OwnedBy is the name
// of its provider.
type Model struct {
	ID         string   `json:"id"`
	Object     string   `json:"object"`
	Created    int64    `json:"created"` // Unix seconds
	OwnedBy    string   `json:"owned_by"`
	Permission []string `json:"permission"`
	Root       string   `json:"root"`
	Parent     *string  `json:"parent"`

	Available       bool   `json:"available"` // its provider is configured
	State           string `json:"state"`     // active, deprecated or retired
	ShutdownDate    string `json:"shutdown_date,omitempty"`
	Successor       string `json:"successor,omitempty"`
	ContextWindow   int64  `json:"context_window,omitzero"`
	MaxOutputTokens int64  `json:"max_output_tokens,omitzero"`
}
