package openai

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/api/chat"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
)

// composeMessages writes the conversation. Instructions stay where they are: as
// messages of the role system, which every model takes and newer ones read as
// developer.
func (c *composition) composeMessages() error {
	w := &messageWriter{c: c}
	for i := range c.conversation.Messages {
		if err := w.add(&c.conversation.Messages[i]); err != nil {
			return err
		}
	}
	if n := len(w.calls); w.open > 0 && w.open < n { // without any result the upstream is to say
		return w.unanswered(c.conversation.Messages[len(c.conversation.Messages)-1].At)
	}
	w.answered()
	if len(c.out.Messages) == 0 {
		return c.invalid(llm.FieldMessages, llm.Anywhere, "the messages have no content")
	}
	return nil
}

// messageWriter is the state between messages. Of the results of a turn each is a
// message, and nothing may come between them.
type messageWriter struct {
	c     *composition
	calls []openCall // of the last assistant's message
	open  int        // how many of them have no result
	asked llm.At     // the message with them

	media []contentPart // of the results, for a message of the user behind them
	held  []message     // instructions, for behind them
}

type openCall struct {
	call *llm.Call
	done bool
}

func (w *messageWriter) add(m *llm.Message) error {
	w.c.ignoreIf(len(m.Cache) > 0, llm.FieldMessageCache)
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
	if w.open > 0 {
		return w.unanswered(at)
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
	w.calls, w.open, w.media, w.held = nil, 0, nil, nil
}

// unanswered is the error at a message before which a call has no result.
func (w *messageWriter) unanswered(at llm.At) error {
	path := w.c.req.Source.Path
	first := slices.IndexFunc(w.calls, func(c openCall) bool { return !c.done })
	return api.Invalid(api.CodeInvalidValue, path(llm.FieldMessage, at),
		"%s has tool calls that are not answered by the tool messages after it: %.64s", path(llm.FieldMessage, w.asked), w.calls[first].call.ID)
}

func (w *messageWriter) instructions(m *llm.Message) error {
	parts, err := w.c.parts(m, m.Blocks)
	if err != nil || len(parts) == 0 {
		return err
	}
	out := message{Role: "system", Content: contentOf(parts)}
	if w.open > 0 {
		w.held = append(w.held, out)
		return nil
	}
	return w.put(out, m.At)
}

func (w *messageWriter) assistant(m *llm.Message) error {
	var parts []contentPart
	var calls []openCall
	out := message{Role: "assistant"}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		w.c.ignoreCache(b, m.Cache)
		switch b.Kind {
		case llm.BlockText:
			parts = appendText(parts, b.Text)
		case llm.BlockRefusal:
			parts = append(parts, contentPart{Type: "refusal", Refusal: b.Text})
		case llm.BlockCall:
			calls = append(calls, openCall{call: b.Call})
			out.ToolCalls = append(out.ToolCalls, w.c.toolCall(b.Call))
		case llm.BlockThought: // chat completions take none back, and another provider's mean nothing here
			w.c.ignoreIf(b.Thought.Provider == catalog.OpenAI, llm.FieldThought)
		case llm.BlockMedia:
			w.c.ignoreIf(true, llm.FieldMessageImages)
		case llm.BlockHosted, llm.BlockResult:
			w.c.ignoreIf(true, llm.FieldPartType)
		}
	}
	out.Content = contentOf(parts)
	if len(parts) == 0 && len(calls) == 0 {
		return nil
	}
	if err := w.put(out, m.At); err != nil {
		return err
	}
	w.calls, w.open, w.asked = calls, len(calls), m.At
	return nil
}

func (c *composition) toolCall(call *llm.Call) toolCall {
	out := toolCall{ID: short(call.ID), Type: "function"}
	if call.Kind == llm.ToolCustom {
		out.Type, out.Custom = "custom", &customCall{Name: call.Name, Input: call.Input}
		return out
	}
	out.Function = &chat.FunctionCall{Name: c.names.upstream(call.Namespace, call.Name), Arguments: string(call.Arguments)}
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

// result adds the result of a call. OpenAI takes texts there; images and files
// follow in a message of the user.
func (w *messageWriter) result(m *llm.Message, b *llm.Block) error {
	w.c.ignoreCache(b, m.Cache)
	call := w.take(b.Result)
	if call == nil {
		path := w.c.req.Source.Path
		return api.Invalid(api.CodeInvalidValue, path(llm.FieldResultID, b.At),
			"%s answers no open tool call of the assistant's message before it", path(llm.FieldMessage, m.At))
	}
	parts, err := w.c.parts(m, b.Result.Content)
	if err != nil {
		return err
	}
	isMedia := func(p contentPart) bool { return p.Type != "text" }
	media := slices.DeleteFunc(slices.Clone(parts), func(p contentPart) bool { return !isMedia(p) })
	texts := slices.DeleteFunc(parts, isMedia)
	id := short(call.ID)
	if len(media) > 0 {
		w.media = append(appendText(w.media, "Images and files of the result of the tool call "+id+":"), media...)
		if len(texts) == 0 {
			texts = appendText(texts, "The result follows in a message of the user.")
		}
	}
	if b.Result.IsError {
		texts = failed(texts)
	}
	out := message{Role: "tool", ToolCallID: id, Content: contentOf(texts)}
	if len(texts) == 0 {
		out.Content = quote("")
	}
	w.c.out.Messages = append(w.c.out.Messages, out)
	return nil
}

// failed marks the texts of a result as an error, for which OpenAI has no member.
func failed(texts []contentPart) []contentPart {
	const mark = "Error: "
	if len(texts) == 0 {
		return appendText(nil, strings.TrimSpace(mark))
	}
	if !strings.HasPrefix(texts[0].Text, strings.TrimSpace(mark)) {
		texts[0].Text = mark + texts[0].Text
	}
	return texts
}

// take finds the call that a result answers: by its id, or by its function where
// the client knows no ids. Some clients repeat ids: each call is answered once.
func (w *messageWriter) take(r *llm.Result) *llm.Call {
	for _, matches := range []func(*llm.Call) bool{
		func(c *llm.Call) bool { return r.ClientID != "" && c.ClientID == r.ClientID },
		func(c *llm.Call) bool {
			return r.ClientID != "" && (c.ClientID == r.ID || c.ID == r.ClientID || c.ID == r.ID)
		},
		func(c *llm.Call) bool { return r.ClientID == "" && c.Name == r.Name },
	} {
		for i := range w.calls {
			if c := &w.calls[i]; !c.done && matches(c.call) {
				c.done = true
				w.open--
				return c.call
			}
		}
	}
	return nil
}

// contentOf is one text, or parts.
func contentOf(parts []contentPart) jsontext.Value {
	switch {
	case len(parts) == 0:
		return jsontext.Value("null")
	case len(parts) == 1 && parts[0].Type == "text":
		return quote(parts[0].Text)
	}
	return encodeParts(parts)
}
