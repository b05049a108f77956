package chat

import (
	"fmt"
	"slices"
	"strings"

	"modelgateway/api"
)

var (
	roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

	userParts      = []string{"text", "image_url", "input_audio", "file"}
	assistantParts = []string{"text", "refusal"}
	textParts      = []string{"text"}
	// OpenAI takes only text here; Anthropic and Gemini also take pictures and
	// documents as the result of a tool.
	toolParts = []string{"text", "image_url", "file"}
)

func (m *Message) validate(at string) error {
	if !slices.Contains(roles, m.Role) {
		return api.NotOneOf(at+".role", m.Role, roles)
	}
	for i := range m.ToolCalls {
		if err := m.ToolCalls[i].validate(fmt.Sprintf("%s.tool_calls[%d]", at, i)); err != nil {
			return err
		}
	}
	if m.Role == "tool" && m.ToolCallID == "" {
		return api.Missing(at + ".tool_call_id")
	}
	if m.Role == "function" && m.Name == "" {
		return api.Missing(at + ".name")
	}
	if !m.Content.Set && m.Role != "assistant" && m.Role != "function" {
		return api.Missing(at + ".content")
	}
	return m.Content.validate(at + ".content")
}

// parts are the types of parts that a translation knows in a message of this role.
func (m *Message) parts() []string {
	switch m.Role {
	case "user":
		return userParts
	case "assistant":
		return assistantParts
	case "tool":
		return toolParts
	default:
		return textParts
	}
}

func (t *ToolCall) validate(at string) error {
	if t.ID == "" {
		return api.Missing(at + ".id")
	}
	if t.Type != "function" && t.Type != "" {
		return nil
	}
	if t.Function == nil {
		return api.Missing(at + ".function")
	}
	if t.Function.Name == "" {
		return api.Missing(at + ".function.name")
	}
	return nil
}

func (c *Content) validate(at string) error {
	for i := range c.Parts {
		if err := c.Parts[i].validate(fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

func (p *ContentPart) validate(at string) error {
	switch p.Type {
	case "":
		return api.Missing(at + ".type")
	case "image_url":
		return p.ImageURL.validate(at + ".image_url")
	case "input_audio":
		return p.InputAudio.validate(at + ".input_audio")
	case "file":
		if p.File == nil || p.File.FileData == "" && p.File.FileID == "" {
			return api.Missing(at + ".file.file_data")
		}
	}
	return nil
}

func (u *ImageURL) validate(at string) error {
	if u == nil || u.URL == "" {
		return api.Missing(at + ".url")
	}
	for _, scheme := range []string{"https://", "http://", "data:"} {
		if strings.HasPrefix(u.URL, scheme) {
			return nil
		}
	}
	return api.Invalid(api.CodeInvalidValue, at+".url", "%s.url must be a web address or a data URL", at)
}

func (a *InputAudio) validate(at string) error {
	if a == nil || a.Data == "" {
		return api.Missing(at + ".data")
	}
	if a.Format == "" {
		return api.Missing(at + ".format")
	}
	return nil
}
