package chat

import (
	"fmt"
	"slices"

	"modelgateway/api"
)

// Values of enumerations that this version does not know are no fault of a request:
// OpenAI and servers that copy its API get new ones all the time, and judge them.
// Only a translation has to know them, and a call whose cost is limited.
var (
	efforts      = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	formatTypes  = []string{"text", "json_object", "json_schema"}
	choiceModes  = []string{"none", "auto", "required", "named", "custom", "allowed"}
	choiceTypes  = []string{"function", "custom", "allowed_tools"}
	toolTypes    = []string{"function", "custom"}
	soundFormats = []string{"wav", "mp3"}
)

// unknownValue is the error for the first value that is none of its enumeration; nil
// where there is none.
func (r *Request) unknownValue() *api.Error {
	if r.ReasoningEffort != "" && !slices.Contains(efforts, r.ReasoningEffort) {
		return api.NotOneOf("reasoning_effort", r.ReasoningEffort, efforts)
	}
	if f := r.ResponseFormat; f != nil && !slices.Contains(formatTypes, f.Type) {
		return api.NotOneOf("response_format.type", f.Type, formatTypes)
	}
	for i := range r.Tools {
		if t := r.Tools[i].Type; !slices.Contains(toolTypes, t) {
			return api.NotOneOf(fmt.Sprintf("tools[%d].type", i), t, toolTypes)
		}
	}
	if t := r.ToolChoice; t != nil && t.Type != "" && !slices.Contains(choiceTypes, t.Type) {
		return api.NotOneOf("tool_choice", t.Type, choiceTypes)
	}
	if t := r.ToolChoice; t != nil && !slices.Contains(choiceModes, t.Mode) {
		return api.NotOneOf("tool_choice", t.Mode, choiceModes[:3])
	}
	for i := range r.Messages {
		if err := r.Messages[i].unknownValue(i); err != nil {
			return err
		}
	}
	return nil
}

func (m *Message) unknownValue(at int) *api.Error {
	for i := range m.ToolCalls {
		if t := m.ToolCalls[i].Type; t != "" && !slices.Contains(toolTypes, t) {
			return api.NotOneOf(fmt.Sprintf("messages[%d].tool_calls[%d].type", at, i), t, toolTypes)
		}
	}
	allowed := m.parts()
	for i := range m.Content.Parts {
		p := &m.Content.Parts[i]
		if !slices.Contains(allowed, p.Type) {
			return api.NotOneOf(fmt.Sprintf("messages[%d].content[%d].type", at, i), p.Type, allowed)
		}
		if p.InputAudio != nil && !slices.Contains(soundFormats, p.InputAudio.Format) {
			return api.NotOneOf(fmt.Sprintf("messages[%d].content[%d].input_audio.format", at, i), p.InputAudio.Format, soundFormats)
		}
	}
	return nil
}
