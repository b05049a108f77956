// Package alternating folds a conversation into alternating turns, the form that
// Anthropic and Gemini want: instructions apart, neighbours of one role merged,
// tool results first in the turn right after their calls.
package alternating

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"modelgateway/api"
	"modelgateway/llm"
)

// Conversation is a request's messages, folded.
type Conversation struct {
	System []*llm.Block // of kind text only, in the order they came
	Turns  []Turn       // user and assistant take turns; either may be first or last
}

// Turn is the messages of one role up to the next of the other.
type Turn struct {
	Assistant bool
	Blocks    []Block // in order; a user's results come first, in the order of their calls
}

// Block is a block of the conversation. It is read only.
type Block struct {
	*llm.Block
	Answers *llm.Call // of a result: its call

	order int // of a result: that of its call
}

// Fold folds the conversation of a request. It fails with an *api.Error where
// the conversation is inconsistent: a result without its call, a call before the
// last turn without a result, or a call of a tool that is not a function.
func Fold(req *llm.Request) (*Conversation, error) {
	c, err := req.Source.Conversation()
	if err != nil {
		return nil, err
	}
	f := &folder{req: req}
	for i := range c.Messages {
		if err := f.add(&c.Messages[i]); err != nil {
			return nil, err
		}
	}
	if n := len(f.calls); f.open > 0 && f.open < n {
		return nil, f.unanswered(c.Messages[len(c.Messages)-1].At)
	}
	for i := range f.out.Turns {
		f.out.Turns[i].sort()
	}
	f.instructionsOnly()
	return &f.out, nil
}

// sort brings the results of a turn to its front.
func (t *Turn) sort() {
	if !slices.ContainsFunc(t.Blocks, func(b Block) bool { return b.Kind == llm.BlockResult }) {
		return
	}
	slices.SortStableFunc(t.Blocks, func(a, b Block) int { return cmp.Compare(a.rank(), b.rank()) })
}

func (b Block) rank() int {
	if b.Kind == llm.BlockResult {
		return b.order
	}
	return math.MaxInt
}

// folder is the state of Fold between messages.
type folder struct {
	req *llm.Request
	out Conversation

	calls []pending        // of the last assistant turn
	byID  map[string][]int // without a result yet, by their ids and by the function's name
	open  int              // number of calls without a result
	asked llm.At           // the message with the last of them
}

type pending struct {
	call *llm.Call
	done bool
}

func (f *folder) add(m *llm.Message) error {
	switch {
	case m.Role == llm.RoleInstructions && m.InPlace && len(f.out.Turns) > 0:
		f.inPlace(m)
		return nil
	case m.Role == llm.RoleInstructions:
		for i := range m.Blocks {
			f.out.System = append(f.out.System, &m.Blocks[i])
		}
		return nil
	case m.Role == llm.RoleAssistant:
		return f.assistant(m)
	case slices.ContainsFunc(m.Blocks, isResult):
		return f.results(m)
	}
	if err := f.settled(m.At); err != nil {
		return err
	}
	f.push(false, m.Blocks)
	return nil
}

func isResult(b llm.Block) bool { return b.Kind == llm.BlockResult }

// inPlace adds instructions to the turn of the user that they stand beside. There they
// come after the results of tools, which sort brings to the front.
func (f *folder) inPlace(m *llm.Message) {
	for i := range m.Blocks {
		b := m.Blocks[i]
		if b.Kind == llm.BlockText && strings.TrimSpace(b.Text) != "" {
			b.Text = "<system>\n" + b.Text + "\n</system>"
			f.pushBlock(false, Block{Block: &b})
		}
	}
}

func (f *folder) assistant(m *llm.Message) error {
	calls := 0
	for i := range m.Blocks {
		b := &m.Blocks[i]
		if b.Kind != llm.BlockCall {
			continue
		}
		calls++
		if b.Call.Kind != llm.ToolFunction {
			return api.Invalid(api.CodeUnsupportedValue, f.req.Source.Path(llm.FieldCallType, b.At),
				"the model of this request does not accept tool calls of type %q", "custom")
		}
	}
	if err := f.settled(m.At); err != nil {
		return err
	}
	f.push(true, m.Blocks)
	if calls > 0 {
		f.await(m, calls)
	}
	return nil
}

