package chat

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
)

// composeMessages writes the conversation. Instructions stay where they are: as
// messages of the role system, which every model takes and newer ones read as
// developer.
func (c *composition) composeMessages() error {
	w := &messageWriter{c: c, OpenCalls: compose.OpenCalls{Request: c.Request}}
	for i := range c.Conversation.Messages {
		if err := w.add(&c.Conversation.Messages[i]); err != nil {
			return err
		}
	}
	if err := w.CheckEnd(c.Conversation); err != nil {
		return err
	}
	w.answered()
	if len(c.out.Messages) == 0 {
		return c.Invalid(llm.FieldMessages, llm.Anywhere, "the messages have no content")
	}
	return nil
}

// messageWriter is the state between messages. Of the results of a turn each is a
// message, and nothing may come between them.
type messageWriter struct {
	compose.OpenCalls
	c *composition

	media []contentPart // of the results, for a message of the user behind them
	held  []message     // instructions, for behind them
}

func (w *messageWriter) add(m *llm.Message) error {
	w.c.IgnoreIf(len(m.Cache) > 0, llm.FieldMessageCache)
	switch m.Role {
	case llm.RoleInstructions:
		return w.instructions(m)
	case llm.RoleAssistant:
		return w.assistant(m)
	}
	return w.user(m)
}

// put adds a message that is neither instructions nor a result.
func (w *messageWriter) put(m message, at llm.At) error {
	if w.Open > 0 {
		return w.Unanswered(at)
	}
	w.answered()
	w.c.out.Messages = append(w.c.out.Messages, m)
	return nil
}

// answered adds what had to wait for the results.
func (w *messageWriter) answered() {
	if len(w.media) > 0 {
		w.c.out.Messages = append(w.c.out.Messages, message{Role: "user", Content: contentOf(w.media)})
	}
	w.c.out.Messages = append(w.c.out.Messages, w.held...)
	w.media, w.held = nil, nil
	w.Forget()
}

func (w *messageWriter) instructions(m *llm.Message) error {
	parts, err := w.c.parts(m, m.Blocks)
	if err != nil || len(parts) == 0 {
		return err
	}
	out := message{Role: "system", Content: contentOf(parts)}
	if w.Open > 0 {
		w.held = append(w.held, out)
		return nil
	}
	return w.put(out, m.At)
}

func (w *messageWriter) assistant(m *llm.Message) error {
	var parts []contentPart
	var calls []compose.OpenCall
	out := message{Role: "assistant"}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		w.c.IgnoreCache(b, m.Cache)
		switch b.Kind {
		case llm.BlockText:
			if parts = appendText(parts, b.Text); b.Text != "" && len(b.Cache) > 0 {
				w.c.breakAt(&parts[len(parts)-1])
			}
		case llm.BlockRefusal:
			parts = append(parts, contentPart{Type: "refusal", Refusal: b.Text})
		case llm.BlockCall:
			id := w.c.IDs.Unique(b.Call.ID)
			calls = append(calls, compose.OpenCall{Call: b.Call, ID: id})
			out.ToolCalls = append(out.ToolCalls, w.c.toolCall(b.Call, id))
		case llm.BlockThought: // another provider's is never shown to this one
			own := b.Thought.Format == wire.ThoughtFormat(w.c.Model)
			if own && w.c.Server.Reasoning != "" {
				out.Reasoning += b.Thought.Text
				continue
			}
			w.c.IgnoreIf(own, llm.FieldThought) // chat completions take none back
		case llm.BlockMedia:
			w.c.IgnoreIf(true, llm.FieldMessageImages)
		case llm.BlockHosted, llm.BlockResult:
			w.c.IgnoreIf(true, llm.FieldPartType)
		}
	}
	out.Content = contentOf(parts)
	if len(parts) == 0 && len(calls) == 0 {
		return nil
	}
	if err := w.put(out, m.At); err != nil {
		return err
	}
	w.Await(calls, m.At)
	return nil
}

func (c *composition) toolCall(call *llm.Call, id string) toolCall {
	out := toolCall{ID: id, Type: "function"}
	if call.Kind == llm.ToolCustom {
		out.Type, out.Custom = "custom", &customCall{Name: call.Name, Input: call.Input}
		return out
	}
	out.Function = &chat.FunctionCall{Name: c.Names.Upstream(call.Namespace, call.Name), Arguments: string(call.Arguments)}
	return out
}

// user adds the results in a message, then the rest of it.
func (w *messageWriter) user(m *llm.Message) error {
	var rest []llm.Block
	for i := range m.Blocks {
		if m.Blocks[i].Kind != llm.BlockResult {
			rest = append(rest, m.Blocks[i])
			continue
		}
		if err := w.result(m, &m.Blocks[i]); err != nil {
			return err
		}
	}
	parts, err := w.c.parts(m, rest)
	if err != nil || len(parts) == 0 {
		return err
	}
	return w.put(message{Role: "user", Content: contentOf(parts)}, m.At)
}

// contentOf is one text, or parts.
func contentOf(parts []contentPart) jsontext.Value {
	switch {
	case len(parts) == 0:
		return jsontext.Value("null")
	case len(parts) == 1 && parts[0].Type == "text" && parts[0].Breakpoint == nil:
		return wire.Quote(parts[0].Text)
	}
	return encodeParts(parts)
}
