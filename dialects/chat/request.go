// Package chat is the dialect of OpenAI's chat completions API: its wire types,
// the strict decoding of requests into the common form, and the encoding of
// answers, streams and errors. A provider that speaks the same API shares the
// wire types.
package chat

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// Request is the body of POST /v1/chat/completions. An explicit null is
// legal for every optional field and means that it is absent.
//
// A decoded request is never changed: it may be translated several times, for
// several upstreams, at once.
type Request struct {
	Model    string
	Messages []Message

	MaxTokens           *int64
	MaxCompletionTokens *int64
	Temperature         *float64
	TopP                *float64
	TopK                *int64
	FrequencyPenalty    *float64
	PresencePenalty     *float64
	Stop                []string
	N                   *int64
	Seed                *int64
	LogitBias           jsontext.Value
	Logprobs            bool
	TopLogprobs         *int64

	Stream        bool
	StreamOptions *StreamOptions

	Tools             []Tool
	ToolChoice        *ToolChoice
	ParallelToolCalls *bool
	Functions         []Function  // deprecated by OpenAI in favour of tools
	FunctionCall      *ToolChoice // deprecated by OpenAI in favour of tool_choice
	ResponseFormat    *ResponseFormat

	ReasoningEffort string
	Thinking        *Thinking      // extension, the Anthropic form
	CacheControl    jsontext.Value // extension, the Anthropic form

	User             string
	SafetyIdentifier string
	Metadata         map[string]string
	ServiceTier      string
	Modalities       []string
	Audio            jsontext.Value
	WebSearchOptions jsontext.Value

	common       llm.Request // what services and providers see of it
	conversation conversation
	left         body.Names // members that have no place in the common form
	foreign      string     // the first member that is not of OpenAI's API; empty = none
	predicted    int64      // the size of OpenAI's predicted answer, in bytes
}

// StreamOptions are legal only together with stream.
type StreamOptions struct {
	IncludeUsage bool
}

// Thinking asks for reasoning in Anthropic's words; ReasoningEffort is the
// OpenAI way and is used when both are given and Thinking has no type.
type Thinking struct {
	Type         string // enabled, adaptive or disabled
	BudgetTokens int64  // tokens, only with enabled

	Display jsontext.Value // summarized or omitted
}

// Message is one turn of the conversation as the client sends it.
type Message struct {
	Role         string
	Content      Content
	Name         string
	ToolCalls    []ToolCall
	ToolCallID   string
	FunctionCall *FunctionCall // deprecated by OpenAI
	Refusal      string
	Audio        jsontext.Value
	CacheControl jsontext.Value // extension, the Anthropic form

	ReasoningContent string
	ReasoningDetails []ReasoningDetail
	Images           []Image // that the model made in an earlier turn
}

// Content is a message's content: absent or null, one string, or parts.
type Content struct {
	Parts []ContentPart // the array form; Text is the string form
	Set   bool          // false when absent or null

	literal jsontext.Value // the string form as it came, with its quotes
}

// Text is the string form. It is decoded at each call: an upstream that takes
// the client's bytes never asks for it.
func (c *Content) Text() string { return jsonbytes.Text(c.literal) }

// ContentPart is one element of a content array.
type ContentPart struct {
	Type         string // text, image_url, input_audio, file or refusal
	Text         string
	ImageURL     *ImageURL
	InputAudio   *InputAudio
	File         *File
	Refusal      string
	CacheControl jsontext.Value // extension, the Anthropic form
}

// ImageURL is an image by web address or data URL.
type ImageURL struct {
	URL    string         `json:"url"`
	Detail string         `json:"detail,omitempty"`
	Extra  jsontext.Value `json:",embed"`
}

// InputAudio is a sound; Data is plain base64, not a data URL.
type InputAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"` // wav or mp3
}

// File is a document; FileData is a data URL.
type File struct {
	FileData string
	Filename string
	FileID   string
}

// Tool is a function, or a custom tool that only OpenAI upstreams know.
type Tool struct {
	Type         string
	Function     *Function
	Custom       jsontext.Value
	CacheControl jsontext.Value // extension, the Anthropic form
}

// Function describes a function the model may call. Parameters is JSON Schema
// and is carried byte for byte: re-ordered keys break the upstreams' prompt
// caches. It is nil for a function without parameters.
type Function struct {
	Name        string
	Description string
	Parameters  jsontext.Value
	Strict      *bool
}

// ToolChoice says which tools the model may or must call.
type ToolChoice struct {
	Type    string   // of an object; empty for a word
	Mode    string   // none, auto, required, named, custom or allowed
	Name    string   // of the one function or custom tool, with named and custom
	Allowed []string // names of functions, with allowed
	Require bool     // with allowed: one of them must be called
}

// ResponseFormat asks for text, for some JSON or for JSON of a given schema.
type ResponseFormat struct {
	Type       string // text, json_object or json_schema
	JSONSchema *JSONSchema
}

// JSONSchema is the schema of a structured answer.
type JSONSchema struct {
	Name        string
	Description string
	Schema      jsontext.Value
	Strict      *bool
}

// ToolCall is a call the model made, in requests and in answers.
type ToolCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function *FunctionCall  `json:"function,omitzero"`
	Custom   jsontext.Value `json:"custom,omitzero"`
	// ExtraContent carries what a provider attaches to a call; Google's
	// OpenAI endpoint puts google.thought_signature there.
	ExtraContent *ExtraContent  `json:"extra_content,omitzero"`
	Extra        jsontext.Value `json:",embed"`
}

// FunctionCall names a function and its arguments as JSON text. Models err:
// the text is not always valid JSON and may be empty.
type FunctionCall struct {
	Name      string         `json:"name"`
	Arguments string         `json:"arguments"`
	Extra     jsontext.Value `json:",embed"`
}

// ExtraContent is the extension field of Google's OpenAI endpoint.
type ExtraContent struct {
	Google *GoogleExtra `json:"google,omitzero"`
}

// GoogleExtra carries a Gemini thought signature, which must come back with
// the call it was attached to.
type GoogleExtra struct {
	ThoughtSignature string `json:"thought_signature,omitempty"`
}

// The types of a ReasoningDetail.
const (
	ReasoningText      = roundtrip.TypeText      // Text, and Signature once the block is whole
	ReasoningEncrypted = roundtrip.TypeEncrypted // Data only
	reasoningSummary   = roundtrip.TypeSummary   // Summary only
)

// ReasoningDetail is one block of a model's reasoning, with what the provider
// needs to take it back unchanged in the next turn. In a stream the fragments
// of one block share Index; text is appended, the other fields come once.
type ReasoningDetail struct {
	Type      string            `json:"type"`
	Text      string            `json:"text,omitempty"`
	Summary   string            `json:"summary,omitempty"` // of type reasoning.summary, from OpenAI upstreams
	Signature string            `json:"signature,omitempty"`
	Data      string            `json:"data,omitempty"`
	ID        string            `json:"id,omitempty"` // of the tool call it belongs to, where it belongs to one
	Format    llm.ThoughtFormat `json:"format,omitempty"`
	Index     int               `json:"index"`
}
