package anthropic

import (
	"slices"
	"strings"

	"modelgateway/models/api"
	"modelgateway/providers/turns"
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// fold folds the conversation into turns that say something. Anthropic refuses
// blank texts, and thinking that stands alone; what stood around a turn of
// nothing else becomes one turn.
func (t *translation) fold() error {
	talk, err := turns.Fold(t.req.Messages)
	if err != nil {
		return err
	}
	for _, name := range talk.Ignored {
		t.lose(name)
	}
	talk.System = slices.DeleteFunc(talk.System, blank)
	all := talk.Turns
	talk.Turns = nil
	for _, turn := range all {
		turn.Blocks = slices.DeleteFunc(turn.Blocks, blank)
		if turn.Assistant {
			turn.Blocks = slices.DeleteFunc(turn.Blocks, t.losePicture)
		}
		n := len(talk.Turns)
		switch {
		case !slices.ContainsFunc(turn.Blocks, func(b turns.Block) bool { return b.Thought == nil }):
		case n > 0 && talk.Turns[n-1].Assistant == turn.Assistant:
			talk.Turns[n-1].Blocks = append(talk.Turns[n-1].Blocks, turn.Blocks...)
		default:
			talk.Turns = append(talk.Turns, turn)
		}
	}
	if len(talk.Turns) == 0 && len(talk.System) > 0 { // somebody has to speak
		talk.Turns, talk.System = []turns.Turn{{Blocks: talk.System}}, nil
	}
	if len(talk.Turns) == 0 {
		return api.Invalid(api.CodeInvalidValue, "messages", "the messages have no content")
	}
	t.talk = talk
	if talk.Turns[len(talk.Turns)-1].Assistant {
		return t.silentUser()
	}
	return nil
}

// losePicture is true for a picture that a model made in an earlier turn:
// Anthropic takes pictures of the user only.
func (t *translation) losePicture(b turns.Block) bool {
	made := b.Part != nil && b.Part.Type == "image_url"
	t.loseIf(made, "messages[].images")
	return made
}

func blank(b turns.Block) bool {
	return b.Part != nil && b.Part.Type == "text" && strings.TrimSpace(b.Part.Text) == ""
}

// messages translates the turns of the conversation.
func (t *translation) messages() error {
	w := &turnWriter{t: t, ids: newDistinct()}
	for i := range t.talk.Turns {
		if err := w.turn(&t.talk.Turns[i]); err != nil {
			return err
		}
	}
	if t.out.Messages[0].Role == roleAssistant { // Anthropic wants the user first
		t.out.Messages = append([]message{{Role: roleUser, Content: []block{{Type: "text", Text: "."}}}}, t.out.Messages...)
	}
	return t.lastTurn()
}

// turnWriter is the state between turns.
type turnWriter struct {
	t    *translation
	open []string  // ids of the last turn's calls that wait for their results
	ids  *distinct // ids so far: Anthropic wants each call to have its own
}

// turn adds a turn.
func (w *turnWriter) turn(turn *turns.Turn) error {
	m := message{Role: roleUser}
	if turn.Assistant {
		m.Role = roleAssistant
		m.Content = w.thoughts(turn)
	}
	for i := range turn.Blocks {
		made, err := w.block(&turn.Blocks[i])
		if err != nil {
			return err
		}
		if made != nil {
			m.Content = append(m.Content, *made)
		}
	}
	w.t.out.Messages = append(w.t.out.Messages, m)
	return nil
}

// thoughts are the blocks of thinking that come back, which must be first in
// their turn. A model that does not think in this answer needs none.
func (w *turnWriter) thoughts(turn *turns.Turn) []block {
	if !w.t.thinks {
		return nil
	}
	var all []block
	for _, b := range turn.Blocks {
		if b.Thought == nil {
			continue
		}
		if made := thoughtBlock(b.Thought); made != nil {
			all = append(all, *made)
		}
	}
	return all
}

// block translates one block; nil for thinking, which has been seen to.
func (w *turnWriter) block(b *turns.Block) (*block, error) {
	var made *block
	var err error
	switch {
	case b.Part != nil:
		made, err = w.t.part(b.Part)
	case b.Call != nil:
		made = w.call(b.Call)
	case b.Result != nil:
		made, err = w.result(b.Result)
	}
	if made != nil && api.Given(b.CacheControl) {
		made.CacheControl = b.CacheControl
	}
	return made, err
}

func (w *turnWriter) call(c *turns.Call) *block {
	id := w.ids.name(toolID(c.ID)) // clients count anew in each turn, or repeat a name
	w.open = append(w.open, id)
	return &block{Type: "tool_use", ID: id, Name: toolName(c.Name), Input: c.Arguments}
}

// result translates a tool's result. Results stand in the order of their
// calls, and each call has one.
func (w *turnWriter) result(r *turns.Result) (*block, error) {
	made := &block{Type: "tool_result", ToolUseID: toolID(r.ID)}
	if len(w.open) > 0 {
		made.ToolUseID, w.open = w.open[0], w.open[1:]
	}
	if len(r.Content) == 1 && r.Content[0].Type == "text" && !api.Given(r.Content[0].CacheControl) {
		if text := r.Content[0].Text; strings.TrimSpace(text) != "" {
			made.Content = text
		}
		return made, nil
	}
	var content []block
	for i := range r.Content {
		inner, err := w.t.part(&r.Content[i])
		if err != nil {
			return nil, err
		}
		if inner == nil {
			continue
		}
		if api.Given(r.Content[i].CacheControl) {
			inner.CacheControl = r.Content[i].CacheControl
		}
		content = append(content, *inner)
	}
	if len(content) > 0 {
		made.Content = content
	}
	return made, nil
}

// system gathers the instructions: one text where no cache mark stands between
// them.
func (t *translation) system() {
	var blocks []block
	var texts []string
	marked := false
	for _, b := range t.talk.System {
		made := block{Type: "text", Text: b.Part.Text}
		if api.Given(b.CacheControl) {
			made.CacheControl, marked = b.CacheControl, true
		}
		blocks, texts = append(blocks, made), append(texts, made.Text)
	}
	if t.hint != "" {
		blocks, texts = append(blocks, block{Type: "text", Text: t.hint}), append(texts, t.hint)
	}
	switch {
	case marked:
		t.out.System = blocks
	case len(texts) > 0:
		t.out.System = strings.Join(texts, "\n")
	}
}
