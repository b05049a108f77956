package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
)

// event is one event of a stream: a chunk or an error.
type event struct {
	ID                string         `json:"id"`
	Created           int64          `json:"created"`
	Model             string         `json:"model"`
	Choices           []eventChoice  `json:"choices"`
	Usage             *chat.Usage    `json:"usage"`
	ServiceTier       string         `json:"service_tier"`
	SystemFingerprint string         `json:"system_fingerprint"`
	Object            string         `json:"object"`
	Error             *problem       `json:"error"`
	Obfuscation       string         `json:"obfuscation"` // padding, dropped
	Extra             jsontext.Value `json:",embed"`
}

type eventChoice struct {
	Index        int            `json:"index"`
	Delta        eventDelta     `json:"delta"`
	Logprobs     jsontext.Value `json:"logprobs"`
	FinishReason string         `json:"finish_reason"`
	Extra        jsontext.Value `json:",embed"`
}

type eventDelta struct {
	Role             string                 `json:"role"`
	Content          *string                `json:"content"`
	Refusal          *string                `json:"refusal"`
	ReasoningContent string                 `json:"reasoning_content"`
	ReasoningDetails []chat.ReasoningDetail `json:"reasoning_details"`
	ToolCalls        []eventCall            `json:"tool_calls"`
	FunctionCall     *chat.FunctionDelta    `json:"function_call"`
	Images           []chat.Image           `json:"images"`
	Extra            jsontext.Value         `json:",embed"`
}

// delta is what the event adds but for tool calls, in the words of the API.
func (d *eventDelta) delta() chat.Delta {
	out := chat.Delta{
		Content: d.Content, Refusal: d.Refusal, ReasoningContent: d.ReasoningContent,
		ReasoningDetails: d.ReasoningDetails, FunctionCall: d.FunctionCall, Images: d.Images, Extra: d.Extra,
	}
	nameReasoning(&out.ReasoningContent, &out.Extra)
	return out
}

type eventCall struct {
	Index        *int                `json:"index"` // compatible servers leave it out
	ID           string              `json:"id"`
	Type         string              `json:"type"`
	Function     *chat.FunctionDelta `json:"function"`
	Custom       jsontext.Value      `json:"custom"`
	ExtraContent *chat.ExtraContent  `json:"extra_content"`
	Extra        jsontext.Value      `json:",embed"`
}

// prologue reports whether an event has neither choices, id, model nor usage,
// as Azure's first event: the head of all chunks is read from the next event,
// and an error may still follow.
func (e *event) prologue() bool {
	return e.ID == "" && e.Model == "" && len(e.Choices) == 0 && e.Usage == nil
}

// bare says whether a delta adds nothing to its choice.
func (d *eventDelta) bare() bool {
	return (d.Content == nil || *d.Content == "") && (d.Refusal == nil || *d.Refusal == "") && d.ReasoningContent == "" &&
		len(d.ReasoningDetails) == 0 && len(d.ToolCalls) == 0 && d.FunctionCall == nil && len(d.Images) == 0 && len(d.Extra) == 0
}
