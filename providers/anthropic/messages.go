package anthropic

import (
	"slices"
	"strings"

	"modelgateway/llm"
	"modelgateway/providers/alternating"
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// fold folds the conversation into turns that are not empty.
func (t *translation) fold() (err error) {
	if t.conversation, err = t.req.Source.Conversation(); err != nil {
		return err
	}
	if t.folded, err = alternating.Fold(t.req); err != nil {
		return err
	}
	f := t.folded
	f.System, f.Turns = slices.DeleteFunc(f.System, empty), t.nonEmpty(f.Turns)
	switch {
	case len(f.Turns) > 0:
	case len(f.System) == 0:
		return t.invalid(llm.FieldMessages, "the messages have no content")
	default: // Anthropic requires a message of the user
		turn := alternating.Turn{Blocks: make([]alternating.Block, len(f.System))}
		for i, b := range f.System {
			turn.Blocks[i].Block = b
		}
		f.Turns, f.System = []alternating.Turn{turn}, nil
	}
	if f.Turns[len(f.Turns)-1].Assistant {
		return t.silentUser()
	}
	return nil
}

// nonEmpty leaves out blank texts, and turns that hold only thinking: Anthropic
// refuses both. The neighbours of such a turn become one turn.
func (t *translation) nonEmpty(all []alternating.Turn) []alternating.Turn {
	kept := all[:0]
	for _, turn := range all {
		turn.Blocks = slices.DeleteFunc(turn.Blocks, func(b alternating.Block) bool { return empty(b.Block) })
		if turn.Assistant {
			turn.Blocks = slices.DeleteFunc(turn.Blocks, t.ignoreImage)
		}
		last := len(kept) - 1
		switch {
		case onlyThoughts(turn.Blocks):
		case last >= 0 && kept[last].Assistant == turn.Assistant:
			kept[last].Blocks = append(kept[last].Blocks, turn.Blocks...)
		default:
			kept = append(kept, turn)
		}
	}
	return kept
}

// empty says whether a block has no place in a request: a blank text, or what
// a tool that ran at another provider left.
func empty(b *llm.Block) bool {
	switch b.Kind {
	case llm.BlockText, llm.BlockRefusal:
		return strings.TrimSpace(b.Text) == ""
	case llm.BlockHosted:
		return true
	}
	return false
}

// ignoreImage is true for an image that a model made in an earlier turn:
// Anthropic takes images of the user only.
func (t *translation) ignoreImage(b alternating.Block) bool {
	image := b.Kind == llm.BlockMedia && b.Media.Kind == llm.Image
	t.ignoreIf(image, llm.FieldMessageImages)
	return image
}

func onlyThoughts(blocks []alternating.Block) bool {
	return !slices.ContainsFunc(blocks, func(b alternating.Block) bool { return b.Kind != llm.BlockThought })
}

// messages translates the turns of the conversation.
func (t *translation) messages() error {
	w := &turnWriter{t: t, ids: newUniqueNames()}
	if t.folded.Turns[0].Assistant { // Anthropic requires the user first
		t.out.Messages = append(t.out.Messages, message{Role: roleUser, Content: []block{{Type: "text", Text: "."}}})
	}
	for i := range t.folded.Turns {
		if err := w.turn(&t.folded.Turns[i]); err != nil {
			return err
		}
	}
	return t.lastTurn()
}

// turnWriter is the state between turns.
type turnWriter struct {
	t    *translation
	open []string     // ids of the last turn's calls that wait for their results
	ids  *uniqueNames // of all calls: Anthropic requires unique ids
}

// turn adds a turn.
func (w *turnWriter) turn(turn *alternating.Turn) error {
	m := message{Role: roleUser}
	inPlace := w.t.req.Source.Dialect() == llm.Responses // where each thought is an item of its own
	if turn.Assistant {
		m.Role = roleAssistant
		if !inPlace {
			m.Content = w.thoughts(turn.Blocks)
		}
	}
	for i := range turn.Blocks {
		b := &turn.Blocks[i]
		if b.Kind == llm.BlockThought {
			if inPlace {
				m.Content = append(m.Content, w.thoughts(turn.Blocks[i:i+1])...)
			}
			continue
		}
		out, err := w.block(b)
		if err != nil {
			return err
		}
		out.CacheControl = b.Cache
		m.Content = append(m.Content, *out)
	}
	w.t.out.Messages = append(w.t.out.Messages, m)
	return nil
}

// thoughts are the blocks of thinking that come back. Where their places are not known they
// are first in their turn. A model that does not think in this answer needs none.
func (w *turnWriter) thoughts(blocks []alternating.Block) []block {
	if !w.t.thinks {
		return nil
	}
	var all []block
	for _, b := range blocks {
		if b.Kind != llm.BlockThought {
			continue
		}
		if out := thoughtBlock(b.Thought); out != nil {
			all = append(all, *out)
		}
	}
	return all
}

func (w *turnWriter) block(b *alternating.Block) (*block, error) {
	switch b.Kind {
	case llm.BlockCall:
		return w.call(b.Call), nil
	case llm.BlockResult:
		return w.result(b.Result)
	}
	return w.t.content(b.Block)
}

func (w *turnWriter) call(c *llm.Call) *block {
	id := w.ids.uniqueName(validName(c.ID)) // some clients repeat ids in each turn, or repeat a name
	w.open = append(w.open, id)
	return &block{Type: "tool_use", ID: id, Name: validName(c.Name), Input: c.Arguments}
}

// result translates a tool's result. alternating.Fold puts results in the order of
// their calls, and each answers one.
func (w *turnWriter) result(r *llm.Result) (*block, error) {
	out := &block{Type: "tool_result", ToolUseID: w.open[0], IsError: r.IsError}
	w.open = w.open[1:]
	var err error
	if out.Content, err = w.resultContent(r); err == nil && out.Content == nil && r.IsError {
		out.Content = "The tool has failed." // Anthropic refuses an error that says nothing
	}
	return out, err
}

// resultContent is what a tool has answered: a text, or blocks; nil for nothing.
func (w *turnWriter) resultContent(r *llm.Result) (any, error) {
	if len(r.Content) == 1 && r.Content[0].Kind == llm.BlockText && r.Content[0].Cache == nil {
		if empty(&r.Content[0]) {
			return nil, nil //nolint:nilnil // there is nothing
		}
		return r.Content[0].Text, nil
	}
	var content []block
	for i := range r.Content {
		b := &r.Content[i]
		if empty(b) {
			continue
		}
		inner, err := w.t.content(b)
		if err != nil {
			return nil, err
		}
		inner.CacheControl = b.Cache
		content = append(content, *inner)
	}
	if len(content) == 0 {
		return nil, nil //nolint:nilnil // there is nothing
	}
	return content, nil
}

// system collects the instructions: one text, or blocks where one of them has a
// cache_control.
func (t *translation) system() {
	var blocks []block
	var texts []string
	cached := false
	for _, b := range t.folded.System {
		blocks, texts = append(blocks, block{Type: "text", Text: b.Text, CacheControl: b.Cache}), append(texts, b.Text)
		cached = cached || b.Cache != nil
	}
	if t.hint != "" {
		blocks, texts = append(blocks, block{Type: "text", Text: t.hint}), append(texts, t.hint)
	}
	switch {
	case cached:
		t.out.System = blocks
	case len(texts) > 0:
		t.out.System = strings.Join(texts, "\n")
	}
}
