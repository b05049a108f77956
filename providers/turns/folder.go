package turns

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/providers/carry"
)

// folder is the state between messages.
type folder struct {
	out     Conversation
	ignored map[string]bool

	calls []pending        // of the last assistant turn
	byID  map[string][]int // those not answered yet, by their id as the client knows it, without what it carries, and by the function's name
	open  int              // how many are not answered yet
	asked int              // index of the message with the last of them
}

type pending struct {
	call     *Call
	original string // id as the client knows it
	carried  []api.ReasoningDetail
	done     bool
}

func (f *folder) add(i int, m *api.Message) error {
	f.ignore(m)
	switch m.Role {
	case "system", "developer":
		f.out.System = append(f.out.System, blocks(m)...)
		return nil
	case "assistant":
		return f.assistant(i, m)
	case "tool", "function":
		return f.result(i, m)
	default:
		return f.user(i, m)
	}
}

func (f *folder) user(i int, m *api.Message) error {
	if err := f.settled(i); err != nil {
		return err
	}
	for _, b := range blocks(m) {
		f.push(false, b)
	}
	return nil
}

func (f *folder) assistant(i int, m *api.Message) error {
	calls, err := toolCalls(i, m)
	if err != nil {
		return err
	}
	if err := f.settled(i); err != nil {
		return err
	}
	thoughts := thoughts(m, calls)
	for j := range thoughts {
		f.push(true, Block{Thought: &thoughts[j]})
	}
	content := blocks(m)
	for _, b := range content {
		f.push(true, b)
	}
	if m.Refusal != "" {
		f.push(true, Block{Part: &api.ContentPart{Type: "text", Text: m.Refusal}})
	}
	for j := range m.Images {
		f.push(true, Block{Part: &api.ContentPart{Type: "image_url", ImageURL: &m.Images[j].ImageURL}})
	}
	for j, c := range calls {
		b := Block{Call: c.call}
		if j == len(calls)-1 && len(content) == 0 {
			b.CacheControl = m.CacheControl
		}
		f.push(true, b)
	}
	if len(calls) > 0 {
		f.await(i, calls)
	}
	return nil
}

// await remembers calls until they are answered.
func (f *folder) await(i int, calls []pending) {
	f.calls, f.open, f.asked = calls, len(calls), i
	f.byID = make(map[string][]int, len(calls))
	for at, c := range calls {
		for _, name := range distinct(c.original, c.call.ID, functionKey(c.call.Name)) {
			f.byID[name] = append(f.byID[name], at)
		}
	}
}

// functionKey keeps names of functions apart from ids.
func functionKey(name string) string { return "\x00" + name }

func distinct(names ...string) []string {
	kept := names[:1]
	for _, n := range names[1:] {
		if n != kept[0] {
			kept = append(kept, n)
		}
	}
	return kept
}

// take finds the first open call under one of these names.
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

func (f *folder) result(i int, m *api.Message) error {
	var at int
	var ok bool
	if f.open > 0 {
		if m.Role == "function" {
			at, ok = f.take(functionKey(m.Name))
		} else {
			id, _ := carry.Unpack(m.ToolCallID)
			at, ok = f.take(m.ToolCallID, id)
		}
	}
	if !ok {
		return api.Invalid(api.CodeInvalidValue, fmt.Sprintf("messages[%d].tool_call_id", i),
			"messages[%d] answers no open tool call of the assistant's message before it", i)
	}
	f.calls[at].done = true
	f.open--
	call := f.calls[at].call
	f.push(false, Block{
		Result:       &Result{ID: call.ID, Name: call.Name, Content: filled(parts(m.Content)), order: at},
		CacheControl: m.CacheControl,
	})
	return nil
}

// settled fails when a call of the last assistant turn has had no result.
func (f *folder) settled(i int) error {
	if f.open > 0 {
		return f.unanswered(i)
	}
	f.calls, f.byID = nil, nil
	return nil
}

func (f *folder) unanswered(i int) error {
	for _, p := range f.calls {
		if !p.done {
			return api.Invalid(api.CodeInvalidValue, fmt.Sprintf("messages[%d]", i),
				"messages[%d] has tool calls that are not answered by the tool messages after it: %.64s", f.asked, p.call.ID)
		}
	}
	return nil
}

func (f *folder) push(assistant bool, b Block) {
	if n := len(f.out.Turns); n > 0 && f.out.Turns[n-1].Assistant == assistant {
		f.out.Turns[n-1].Blocks = append(f.out.Turns[n-1].Blocks, b)
		return
	}
	f.out.Turns = append(f.out.Turns, Turn{Assistant: assistant, Blocks: []Block{b}})
}

// ignore names what a message has that finds no place in a turn.
func (f *folder) ignore(m *api.Message) {
	if m.Name != "" && m.Role != "function" && m.Role != "tool" { // of a tool it is known from its call
		f.ignored["messages[].name"] = true
	}
	if !hollow(m.Audio) {
		f.ignored["messages[].audio"] = true
	}
	f.ignoreMembers("messages[].", m.Extra)
	for i := range m.Content.Parts {
		f.ignoreMembers("messages[].content[].", m.Content.Parts[i].Extra)
	}
}

func (f *folder) ignoreMembers(at string, extra jsontext.Value) {
	if len(extra) == 0 {
		return
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(extra, &members) != nil {
		return // the door has read it already
	}
	for name, value := range members {
		if !hollow(value) {
			f.ignored[at+name] = true
		}
	}
}

// hollow says whether a member says nothing: SDKs send such in history.
func hollow(v jsontext.Value) bool {
	switch string(v) {
	case "", "null", "[]", "{}", `""`:
		return true
	}
	return false
}

// instructionsOnly makes a request of nothing but instructions one the
// providers accept: somebody has to speak.
func (f *folder) instructionsOnly() {
	if len(f.out.Turns) == 0 && len(f.out.System) > 0 {
		f.out.Turns = []Turn{{Blocks: f.out.System}}
		f.out.System = nil
	}
}
