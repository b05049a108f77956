package responses

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
)

// composeInput writes the conversation. Instructions before it are a member of their own
// where they are nothing but text; all others stay where they are.
func (c *responding) composeInput() error {
	all := c.Conversation.Messages
	w := &inputWriter{c: c, OpenCalls: compose.OpenCalls{Request: c.Request}}
	head := leading(all)
	if text, ok := instructionsOf(all[:head]); ok && head < len(all) {
		c.out.Instructions, all = text, all[head:]
	}
	c.out.Input = make([]inputItem, 0, len(all))
	for i := range all {
		if err := w.add(&all[i]); err != nil {
			return err
		}
	}
	if err := w.CheckEnd(c.Conversation); err != nil {
		return err
	}
	w.answered()
	if len(c.out.Input) == 0 {
		return c.Invalid(llm.FieldMessages, llm.Anywhere, "the messages have no content")
	}
	return nil
}

// leading is the number of messages with instructions that stand before all others.
func leading(all []llm.Message) int {
	n := 0
	for n < len(all) && all[n].Role == llm.RoleInstructions {
		n++
	}
	return n
}

// instructionsOf joins instructions; false where one has a cache mark or is no text.
func instructionsOf(all []llm.Message) (text string, ok bool) {
	var texts []string
	for i := range all {
		if len(all[i].Cache) > 0 {
			return "", false
		}
		for j := range all[i].Blocks {
			b := &all[i].Blocks[j]
			if b.Kind != llm.BlockText || len(b.Cache) > 0 {
				return "", false
			}
			if b.Text != "" {
				texts = append(texts, b.Text)
			}
		}
	}
	return strings.Join(texts, "\n\n"), true
}

// inputWriter is the state between messages. Nothing comes between calls and their
// results.
type inputWriter struct {
	compose.OpenCalls
	c *responding

	held     []inputItem     // instructions, for behind the results
	thoughts []inputItem     // of the assistant, for before what follows from them
	summary  string          // of the thought whose encrypted content may follow
	of       string          // its id
	known    map[string]bool // the ids of the thoughts so far
}

func (w *inputWriter) add(m *llm.Message) error {
	w.c.IgnoreIf(len(m.Cache) > 0, llm.FieldMessageCache)
	switch m.Role {
	case llm.RoleInstructions:
		return w.instructions(m)
	case llm.RoleAssistant:
		return w.assistant(m)
	}
	return w.user(m)
}

// put adds an item that is none of the assistant's and no result. OpenAI refuses thoughts
// from which nothing follows.
func (w *inputWriter) put(item inputItem, at llm.At) error {
	if w.Open > 0 {
		return w.Unanswered(at)
	}
	w.answered()
	w.thoughts = nil
	w.c.out.Input = append(w.c.out.Input, item)
	return nil
}

// answered adds what had to wait for the results.
func (w *inputWriter) answered() {
	w.c.out.Input = append(w.c.out.Input, w.held...)
	w.held = nil
	w.Forget()
}

func (w *inputWriter) instructions(m *llm.Message) error {
	parts, err := w.parts(m, m.Blocks)
	if err != nil || len(parts) == 0 {
		return err
	}
	out := inputItem{Role: "developer", Content: contentWith(parts)}
	if w.Open > 0 {
		w.held = append(w.held, out)
		return nil
	}
	return w.put(out, m.At)
}

// user adds the results in a message, then the rest of it.
func (w *inputWriter) user(m *llm.Message) error {
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
	parts, err := w.parts(m, rest)
	if err != nil || len(parts) == 0 {
		return err
	}
	return w.put(inputItem{Role: "user", Content: contentWith(parts)}, m.At)
}

func (w *inputWriter) result(m *llm.Message, b *llm.Block) error {
	w.c.IgnoreCache(b, m.Cache)
	call, err := w.CallOf(m, b)
	if err != nil {
		return err
	}
	parts, err := w.parts(m, b.Result.Content)
	if err != nil {
		return err
	}
	if b.Result.IsError {
		parts = failedParts(parts)
	}
	if n := len(parts); n > 0 && len(b.Cache) > 0 && parts[n-1].Breakpoint == nil {
		parts[n-1].Breakpoint = w.c.Breakpoint()
	}
	out := inputItem{Type: itemFunctionResult, CallID: call.ID, Output: contentWith(parts)}
	if call.Call.Kind == llm.ToolCustom {
		out.Type = itemCustomResult
	}
	w.c.out.Input = append(w.c.out.Input, out)
	return nil
}

