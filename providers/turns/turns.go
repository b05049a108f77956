// Package turns folds an OpenAI conversation into alternating turns, the form
// that Anthropic and Gemini want: instructions apart, neighbours of one role
// merged, the results of tools first in the turn right behind their calls.
package turns

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/providers/carry"
)

// Conversation is a request's messages, folded.
type Conversation struct {
	System []Block // parts of type text only, in the order they came
	Turns  []Turn  // user and assistant take turns; either may be first or last

	// Ignored names the members of messages that have no place here, as
	// messages[].name.
	Ignored []string
}

// Turn is everything one side says before the other does.
type Turn struct {
	Assistant bool
	Blocks    []Block // in order; a user's results come first, in the order of their calls
}

// Block is one of the following, and never empty.
type Block struct {
	Part    *api.ContentPart     // of type text, image_url, input_audio or file
	Call    *Call                // assistant only
	Result  *Result              // user only
	Thought *api.ReasoningDetail // assistant only; what a provider wants back unchanged

	CacheControl jsontext.Value // the client's cache mark on this block, where it set one
}

// Call is a tool call the model made.
type Call struct {
	ID        string // the provider's own, without what it carried
	Name      string
	Arguments jsontext.Value // always an object
	Signature string         // Gemini's thought signature, where the client brought one back
}

// Result answers a Call.
type Result struct {
	ID      string
	Name    string // of the function that was called
	Content []api.ContentPart

	order int // of its call
}

// Fold turns the messages of a request. It fails with an *api.Error where the
// conversation makes no sense: a result without its call, a call in the middle
// that was never answered.
func Fold(messages []api.Message) (*Conversation, error) {
	f := &folder{}
	for i := range messages {
		if err := f.add(i, &messages[i]); err != nil {
			return nil, err
		}
	}
	if err := f.answered(len(messages) - 1); err != nil && f.moved {
		return nil, err
	}
	for i := range f.out.Turns {
		f.out.Turns[i].sort()
	}
	f.instructionsOnly()
	return &f.out, nil
}

// folder is the state between messages.
type folder struct {
	out   Conversation
	calls []pending // of the last assistant turn
	moved bool      // one of them has been answered
	asked int       // index of the message with the last of them
}

