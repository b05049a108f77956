package chat

import (
	"slices"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
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
