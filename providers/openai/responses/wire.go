package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/openai/compose"
)

// responsesRequest is the body of POST /v1/responses, as it is written from the common
// form.
type responsesRequest struct {
	Model        string      `json:"model"`
	Instructions string      `json:"instructions,omitempty"`
	Input        []inputItem `json:"input"`

	Tools             []responsesTool `json:"tools,omitempty"`
	ToolChoice        jsontext.Value  `json:"tool_choice,omitzero"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls,omitzero"`

	Text            textOptions       `json:"text,omitzero"`
	Reasoning       *reasoningOptions `json:"reasoning,omitzero"`
	MaxOutputTokens *int64            `json:"max_output_tokens,omitzero"`
	Temperature     *float64          `json:"temperature,omitzero"`
	TopP            *float64          `json:"top_p,omitzero"`

	User                 string            `json:"user,omitempty"`
	SafetyIdentifier     string            `json:"safety_identifier,omitempty"`
	PromptCacheKey       string            `json:"prompt_cache_key,omitempty"`
	PromptCacheRetention jsontext.Value    `json:"prompt_cache_retention,omitzero"`
	PromptCacheOptions   jsontext.Value    `json:"prompt_cache_options,omitzero"`
	Metadata             map[string]string `json:"metadata,omitempty"`
	ServiceTier          string            `json:"service_tier,omitempty"`

	Include []string `json:"include,omitempty"`
	Store   bool     `json:"store"` // OpenAI stores an answer where it is not told
	Stream  bool     `json:"stream,omitzero"`
}

// countedRequest is the part of a request that POST /v1/responses/input_tokens takes.
type countedRequest struct {
	Model             string            `json:"model"`
	Instructions      string            `json:"instructions,omitempty"`
	Input             []inputItem       `json:"input"`
	Tools             []responsesTool   `json:"tools,omitempty"`
	ToolChoice        jsontext.Value    `json:"tool_choice,omitzero"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls,omitzero"`
	Text              textOptions       `json:"text,omitzero"`
	Reasoning         *reasoningOptions `json:"reasoning,omitzero"`
}

type reasoningOptions struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type textOptions struct {
	Format    *textFormat    `json:"format,omitzero"`
	Verbosity jsontext.Value `json:"verbosity,omitzero"`
}

type textFormat struct {
	Type        string         `json:"type"`
	Name        string         `json:"name,omitempty"`
	Description string         `json:"description,omitempty"`
	Schema      jsontext.Value `json:"schema,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
}

// The types of items. A message needs none.
const (
	itemMessage        = "message"
	itemReasoning      = "reasoning"
	itemFunctionCall   = "function_call"
	itemFunctionResult = "function_call_output"
	itemCustomCall     = "custom_tool_call"
	itemCustomResult   = "custom_tool_call_output"
)

// inputItem is a message, a thought, a call or a result.
type inputItem struct {
	Type string `json:"type,omitempty"`

	Role    string       `json:"role,omitempty"`
	Content *itemContent `json:"content,omitzero"`
	Phase   string       `json:"phase,omitempty"`

	ID        string         `json:"id,omitempty"`
	Summary   *[]summaryPart `json:"summary,omitzero"`
	Encrypted string         `json:"encrypted_content,omitempty"`

	CallID    string       `json:"call_id,omitempty"`
	Name      string       `json:"name,omitempty"`
	Arguments string       `json:"arguments,omitempty"`
	Input     *string      `json:"input,omitzero"`
	Output    *itemContent `json:"output,omitzero"`
}

type summaryPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// itemContent is what a message or a result says: parts, else one text, which may be empty.
type itemContent struct {
	text  string
	parts []inputPart
}

// MarshalJSONTo writes the text, or the list of the parts.
func (c *itemContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	if len(c.parts) > 0 {
		return json.MarshalEncode(enc, c.parts)
	}
	return enc.WriteToken(jsontext.String(c.text))
}

// The types of parts.
const (
	partInputText  = "input_text"
	partInputImage = "input_image"
	partInputFile  = "input_file"
	partOutputText = "output_text"
	partRefusal    = "refusal"
)

type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Refusal  string `json:"refusal,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
	FileData string `json:"file_data,omitempty"`
	FileURL  string `json:"file_url,omitempty"`
	Filename string `json:"filename,omitempty"`

	Breakpoint *compose.Breakpoint `json:"prompt_cache_breakpoint,omitzero"`
}

// responsesTool is a function or a custom tool. Strict is always there for functions:
// without it OpenAI takes it as true here, unlike in chat completions.
type responsesTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Format      jsontext.Value `json:"format,omitzero"`
}
