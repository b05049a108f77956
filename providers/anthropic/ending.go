package anthropic

import (
	"slices"
	"strings"

	"modelgateway/api"
	"modelgateway/llm"
)

// silentUser fails where the conversation ends with the assistant only because
// the user's messages after it have no text: the model would continue the
// answer before them.
func (t *translation) silentUser() error {
	for _, m := range slices.Backward(t.conversation.Messages) {
		switch {
		case m.Role == llm.RoleUser && !hasResult(&m):
			at := t.path(llm.FieldMessage, m.At)
			return api.Invalid(api.CodeInvalidValue, at,
				"%s has no text: the model %s needs a text to answer", at, t.model.ID)
		case m.Role == llm.RoleAssistant && speaks(&m):
			return nil
		}
	}
	return nil
}

func hasResult(m *llm.Message) bool {
	return slices.ContainsFunc(m.Blocks, func(b llm.Block) bool { return b.Kind == llm.BlockResult })
}

// speaks reports whether any part of an assistant's message is sent to the
// upstream.
func speaks(m *llm.Message) bool {
	for i := range m.Blocks {
		switch b := &m.Blocks[i]; b.Kind {
		case llm.BlockText, llm.BlockRefusal:
			if !empty(b) {
				return true
			}
		case llm.BlockCall:
			return true
		}
	}
	return false
}

// lastTurn checks a conversation that ends with the assistant: not every model
// continues an answer that the client has begun.
func (t *translation) lastTurn() error {
	last := &t.out.Messages[len(t.out.Messages)-1]
	if last.Role != roleAssistant {
		return nil
	}
	at := t.path(llm.FieldMessage, t.lastAssistant())
	end := &last.Content[len(last.Content)-1]
	switch {
	case end.Type == "tool_use":
		return api.Invalid(api.CodeInvalidValue, at, "%s has tool calls that no tool message answers", at)
	case !t.traits.Prefill:
		return api.Invalid(api.CodeUnsupportedValue, at, "the model %s does not continue an answer: "+
			"the conversation must end with a message of the user", t.model.ID)
	}
	end.Text = strings.TrimRight(end.Text, " \t\r\n\v\f") // Anthropic refuses white space at the end
	return nil
}

// lastAssistant is the place of the assistant's last message.
func (t *translation) lastAssistant() llm.At {
	for _, m := range slices.Backward(t.conversation.Messages) {
		if m.Role == llm.RoleAssistant {
			return m.At
		}
	}
	return llm.Anywhere
}