// failedParts marks a result as an error, for which OpenAI has no member.
func failedParts(parts []inputPart) []inputPart {
	if len(parts) > 0 && parts[0].Type == partInputText {
		parts[0].Text = compose.FailedText(parts[0].Text)
		return parts
	}
	return append([]inputPart{{Type: partInputText, Text: compose.FailedText("")}}, parts...)
}

// contentWith is one text, or parts.
func contentWith(parts []inputPart) *itemContent {
	switch {
	case len(parts) == 0:
		return &itemContent{}
	case len(parts) == 1 && parts[0].Type == partInputText && parts[0].Breakpoint == nil:
		return &itemContent{text: parts[0].Text}
	}
	return &itemContent{parts: parts}
}

// parts are the blocks of a message, or of a result, that are content.
func (w *inputWriter) parts(m *llm.Message, blocks []llm.Block) ([]inputPart, error) {
	var out []inputPart
	for i := range blocks {
		b := &blocks[i]
		w.c.IgnoreCache(b, m.Cache)
		before := len(out)
		switch b.Kind {
		case llm.BlockText, llm.BlockRefusal:
			out = appendInput(out, b.Text)
		case llm.BlockMedia:
			p, err := w.media(m, b)
			if err != nil {
				return nil, err
			}
			if b.Media.Context != "" && p.Type != partInputText {
				out = appendInput(out, providers.DocumentLine(b.Media))
			}
			out = append(out, p)
		default:
			w.c.IgnoreIf(true, llm.FieldPartType)
		}
		if len(out) > before && len(b.Cache) > 0 {
			out[len(out)-1].Breakpoint = w.c.Breakpoint()
		}
	}
	return out, nil
}

func appendInput(parts []inputPart, text string) []inputPart {
	if text == "" {
		return parts
	}
	return append(parts, inputPart{Type: partInputText, Text: text})
}

func (w *inputWriter) media(m *llm.Message, b *llm.Block) (inputPart, error) {
	if err := w.c.CheckMedia(m, b); err != nil {
		return inputPart{}, err
	}
	media := b.Media
	switch {
	case media.Text != "":
		return inputPart{Type: partInputText, Text: providers.DocumentText(media)}, nil
	case media.Kind == llm.Audio:
		return inputPart{}, w.c.Unsupported(llm.FieldPartType, b.At, "the model %s does not accept audio in this request", w.c.Model.ID)
	case media.Kind == llm.Image:
		return inputPart{Type: partInputImage, ImageURL: media.URL, Detail: cmp.Or(media.Detail, "auto")}, nil
	case compose.HasWebAddress(media):
		return inputPart{Type: partInputFile, FileURL: media.URL}, nil
	}
	f := compose.FileOf(media)
	return inputPart{Type: partInputFile, FileData: f.FileData, Filename: f.Filename}, nil
}

// customTool is a tool with free text, which comes in the form of chat completions: there
// a grammar is an object inside its format.
func customTool(t *llm.Tool) responsesTool {
	var custom struct {
		Name        string            `json:"name"`
		Description string            `json:"description"`
		Format      *customToolFormat `json:"format"`
	}
	out := responsesTool{Type: "custom", Name: t.Name, Description: t.Description}
	if json.Unmarshal(t.Custom, &custom, wire.Lenient) != nil {
		return out
	}
	out.Name, out.Description = cmp.Or(custom.Name, out.Name), cmp.Or(custom.Description, out.Description)
	if f := custom.Format; f != nil {
		out.Format = f.flat()
	}
	return out
}

type customToolFormat struct {
	Type    string `json:"type"`
	Grammar struct {
		Definition string `json:"definition"`
		Syntax     string `json:"syntax"`
	} `json:"grammar"`
}

func (f *customToolFormat) flat() []byte {
	out := append([]byte(`{"type":`), wire.Quote(f.Type)...)
	if f.Type == "grammar" {
		out = append(append(out, `,"syntax":`...), wire.Quote(f.Grammar.Syntax)...)
		out = append(append(out, `,"definition":`...), wire.Quote(f.Grammar.Definition)...)
	}
	return append(out, '}')
}
