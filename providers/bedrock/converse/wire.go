package converse

import "github.com/go-json-experiment/json/jsontext"

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// request is the body of Converse and ConverseStream.
type request struct {
	prompt
	Inference struct {
		MaxTokens     *int64   `json:"maxTokens,omitzero"`
		Temperature   *float64 `json:"temperature,omitzero"`
		TopP          *float64 `json:"topP,omitzero"`
		StopSequences []string `json:"stopSequences,omitempty"`
	} `json:"inferenceConfig,omitzero"`
	Output     jsontext.Value `json:"outputConfig,omitzero"`
	Guardrail  jsontext.Value `json:"guardrailConfig,omitzero"`
	Additional jsontext.Value `json:"additionalModelRequestFields,omitzero"` // in the form of the model's vendor
	Tier       typed          `json:"serviceTier,omitzero"`
}

// prompt is the part of a request that is counted.
type prompt struct {
	System   []block     `json:"system,omitempty"`
	Messages []message   `json:"messages"`
	Tools    *toolConfig `json:"toolConfig,omitzero"`
}

type typed struct {
	Type string `json:"type"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a block of a request or an answer, of which one member is set.
type block struct {
	Text       string      `json:"text,omitempty"`
	Image      *media      `json:"image,omitzero"`
	Document   *media      `json:"document,omitzero"`
	Audio      *media      `json:"audio,omitzero"`
	ToolUse    *toolUse    `json:"toolUse,omitzero"`
	ToolResult *toolResult `json:"toolResult,omitzero"`
	Reasoning  *reasoning  `json:"reasoningContent,omitzero"`
	CachePoint *typed      `json:"cachePoint,omitzero"`
	Cited      *struct {
		Content []block `json:"content"`
	} `json:"citationsContent,omitzero"`
}

type media struct {
	Format string `json:"format"`
	Name   string `json:"name,omitempty"` // of a document
	Source source `json:"source"`
}

type source struct {
	Bytes string `json:"bytes"` // base64
}

type toolUse struct {
	ID    string         `json:"toolUseId"`
	Name  string         `json:"name"`
	Input jsontext.Value `json:"input"`
}

type toolResult struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
	Status  string  `json:"status,omitempty"`
}

type reasoning struct {
	Text     *reasoningText `json:"reasoningText,omitzero"`
	Redacted string         `json:"redactedContent,omitempty"` // base64
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

type toolConfig struct {
	Tools  []tool         `json:"tools"`
	Choice jsontext.Value `json:"toolChoice,omitzero"`
}

type tool struct {
	Spec toolSpec `json:"toolSpec"`
}

type toolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Input       struct {
		JSON jsontext.Value `json:"json"`
	} `json:"inputSchema"`
	Strict bool `json:"strict,omitzero"`
}

// event is any event of a stream.
type event struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse *toolUse `json:"toolUse"`
	} `json:"start"`
	Delta struct {
		Text    string `json:"text"`
		ToolUse struct {
			Input string `json:"input"` // a fragment of JSON
		} `json:"toolUse"`
		Reasoning struct {
			reasoningText
			Redacted string `json:"redactedContent"`
		} `json:"reasoningContent"`
	} `json:"delta"`
	ending
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// ending is what stands behind the content. In a stream the reason has an event of its own.
type ending struct {
	StopReason string `json:"stopReason"`
	Usage      *usage `json:"usage"`
	Tier       typed  `json:"serviceTier"`
}

// wholeAnswer is an answer that is not a stream.
type wholeAnswer struct {
	Output struct {
		Message message `json:"message"`
	} `json:"output"`
	ending
}

// usage is the tokens of an answer.
type usage struct {
	Input      int64  `json:"inputTokens"` // without the following two
	CacheRead  *int64 `json:"cacheReadInputTokens"`
	CacheWrite *int64 `json:"cacheWriteInputTokens"`
	Output     int64  `json:"outputTokens"`
}
