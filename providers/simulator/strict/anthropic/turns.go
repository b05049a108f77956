package anthropic

import (
	"encoding/base64"
	"slices"
	"strings"

	simulated "modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/wire"
)

// checkToolTurns requires each call answered at the head of the very next
// message, and nothing else answered.
func (q *request) checkToolTurns() *wire.Failure {
	var open []string
	for i, t := range q.turns {
		for n, b := range t.blocks {
			if b.Type == "tool_result" && !slices.Contains(open, b.ToolUseID) {
				return simulated.Refusal("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
					"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, n, b.ToolUseID)
			}
		}
		if f := checkResults(i, open, t.results()); f != nil {
			return f
		}
		open = nil
		for n, b := range t.blocks {
			if b.Type != "tool_use" {
				continue
			}
			if slices.Contains(open, b.ID) {
				return simulated.Refusal("messages.%d.content.%d: `tool_use` ids must be unique", i, n)
			}
			open = append(open, b.ID)
		}
	}
	return checkResults(len(q.turns), open, nil)
}

// results are the blocks at the head of the turn that answer calls.
func (t turn) results() []block {
	n := slices.IndexFunc(t.blocks, func(b block) bool { return b.Type != "tool_result" })
	if n < 0 {
		return t.blocks
	}
	return t.blocks[:n]
}

func checkResults(message int, open []string, results []block) *wire.Failure {
	count := map[string]int{}
	for n, b := range results {
		if count[b.ToolUseID]++; count[b.ToolUseID] > 1 {
			return simulated.Refusal("messages.%d.content.%d: each tool_use must have a single result. "+
				"Found multiple `tool_result` blocks with id: %s", message, n, b.ToolUseID)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(open), func(id string) bool { return count[id] > 0 })
	if len(missing) == 0 {
		return nil
	}
	return simulated.Refusal("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", message-1, strings.Join(missing, ", "))
}

// checkThinkingTurns requires the thinking of the assistant's latest turn back,
// unchanged, while a tool loop goes on. Thinking of earlier turns is not checked.
func (q *request) checkThinkingTurns() *wire.Failure {
	last := len(q.turns) - 1
	if !q.Thinks() || last < 1 || q.turns[last].role != "user" || q.turns[last-1].role != "assistant" {
		return nil
	}
	if q.turns[last].blocks[0].Type != "tool_result" {
		return nil
	}
	blocks := q.turns[last-1].blocks
	manual := q.Thinking != nil && q.Thinking.Type == "enabled"
	if manual && blocks[0].Type != "thinking" && blocks[0].Type != "redacted_thinking" {
		return simulated.Refusal("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. "+
			"When `thinking` is enabled, a final `assistant` message must start with a thinking block "+
			"(preceding the lastmost set of `tool_use` and `tool_result` blocks).", last-1, blocks[0].Type)
	}
	for n, b := range blocks {
		if b.Type != "thinking" {
			continue
		}
		if !isSignature(b.Signature) {
			return simulated.Refusal("messages.%d.content.%d: Invalid `signature` in `thinking` block", last-1, n)
		}
		if b.Signature != simulated.Sign(b.Thinking) {
			return simulated.Refusal("messages.%d.content.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message "+
				"cannot be modified. These blocks must remain as they were in the original response.", last-1, n)
		}
	}
	return nil
}

// isSignature reports whether a signature comes from simulated.Sign, for any thinking.
func isSignature(signature string) bool {
	data, err := base64.StdEncoding.DecodeString(signature)
	return err == nil && strings.HasPrefix(string(data), simulated.SignatureMark)
}
