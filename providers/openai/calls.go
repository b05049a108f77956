package openai

import (
	"slices"
	"strings"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/llm/carried"
)

// call is a tool call that is being streamed.
type call struct {
	index     int64  // upstream's, or -1 where it has none
	id        string // upstream's
	at        int    // ours
	named     bool   // its function's name has arrived
	arguments bool   // a fragment has arrived
}

// toolCall finds the call of a fragment: by its index, else by its id, else it
// is the last call.
func (s *stream) toolCall(choice int, f *eventCall) bool {
	known := s.calls[choice]
	at := slices.IndexFunc(known, func(c call) bool {
		if f.Index != nil {
			return c.index == *f.Index && (f.ID == "" || c.id == "" || c.id == f.ID)
		}
		return f.ID != "" && c.id == f.ID
	})
	if at < 0 && f.Index == nil && f.ID == "" && (f.Function == nil || f.Function.Name == "") {
		at = len(known) - 1
	}
	if at < 0 {
		return s.newCall(choice, f)
	}
	c := &known[at]
	if f.Function == nil {
		return s.out.Fragment(choice, chat.ToolCallDelta{Index: c.at, Custom: f.Custom, Extra: f.Extra})
	}
	delta := chat.ToolCallDelta{Index: c.at, Extra: f.Extra}
	delta.Function = &chat.FunctionDelta{Arguments: f.Function.Arguments, Extra: f.Function.Extra}
	if !c.named { // some compatible servers repeat the name, others send it late
		delta.Function.Name, c.named = f.Function.Name, f.Function.Name != ""
	}
	c.arguments = c.arguments || f.Function.Arguments != ""
	return s.out.Fragment(choice, delta)
}

func (s *stream) newCall(choice int, f *eventCall) bool {
	if len(s.calls[choice]) == llm.MaxCalls {
		s.out.Fail(s.client.Malformed(llm.ErrManyCalls))
		return false
	}
	start := chat.ToolCall{ID: f.ID, Type: f.Type, Custom: f.Custom, ExtraContent: f.ExtraContent, Extra: f.Extra}
	if f.Function != nil {
		function := chat.FunctionCall(*f.Function)
		start.Function = &function
	}
	if start.ID == "" {
		start.ID = llm.NewID("call_")
	}
	at, ok := s.out.Call(choice, start)
	c := call{index: -1, id: f.ID, at: at, named: start.Function != nil && start.Function.Name != ""}
	c.arguments = f.Function == nil || f.Function.Arguments != ""
	if f.Index != nil {
		c.index = *f.Index
	}
	s.calls[choice] = append(s.calls[choice], c)
	return ok
}

// closeCalls gives calls that had no arguments an empty object.
func (s *stream) closeCalls(choice int) bool {
	for i := range s.calls[choice] {
		c := &s.calls[choice][i]
		if c.arguments {
			continue
		}
		c.arguments = true
		if !s.out.Arguments(choice, c.at, "{}") {
			return false
		}
	}
	return true
}

// openCalls are the calls of the last assistant's message: each wants its result before
// anything else is said.
type openCalls struct {
	req   *llm.Request
	calls []openCall
	byKey map[string][]int // the calls by their ids and by their function
	open  int              // how many of them have no result
	asked llm.At           // the message with them
}

type openCall struct {
	call *llm.Call
	id   string // upstream
	done bool
}

// settle forgets the calls.
func (o *openCalls) settle() { o.calls, o.byKey, o.open = nil, nil, 0 }

// whole fails where the conversation ends with calls of which only some have a result.
// Without any result the upstream is to say.
func (o *openCalls) whole(c *llm.Conversation) error {
	if o.open > 0 && o.open < len(o.calls) {
		return o.unanswered(c.Messages[len(c.Messages)-1].At)
	}
	return nil
}

// unanswered is the error at a message before which a call has no result.
func (o *openCalls) unanswered(at llm.At) error {
	path := o.req.Source.Path
	first := slices.IndexFunc(o.calls, func(c openCall) bool { return !c.done })
	return api.Invalid(api.CodeInvalidValue, path(llm.FieldMessage, at),
		"%s has tool calls that are not answered by the tool messages after it: %.64s", path(llm.FieldMessage, o.asked), o.calls[first].call.ID)
}

// answers is the call that a result in a message answers.
func (o *openCalls) answers(m *llm.Message, b *llm.Block) (*openCall, error) {
	if call := o.take(b.Result); call != nil {
		return call, nil
	}
	path := o.req.Source.Path
	return nil, api.Invalid(api.CodeInvalidValue, path(llm.FieldResultID, b.At),
		"%s answers no open tool call of the assistant's message before it", path(llm.FieldMessage, m.At))
}

// take finds the call that a result answers: by its id, or by its function where
// the client knows no ids. Some clients repeat ids: each call is answered once.
func (o *openCalls) take(r *llm.Result) *openCall {
	keys := []string{r.ClientID, r.ID}
	if r.ClientID == "" {
		keys = []string{functionKey(r.Name)}
	}
	for _, key := range keys {
		waiting, known := o.byKey[key]
		for len(waiting) > 0 && o.calls[waiting[0]].done {
			waiting = waiting[1:]
		}
		if known {
			o.byKey[key] = waiting
		}
		if len(waiting) > 0 {
			c := &o.calls[waiting[0]]
			c.done = true
			o.open--
			return c
		}
	}
	return nil
}

// functionKey is a key of byKey that no id can equal.
func functionKey(name string) string { return "\x00" + name }

// await keeps the calls of a message until their results come.
func (o *openCalls) await(calls []openCall, at llm.At) {
	o.calls, o.open, o.asked, o.byKey = calls, len(calls), at, nil
	if len(calls) == 0 {
		return
	}
	o.byKey = make(map[string][]int, 2*len(calls))
	for i := range calls {
		c := calls[i].call
		o.byKey[c.ClientID] = append(o.byKey[c.ClientID], i)
		if c.ID != c.ClientID {
			o.byKey[c.ID] = append(o.byKey[c.ID], i)
		}
		o.byKey[functionKey(c.Name)] = append(o.byKey[functionKey(c.Name)], i)
	}
}

// callIDs gives each tool call of a request an id of its own that OpenAI accepts.
// Clients bring ids of other providers, and some repeat them. The id of a call does
// not depend on what comes after it: it is the same in every later request.
type callIDs struct{ carried.IDs }

// unique makes of a long id the one that it has where the client's bytes travel.
func (ids *callIDs) unique(id string) string { return ids.Distinct(short(legal(short(id))), longestID) }

// legal is an id or a name of letters, digits, _ and -. A piece of its hash
// distinguishes what had to be changed.
func legal(text string) string {
	if text != "" && !strings.ContainsFunc(text, illegal) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if illegal(r) {
			return '_'
		}
		return r
	}, text) + "_" + hashed(text)[:8]
}

func illegal(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
