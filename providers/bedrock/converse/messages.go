package converse

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers/alternating"
)

// translateHistory translates the instructions and the turns.
func (t *translation) translateHistory() error {
	t.inspect()
	folded, err := alternating.Fold(t.req)
	if err != nil {
		return err
	}
	for _, b := range folded.System {
		t.out.System = t.appendBlocks(t.out.System, b, block{Text: b.Text})
	}
	if t.hint != "" {
		t.out.System = append(t.out.System, block{Text: t.hint})
	}
	for i := range folded.Turns {
		if folded.Turns[i].Assistant {
			t.assistant(&folded.Turns[i])
		} else if err := t.user(&folded.Turns[i]); err != nil {
			return err
		}
	}
	switch all := t.out.Messages; {
	case len(all) == 0:
		path := t.req.Path(llm.FieldMessages)
		return api.Invalid(api.CodeInvalidValue, path, "%s have no content", path)
	case all[0].Role == roleAssistant: // "A conversation must start with a user message."
		t.out.Messages = slices.Insert(all, 0, message{roleUser, []block{{Text: "."}}})
	}
	whole := hasEffect(t.req.Cache)
	if last := &t.out.Messages[len(t.out.Messages)-1]; whole && t.family.nova {
		last.Content = cached(last.Content)
	}
	t.ignoreIf(whole && !t.family.nova, llm.FieldCache)
	return nil
}

// inspect notes what is left out of messages. The mark of a whole message is that of its last
// block as well.
func (t *translation) inspect() {
	for i := range t.conversation.Messages {
		m := &t.conversation.Messages[i]
		t.ignoreIf(m.Cache != nil && !t.family.nova, llm.FieldMessageCache)
		for j := range m.Blocks {
			b := &m.Blocks[j]
			marked := len(b.Cache) > 0 && (len(m.Cache) == 0 || &b.Cache[0] != &m.Cache[0])
			t.ignoreIf(marked && !t.family.nova, llm.FieldPartCache)
			t.ignoreIf(b.Kind == llm.BlockHosted, llm.FieldPartType) // only its own provider can read it
		}
	}
}

// add adds blocks to the conversation, in the last message where it is of the same role.
func (t *translation) add(role string, content []block) {
	n := len(t.out.Messages)
	switch {
	case len(content) == 0:
	case n > 0 && t.out.Messages[n-1].Role == role:
		t.out.Messages[n-1].Content = append(t.out.Messages[n-1].Content, content...)
	default:
		t.out.Messages = append(t.out.Messages, message{role, content})
	}
}

// appendBlocks adds what a block has become, and a cache point where it has a mark. Converse
// refuses blank texts.
func (t *translation) appendBlocks(content []block, from *llm.Block, to ...block) []block {
	for _, b := range to {
		if b != (block{Text: b.Text}) || strings.TrimSpace(b.Text) != "" {
			content = append(content, b)
		}
	}
	if from.Cache != nil && t.family.nova {
		return cached(content)
	}
	return content
}

// cached adds a cache point, which must not follow a document.
func cached(content []block) []block {
	at := len(content)
	for at > 0 && content[at-1].Document != nil {
		at--
	}
	if at == 0 || content[at-1].CachePoint != nil {
		return content
	}
	return slices.Insert(content, at, block{CachePoint: &typed{"default"}})
}

// user translates a turn of the user, in which the results of tools come first.
func (t *translation) user(turn *alternating.Turn) error {
	var results, rest []block
	for _, b := range turn.Blocks {
		if b.Kind == llm.BlockResult {
			result, beside, err := t.result(b.Result)
			if err != nil {
				return err
			}
			results, rest = t.appendBlocks(results, b.Block, result), append(rest, beside...)
			continue
		}
		content, err := t.content(b.Block)
		if err != nil {
			return err
		}
		rest = t.appendBlocks(rest, b.Block, content...)
	}
	t.add(roleUser, results)
	if t.family.alone && len(results) > 0 && len(rest) > 0 {
		t.add(roleAssistant, []block{{Text: "."}})
	}
	t.add(roleUser, rest)
	return nil
}

// result translates the result of a tool. What the model does not take inside comes beside it.
func (t *translation) result(r *llm.Result) (result block, beside []block, err error) {
	out := &toolResult{ID: t.open[0]} // alternating.Fold has put the results in the order of their calls
	t.open = t.open[1:]
	for i := range r.Content {
		content, err := t.content(&r.Content[i])
		if err != nil {
			return block{}, nil, err
		}
		for _, b := range content {
			switch {
			case b.Document != nil || b.Audio != nil || b.Image != nil && !t.family.images:
				beside = append(beside, b)
			default:
				out.Content = t.appendBlocks(out.Content, &llm.Block{}, b)
			}
		}
	}
	if len(out.Content) == 0 {
		out.Content = []block{{Text: "(no output)"}}
	}
	if r.IsError && !t.family.noStatus {
		out.Status = "error"
	}
	return block{ToolResult: out}, beside, nil
}

// assistant translates a turn of the model. One that only thought has no place.
func (t *translation) assistant(turn *alternating.Turn) {
	var content []block
	thoughts := 0
	t.open = t.open[:0]
	for _, b := range turn.Blocks {
		switch b.Kind {
		case llm.BlockThought:
			if thought := t.thought(b.Thought); thought != nil {
				content = append(content, block{Reasoning: thought})
				thoughts++
			}
		case llm.BlockText, llm.BlockRefusal:
			content = t.appendBlocks(content, b.Block, block{Text: b.Text})
		case llm.BlockCall:
			id := t.callID(b.Call.ID)
			t.open = append(t.open, id)
			content = t.appendBlocks(content, b.Block, block{ToolUse: &toolUse{id, toolName(b.Call.Name), b.Call.Arguments}})
		case llm.BlockMedia: // that it made
			t.ignoreIf(true, llm.FieldMessageImages)
		}
	}
	if len(content) > thoughts {
		t.add(roleAssistant, content)
	}
}

// thought is a thought as the model gave it; nil for another one's, or where the model takes none.
func (t *translation) thought(thought *llm.Thought) *reasoning {
	own := thought.Format == llm.FormatConverse && (thought.Model == "" || thought.Model == t.model.Upstream)
	switch {
	case !own || !t.family.thoughts:
	case thought.Data != "":
		return &reasoning{Redacted: thought.Data}
	case thought.Text != "":
		return &reasoning{Text: &reasoningText{thought.Text, thought.Signature}}
	}
	return nil
}

// plainID is the form of ids of calls.
var plainID = regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,64}$`)

// callID is the id of the next call, which no other one has.
func (t *translation) callID(id string) string {
	t.calls++
	const short, longest = 9, 64
	switch {
	case t.family.shortIDs:
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", t.calls, id))
		return hex.EncodeToString(sum[:])[:short]
	case plainID.MatchString(id):
		return t.ids.Distinct(id, longest)
	}
	return t.ids.Unique(id)
}