type pending struct {
	call     *Call
	original string // as the client knows it
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
	if err := f.answered(i); err != nil {
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
	if err := f.answered(i); err != nil {
		return err
	}
	carried := thoughts(m)
	for j := range carried {
		f.push(true, Block{Thought: &carried[j]})
	}
	content := blocks(m)
	for _, b := range content {
		f.push(true, b)
	}
	if m.Refusal != "" {
		f.push(true, Block{Part: &api.ContentPart{Type: "text", Text: m.Refusal}})
	}
	for j, c := range calls {
		b := Block{Call: c.call}
		if j == len(calls)-1 && len(content) == 0 {
			b.CacheControl = m.CacheControl
		}
		f.push(true, b)
	}
	if len(calls) > 0 {
		f.calls, f.moved, f.asked = calls, false, i
	}
	return nil
}

func (f *folder) result(i int, m *api.Message) error {
	id, _ := carry.Unpack(m.ToolCallID)
	at := slices.IndexFunc(f.calls, func(p pending) bool {
		if m.Role == "function" {
			return !p.done && p.call.Name == m.Name
		}
		return !p.done && (p.original == m.ToolCallID || p.call.ID == id)
	})
	if at < 0 {
		return api.Invalid(api.CodeInvalidValue, fmt.Sprintf("messages[%d].tool_call_id", i),
			"messages[%d] answers no open tool call of the assistant's message before it", i)
	}
	f.calls[at].done, f.moved = true, true
	call := f.calls[at].call
	f.push(false, Block{
		Result:       &Result{ID: call.ID, Name: call.Name, Content: filled(parts(m.Content)), order: at},
		CacheControl: m.CacheControl,
	})
	return nil
}

// answered fails when a call of the last assistant turn has had no result.
func (f *folder) answered(i int) error {
	for _, p := range f.calls {
		if !p.done {
			return api.Invalid(api.CodeInvalidValue, fmt.Sprintf("messages[%d]", i),
				"messages[%d] has tool calls that are not answered by the tool messages after it: %s", f.asked, p.original)
		}
	}
	f.calls, f.moved = nil, false
	return nil
}

func (f *folder) push(assistant bool, b Block) {
	if n := len(f.out.Turns); n > 0 && f.out.Turns[n-1].Assistant == assistant {
		f.out.Turns[n-1].Blocks = append(f.out.Turns[n-1].Blocks, b)
		return
	}
	f.out.Turns = append(f.out.Turns, Turn{Assistant: assistant, Blocks: []Block{b}})
}

func (f *folder) ignore(m *api.Message) {
	if m.Name != "" && m.Role != "function" {
		f.ignored("messages[].name")
	}
	if len(m.Audio) > 0 && m.Audio.Kind() != jsontext.KindNull {
		f.ignored("messages[].audio")
	}
	var extra map[string]jsontext.Value
	if len(m.Extra) > 0 && json.Unmarshal(m.Extra, &extra) == nil {
		for name, value := range extra {
			if value.Kind() != jsontext.KindNull {
				f.ignored("messages[]." + name)
			}
		}
	}
}

func (f *folder) ignored(name string) {
	if !slices.Contains(f.out.Ignored, name) {
		f.out.Ignored = append(f.out.Ignored, name)
		slices.Sort(f.out.Ignored)
	}
}

// instructionsOnly makes a request of nothing but instructions one the
// providers accept: somebody has to speak.
func (f *folder) instructionsOnly() {
	if len(f.out.Turns) == 0 && len(f.out.System) > 0 {
		f.out.Turns = []Turn{{Blocks: f.out.System}}
		f.out.System = nil
	}
}

// sort brings the results of a turn to its front.
func (t *Turn) sort() {
	slices.SortStableFunc(t.Blocks, func(a, b Block) int {
		return cmp.Compare(rank(a), rank(b))
	})
}

func rank(b Block) int {
	if b.Result != nil {
		return b.Result.order
	}
	return math.MaxInt
}

func toolCalls(i int, m *api.Message) ([]pending, error) {
	all := m.ToolCalls
	if m.FunctionCall != nil {
		all = append(slices.Clone(all), api.ToolCall{ID: "call_" + m.FunctionCall.Name, Function: m.FunctionCall})
	}
	calls := make([]pending, 0, len(all))
	for j, c := range all {
		if c.Function == nil {
			return nil, api.Invalid(api.CodeUnsupportedValue, fmt.Sprintf("messages[%d].tool_calls[%d].type", i, j),
				"the model of this request knows no tool calls of type %q", c.Type)
		}
		id, carried := carry.Unpack(c.ID)
		call := &Call{ID: id, Name: c.Function.Name, Arguments: arguments(c.Function.Arguments)}
		call.Signature = signature(c, carried)
		calls = append(calls, pending{call: call, original: c.ID})
	}
	return calls, nil
}

func signature(c api.ToolCall, carried []api.ReasoningDetail) string {
	if c.ExtraContent != nil && c.ExtraContent.Google != nil && c.ExtraContent.Google.ThoughtSignature != "" {
		return c.ExtraContent.Google.ThoughtSignature
	}
	for _, d := range carried {
		if d.Format == api.FormatGemini {
			return d.Data
		}
	}
	return ""
}

// thoughts yields the reasoning a message brings back: in its own field, or
// else inside the ids of its tool calls.
func thoughts(m *api.Message) []api.ReasoningDetail {
	if len(m.ReasoningDetails) > 0 {
		return slices.Clone(m.ReasoningDetails)
	}
	var all []api.ReasoningDetail
	for _, c := range m.ToolCalls {
		_, carried := carry.Unpack(c.ID)
		for _, d := range carried {
			if d.Format != api.FormatGemini { // that one belongs to the call itself
				all = append(all, d)
			}
		}
	}
	return all
}

// arguments makes an object of the arguments' text. What a model left broken
// is kept, as a string, rather than refused or lost.
func arguments(text string) jsontext.Value {
	raw := jsontext.Value(strings.TrimSpace(text))
	switch {
	case len(raw) == 0:
		return jsontext.Value("{}")
	case !raw.IsValid():
		quoted, err := jsontext.AppendQuote([]byte(`{"_raw":`), text)
		if err != nil {
			return jsontext.Value("{}")
		}
		return append(quoted, '}')
	case raw.Kind() != jsontext.KindBeginObject:
		return append(append(jsontext.Value(`{"_raw":`), raw...), '}')
	}
	return raw
}

func parts(c api.Content) []api.ContentPart {
	if c.Parts == nil {
		return []api.ContentPart{{Type: "text", Text: c.Text}}
	}
	return c.Parts
}

// filled drops empty text, which OpenAI takes and the others refuse, and makes
// text of refusals.
func filled(all []api.ContentPart) []api.ContentPart {
	kept := make([]api.ContentPart, 0, len(all))
	for _, p := range all {
		if p.Type == "refusal" {
			p = api.ContentPart{Type: "text", Text: p.Refusal}
		}
		if p.Type != "text" || p.Text != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// blocks makes blocks of a message's content; a cache mark of the whole message
// stands behind its last part.
func blocks(m *api.Message) []Block {
	content := filled(parts(m.Content))
	all := make([]Block, len(content))
	for i := range content {
		all[i] = Block{Part: &content[i], CacheControl: content[i].CacheControl}
	}
	if n := len(all); n > 0 && len(all[n-1].CacheControl) == 0 {
		all[n-1].CacheControl = m.CacheControl
	}
	return all
}
