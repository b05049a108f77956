package simulator

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// checkMessages wants what every conversation must have.
func (q *anthropicRequest) checkMessages() *failure {
	if len(q.Messages) == 0 {
		return anthropicRefusal("messages: at least one message is required")
	}
	if q.Messages[0].Role != "user" {
		return anthropicRefusal("messages: first message must use the \"user\" role")
	}
	for i, m := range q.Messages {
		last := i == len(q.Messages)-1
		if m.Role == "system" && !rulesOf(q.Model).systemTurns {
			return anthropicRefusal("messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.")
		}
		if len(m.blocks) == 0 && (m.Role != "assistant" || !last) {
			return anthropicRefusal("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		for n, b := range m.blocks {
			if f := b.check(fmt.Sprintf("messages.%d.content.%d", i, n), m.Role); f != nil {
				return f
			}
		}
	}
	for _, raw := range elements(q.System) {
		b := anthropicBlock{Text: text(member(raw, "text"))}
		if f := b.checkText("system"); f != nil {
			return f
		}
	}
	return q.checkPrefill()
}

func (q *anthropicRequest) checkPrefill() *failure {
	last := q.Messages[len(q.Messages)-1]
	if last.Role != "assistant" {
		return nil
	}
	if !rulesOf(q.Model).prefill {
		return anthropicRefusal("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	for _, b := range last.blocks {
		if strings.TrimRight(b.Text, " \t\r\n") != b.Text {
			return anthropicRefusal("messages: final assistant content cannot end with trailing whitespace")
		}
	}
	return nil
}

var anthropicID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func (b anthropicBlock) check(at, role string) *failure {
	spoken := b.Type == "tool_use" || b.Type == "thinking" || b.Type == "redacted_thinking"
	if b.Type != "text" && spoken != (role == "assistant") {
		return anthropicRefusal("%s: `%s` blocks may not be in %s messages", at, b.Type, role)
	}
	switch b.Type {
	case "text":
		return b.checkText("messages")
	case "tool_use":
		if !anthropicID.MatchString(b.ID) {
			return anthropicRefusal("%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
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

func (b anthropicBlock) checkText(at string) *failure {
	if b.Text == "" {
		return anthropicRefusal("%s: text content blocks must be non-empty", at)
	}
	if strings.TrimSpace(b.Text) == "" {
		return anthropicRefusal("%s: text content blocks must contain non-whitespace text", at)
	}
	return nil
}

// checkSource looks into base64: it must be some, and an image what it is said
// to be.
func (b anthropicBlock) checkSource(at string) *failure {
	if text(member(b.Source, "type")) != "base64" {
		return nil
	}
	at = fmt.Sprintf("%s.%s.source.base64.data", at, b.Type)
	data, err := base64.StdEncoding.DecodeString(text(member(b.Source, "data")))
	if err != nil || len(data) == 0 {
		return anthropicRefusal("%s: Invalid base64 data", at)
	}
	said, found := text(member(b.Source, "media_type")), http.DetectContentType(data)
	if strings.HasPrefix(found, "image/") && found != said {
		return anthropicRefusal("%s: The image was specified using the %s media type, but the image appears to be a %s image", at, said, found)
	}
	return nil
}

// checkToolTurns wants each call answered at the head of the very next message,
// and nothing else answered.
func (q *anthropicRequest) checkToolTurns() *failure {
	var open []string
	for i, m := range q.Messages {
		answers := 0
		for _, b := range m.blocks {
			if b.Type != "tool_result" {
				break
			}
			answers++
		}
		answered := m.blocks[:answers]
		for n, b := range m.blocks {
			if b.Type == "tool_result" && !slices.Contains(open, b.ToolUseID) {
				return anthropicRefusal("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, n, b.ToolUseID)
			}
		}
		if f := checkAnswers(i, open, answered); f != nil {
			return f
		}
		open = nil
		for n, b := range m.blocks {
			if b.Type != "tool_use" {
				continue
			}
			if slices.Contains(open, b.ID) {
				return anthropicRefusal("messages.%d.content.%d: `tool_use` ids must be unique", i, n)
			}
			open = append(open, b.ID)
		}
	}
	return checkAnswers(len(q.Messages), open, nil)
}

func checkAnswers(message int, open []string, answered []anthropicBlock) *failure {
	count := map[string]int{}
	for n, b := range answered {
		if count[b.ToolUseID]++; count[b.ToolUseID] > 1 {
			return anthropicRefusal("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", message, n, b.ToolUseID)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(open), func(id string) bool { return count[id] > 0 })
	if len(missing) == 0 {
		return nil
	}
	return anthropicRefusal("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", message-1, strings.Join(missing, ", "))
}

// checkThinkingTurns wants the thinking of the assistant's latest turn back, as
// it was, while a tool loop goes on. Thinking of earlier turns does not matter.
func (q *anthropicRequest) checkThinkingTurns() *failure {
	last := len(q.Messages) - 1
	if !q.thinks() || last < 1 || q.Messages[last].Role != "user" || q.Messages[last-1].Role != "assistant" {
		return nil
	}
	if blocks := q.Messages[last].blocks; blocks[0].Type != "tool_result" {
		return nil
	}
	turn := q.Messages[last-1].blocks
	if q.Thinking != nil && q.Thinking.Type == "enabled" && turn[0].Type != "thinking" && turn[0].Type != "redacted_thinking" {
		return anthropicRefusal("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).", last-1, turn[0].Type)
	}
	for n, b := range turn {
		if b.Type != "thinking" {
			continue
		}
		kept, signed := readSignature(b.Signature)
		if !signed {
			return anthropicRefusal("messages.%d.content.%d: Invalid `signature` in `thinking` block", last-1, n)
		}
		if kept != thinkingSum(b.Thinking) {
			return anthropicRefusal("messages.%d.content.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", last-1, n)
		}
	}
	return nil
}

const signatureMark = "simulated signature "

// sign makes the signature of a thinking block, which only says that nobody
// changed it.
func sign(thinking string) string {
	return base64.StdEncoding.EncodeToString([]byte(signatureMark + thinkingSum(thinking)))
}

func readSignature(signature string) (sum string, ok bool) {
	data, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(data), signatureMark)
}

func thinkingSum(thinking string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(thinking)))
}