// await records calls until their results come.
func (f *folder) await(m *llm.Message, n int) {
	f.calls, f.open, f.asked = make([]pending, 0, n), n, m.At
	f.byID = make(map[string][]int, n)
	for i := range m.Blocks {
		if m.Blocks[i].Kind != llm.BlockCall {
			continue
		}
		c := m.Blocks[i].Call
		at := len(f.calls)
		f.calls = append(f.calls, pending{call: c})
		for _, name := range uniqueNames(c.ClientID, c.ID, functionKey(c.Name)) {
			f.byID[name] = append(f.byID[name], at)
		}
	}
}

// functionKey is a key of byID that no id can equal.
func functionKey(name string) string { return "\x00" + name }

func uniqueNames(names ...string) []string {
	kept := names[:1]
	for _, n := range names[1:] {
		if n != kept[0] {
			kept = append(kept, n)
		}
	}
	return kept
}

// take finds the first call without a result under one of these keys.
func (f *folder) take(names ...string) (int, bool) {
	for _, name := range names {
		waiting := f.byID[name]
		for len(waiting) > 0 && f.calls[waiting[0]].done {
			waiting = waiting[1:]
		}
		f.byID[name] = waiting
		if len(waiting) > 0 {
			return waiting[0], true
		}
	}
	return 0, false
}

// results takes a message with results of tools.
func (f *folder) results(m *llm.Message) error {
	for i := range m.Blocks {
		b := Block{Block: &m.Blocks[i]}
		if b.Kind != llm.BlockResult {
			f.pushBlock(false, b)
			continue
		}
		var at int
		var ok bool
		if f.open > 0 {
			if b.Result.ClientID == "" {
				at, ok = f.take(functionKey(b.Result.Name))
			} else {
				at, ok = f.take(b.Result.ClientID, b.Result.ID)
			}
		}
		if !ok {
			return api.Invalid(api.CodeInvalidValue, f.req.Source.Path(llm.FieldResultID, b.At),
				"%s answers no open tool call of the assistant's message before it", f.req.Source.Path(llm.FieldMessage, m.At))
		}
		f.calls[at].done = true
		f.open--
		b.Answers, b.order = f.calls[at].call, at
		f.pushBlock(false, b)
	}
	return nil
}

// settled fails if a call of the last assistant turn has no result.
func (f *folder) settled(at llm.At) error {
	if f.open > 0 {
		return f.unanswered(at)
	}
	f.calls, f.byID = nil, nil
	return nil
}

func (f *folder) unanswered(at llm.At) error {
	for _, p := range f.calls {
		if !p.done {
			return api.Invalid(api.CodeInvalidValue, f.req.Source.Path(llm.FieldMessage, at),
				"%s has tool calls that are not answered by the tool messages after it: %.64s",
				f.req.Source.Path(llm.FieldMessage, f.asked), p.call.ID)
		}
	}
	return nil
}

func (f *folder) push(assistant bool, blocks []llm.Block) {
	if len(blocks) == 0 {
		return
	}
	t := f.turn(assistant)
	t.Blocks = slices.Grow(t.Blocks, len(blocks))
	for i := range blocks {
		t.Blocks = append(t.Blocks, Block{Block: &blocks[i]})
	}
}

func (f *folder) pushBlock(assistant bool, b Block) {
	t := f.turn(assistant)
	t.Blocks = append(t.Blocks, b)
}

// turn is the last turn if it has the same role, else a new one.
func (f *folder) turn(assistant bool) *Turn {
	if n := len(f.out.Turns); n > 0 && f.out.Turns[n-1].Assistant == assistant {
		return &f.out.Turns[n-1]
	}
	f.out.Turns = append(f.out.Turns, Turn{Assistant: assistant})
	return &f.out.Turns[len(f.out.Turns)-1]
}

// instructionsOnly adds a user message to a request that has only instructions,
// since the providers require one.
func (f *folder) instructionsOnly() {
	if len(f.out.Turns) > 0 || len(f.out.System) == 0 {
		return
	}
	turn := Turn{Blocks: make([]Block, len(f.out.System))}
	for i, b := range f.out.System {
		turn.Blocks[i] = Block{Block: b}
	}
	f.out.Turns, f.out.System = []Turn{turn}, nil
}
