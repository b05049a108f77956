package messages

// ModelList is the answer of GET /v1/models to clients of Anthropic's API: one page of the
// models.
type ModelList struct {
	Data    []ModelInfo `json:"data"`
	HasMore bool        `json:"has_more"`
	FirstID *string     `json:"first_id"`
	LastID  *string     `json:"last_id"`
}

// ModelInfo is one model. Times are in the form of RFC 3339; what is not known is null.
type ModelInfo struct {
	Type           string            `json:"type"`
	ID             string            `json:"id"`
	DisplayName    string            `json:"display_name"`
	CreatedAt      string            `json:"created_at"` // the beginning of 1970 where it is not known
	MaxInputTokens *int64            `json:"max_input_tokens"`
	MaxTokens      *int64            `json:"max_tokens"`
	Lifecycle      string            `json:"lifecycle"`
	DeprecatedAt   *string           `json:"deprecated_at"`
	RetiresAt      *string           `json:"retires_at"`
	Line           *string           `json:"line"`
	Capabilities   ModelCapabilities `json:"capabilities"`
}

// ModelCapabilities are what a model can do behind this gateway.
type ModelCapabilities struct {
	Batch             Supported         `json:"batch"`
	Citations         Supported         `json:"citations"`
	CodeExecution     Supported         `json:"code_execution"`
	ContextManagement ContextManagement `json:"context_management"`
	Effort            EffortCapability  `json:"effort"`
	ImageInput        Supported         `json:"image_input"`
	PDFInput          Supported         `json:"pdf_input"`
	ServerTools       ServerTools       `json:"server_tools"`
	StructuredOutputs Supported         `json:"structured_outputs"`
	Thinking          Thinking          `json:"thinking"`
}

// Supported says whether a model can do something.
type Supported struct {
	Supported bool `json:"supported"`
}

// ContextManagement says which edits of a conversation can be asked for.
type ContextManagement struct {
	Supported     bool      `json:"supported"`
	ClearThinking Supported `json:"clear_thinking_20251015"`
	ClearToolUses Supported `json:"clear_tool_uses_20250919"`
	Compact       Supported `json:"compact_20260112"`
}

// EffortCapability says which efforts can be asked for.
type EffortCapability struct {
	Supported bool      `json:"supported"`
	Low       Supported `json:"low"`
	Medium    Supported `json:"medium"`
	High      Supported `json:"high"`
	XHigh     Supported `json:"xhigh"`
	Max       Supported `json:"max"`
}

// ServerTools says which tools the provider runs.
type ServerTools struct {
	Supported     bool      `json:"supported"`
	CodeExecution Supported `json:"code_execution"`
	WebSearch     Supported `json:"web_search"`
}

// Thinking says in which ways thinking can be asked for.
type Thinking struct {
	Supported bool          `json:"supported"`
	Types     ThinkingTypes `json:"types"`
}

// ThinkingTypes are the values of a request's thinking.type.
type ThinkingTypes struct {
	Adaptive     Supported `json:"adaptive"`
	BetweenTools Supported `json:"between_tools"`
	Disabled     Supported `json:"disabled"`
	Enabled      Supported `json:"enabled"`
}
