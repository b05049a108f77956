package chat

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Chunk is one event of a stream. An Emitter reuses the chunk it yields.
type Chunk struct {
	ID                string         `json:"id"`
	Object            string         `json:"object"`
	Created           int64          `json:"created"` // Unix seconds
	Model             string         `json:"model"`
	Choices           []ChunkChoice  `json:"choices"` // empty in the usage chunk only
	Usage             *Usage         `json:"usage,omitzero"`
	ServiceTier       string         `json:"service_tier,omitempty"`
	SystemFingerprint string         `json:"system_fingerprint,omitempty"`
	Extra             jsontext.Value `json:",embed"`
}

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
	Extra        jsontext.Value `json:",embed"`
}

// FunctionDelta is a fragment of a function call's arguments.
type FunctionDelta struct {
	Name      string         `json:"name,omitempty"`
	Arguments string         `json:"arguments"`
	Extra     jsontext.Value `json:",embed"`
}

// Texts is everything that a delta says, one text after the other.
func (d *Delta) Texts() string {
	if d.Content != nil && d.Refusal == nil && d.ReasoningContent == "" && len(d.ToolCalls) == 0 && d.FunctionCall == nil {
		return *d.Content // as most do
	}
	var b strings.Builder
	if d.Content != nil {
		b.WriteString(*d.Content)
	}
	if d.Refusal != nil {
		b.WriteString(*d.Refusal)
	}
	b.WriteString(d.ReasoningContent)
	for i := range d.ToolCalls {
		if f := d.ToolCalls[i].Function; f != nil {
			b.WriteString(f.Name + f.Arguments)
		}
		b.Write(d.ToolCalls[i].Custom)
	}
	if f := d.FunctionCall; f != nil {
		b.WriteString(f.Name + f.Arguments)
	}
	return b.String()
}
