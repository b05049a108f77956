package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"modelgateway/models/api"
)

// silentUser fails where messages of the user without text stood at the end
// of a conversation: without them the answer before would be taken for one
// that has been begun.
func (t *translation) silentUser() error {
	for i := len(t.req.Messages) - 1; i >= 0; i-- {
		switch m := &t.req.Messages[i]; {
		case m.Role == roleUser:
			return api.Invalid(api.CodeInvalidValue, fmt.Sprintf("messages[%d]", i),
				"messages[%d] of the user says nothing: the model %s needs some text to answer", i, t.model.ID)
		case m.Role == roleAssistant && speaks(m):
			return nil
		}
	}
	return nil
}

// speaks says whether anything of an assistant's message is sent on.
func speaks(m *api.Message) bool {
	said := strings.TrimSpace(m.Content.Text()+m.Refusal) != "" || len(m.ToolCalls) > 0 || m.FunctionCall != nil
	return said || slices.ContainsFunc(m.Content.Parts, func(p api.ContentPart) bool {
		return strings.TrimSpace(p.Text+p.Refusal) != ""
	})
}

// lastTurn sees to a conversation that ends with the assistant: the beginning
// of its answer, which not every model goes on with.
func (t *translation) lastTurn() error {
	last := &t.out.Messages[len(t.out.Messages)-1]
	if last.Role != roleAssistant {
		return nil
	}
	at := len(t.req.Messages) - 1
	for at > 0 && t.req.Messages[at].Role != roleAssistant {
		at--
	}
	param := fmt.Sprintf("messages[%d]", at)
	end := &last.Content[len(last.Content)-1]
	switch {
	case end.Type == "tool_use":
		return api.Invalid(api.CodeInvalidValue, param, "%s has tool calls that no tool message answers", param)
	case !t.traits.Prefill:
		return unsupported(param, "the model %s does not go on with an answer that has been begun: "+
			"the conversation must end with a message of the user", t.model.ID)
	}
	end.Text = strings.TrimRight(end.Text, " \t\r\n\v\f") // refused by Anthropic
	return nil
}
