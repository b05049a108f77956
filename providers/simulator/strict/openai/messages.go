package openai

import (
	"fmt"
	"slices"
	"strings"

	"modelgateway/providers/simulator/wire"
)

func (q *request) checkMessages() *wire.Failure {
	if len(q.Messages) == 0 {
		return refuse("messages", "empty_array",
			"Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for i, m := range q.Messages {
		silent := m.Content == nil || m.Content.Kind() == 'n'
		if m.Role == "assistant" && silent && len(m.ToolCalls) == 0 && m.FunctionCall == nil {
			return refuse(fmt.Sprintf("messages.[%d].content", i), "", "Invalid value for 'content': expected a string, got null.")
		}
		for n, c := range m.ToolCalls {
			if len(c.ID) > 40 {
				at := fmt.Sprintf("messages[%d].tool_calls[%d].id", i, n)
				return refuse(at, "string_above_max_length", "Invalid '%s': string too long. "+
					"Expected a string with maximum length 40, but instead got a string with length %d instead.", at, len(c.ID))
			}
		}
	}
	return nil
}

// checkToolTurns requires the results of all calls before any other message.
func (q *request) checkToolTurns() *wire.Failure {
	var open []string
	unanswered := func(i int) *wire.Failure {
		return refuse(fmt.Sprintf("messages.[%d].role", i), "", "An assistant message with 'tool_calls' must be followed by tool messages "+
			"responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
	}
	for i, m := range q.Messages {
		if m.Role != "tool" {
			if len(open) > 0 {
				return unanswered(i)
			}
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
			continue
		}
		at := slices.Index(open, m.ToolCallID)
		if at < 0 {
			return refuse(fmt.Sprintf("messages.[%d].role", i), "",
				"Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
		}
		open = slices.Delete(open, at, at+1)
	}
	if len(open) > 0 {
		return unanswered(len(q.Messages))
	}
	return nil
}
