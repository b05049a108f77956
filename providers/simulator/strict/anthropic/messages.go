package anthropic

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	simulated "modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/wire"
)

func (q *request) checkMessages() *wire.Failure {
	if len(q.turns) == 0 {
		return simulated.Refusal("messages: at least one message is required")
	}
	if q.turns[0].role != "user" {
		return simulated.Refusal("messages: first message must use the \"user\" role")
	}
	for i, t := range q.turns {
		last := i == len(q.turns)-1
		if t.role == "system" && !q.model.systemTurns {
			return simulated.Refusal("messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, " +
				"not \"system\" as an input message role.")
		}
		if len(t.blocks) == 0 && (t.role != "assistant" || !last) {
			return simulated.Refusal(
				"messages.%d: all messages must have non-empty content except for the optional final assistant message",
				i,
			)
		}
		for n, b := range t.blocks {
			if f := b.check(fmt.Sprintf("messages.%d.content.%d", i, n), t.role); f != nil {
				return f
			}
		}
	}
	for _, raw := range rawjson.Elements(q.System) {
		b := block{Text: rawjson.GetString(raw, "text")}
		if f := b.checkText("system"); f != nil {
			return f
		}
	}
	return q.checkPrefill()
}

func (q *request) checkPrefill() *wire.Failure {
	last := q.turns[len(q.turns)-1]
	if last.role != "assistant" {
		return nil
	}
	if !q.model.prefill {
		return simulated.Refusal("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	for _, b := range last.blocks {
		if strings.TrimRight(b.Text, " \t\r\n") != b.Text {
			return simulated.Refusal("messages: final assistant content cannot end with trailing whitespace")
		}
	}
	return nil
}

var idPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func (b block) check(at, role string) *wire.Failure {
	ofAssistant := slices.Contains([]string{"tool_use", "thinking", "redacted_thinking", "server_tool_use", "compaction"}, b.Type) ||
		b.Type != "tool_result" && strings.HasSuffix(b.Type, "_tool_result")
	if b.Type != "text" && ofAssistant != (role == "assistant") {
		return simulated.Refusal("%s: `%s` blocks may not be in %s messages", at, b.Type, role)
	}
	switch b.Type {
	case "text":
		return b.checkText("messages")
	case "tool_use":
		if !idPattern.MatchString(b.ID) {
			return simulated.Refusal("%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
		}
	case "image", "document":
		return b.checkSource(at)
	case "tool_result":
		for i, part := range readBlocks(b.Content) {
			if part.Type == "text" && part.Text == "" && b.Content.Kind() == '[' {
				return part.checkText("messages")
			}
			inner := fmt.Sprintf("%s.tool_result.content.%d", at, i)
			if f := part.checkSource(inner); f != nil {
				return f
			}
		}
	}
	return nil
}

func (b block) checkText(at string) *wire.Failure {
	if b.Text == "" {
		return simulated.Refusal("%s: text content blocks must be non-empty", at)
	}
	if strings.TrimSpace(b.Text) == "" {
		return simulated.Refusal("%s: text content blocks must contain non-whitespace text", at)
	}
	return nil
}

// checkSource requires valid base64, and that the data of an image is of the
// stated media type.
func (b block) checkSource(at string) *wire.Failure {
	if rawjson.GetString(b.Source, "type") != "base64" {
		return nil
	}
	at = fmt.Sprintf("%s.%s.source.base64.data", at, b.Type)
	data, err := base64.StdEncoding.DecodeString(rawjson.GetString(b.Source, "data"))
	if err != nil || len(data) == 0 {
		return simulated.Refusal("%s: Invalid base64 data", at)
	}
	declared, found := rawjson.GetString(b.Source, "media_type"), http.DetectContentType(data)
	if strings.HasPrefix(found, "image/") && found != declared {
		return simulated.Refusal("%s: The image was specified using the %s media type, but the image appears to be a %s image",
			at, declared, found)
	}
	return nil
}
