package messages

import (
	"strings"

	"modelgateway/api"
	"modelgateway/llm"
)

// turn pairs the tool calls of an assistant's turn with the results in the next one.
// Messages of one role in a row are one turn, and instructions belong to none.
type turn struct {
	begun  bool
	role   llm.Role
	calls  []pendingCall // of the last turn of the assistant
	byID   map[string]chain
	open   int
	asked  int // the message with the last of them
	others bool
}

// pendingCall is a call that waits for its result.
type pendingCall struct {
	call *llm.Call
	next int // the next one with the same id; -1 = none
}

// chain are the calls with one id that have no result yet.
type chain struct{ first, last int }

// begin is called before a message of the user or the assistant.
func (t *turn) begin(role llm.Role, message int) *api.Error {
	if t.begun && t.role == role {
		return nil
	}
	if role == llm.RoleAssistant {
		if err := t.unanswered(); err != nil {
			return err
		}
		t.calls, t.open = t.calls[:0], 0
		clear(t.byID)
	}
	t.begun, t.role, t.others = true, role, false
	return nil
}

// spoke is called for content of a message that is no result.
func (t *turn) spoke(role llm.Role) { t.others = t.others || role == llm.RoleUser }

// end is called after the last message. A conversation may end with calls that have no
// result at all: then the provider is to say whether it takes that.
func (t *turn) end() *api.Error {
	if t.role == llm.RoleAssistant || !t.others && t.open == len(t.calls) {
		return nil
	}
	return t.unanswered()
}

// unanswered is the error for the calls without a result; nil where there are none.
func (t *turn) unanswered() *api.Error {
	if t.open == 0 {
		return nil
	}
	var ids []string
	for i := range t.calls {
		if c := t.calls[i].call; c != nil && len(ids) < 10 {
			ids = append(ids, api.Clip(c.ClientID))
		}
	}
	return invalid(place{item: t.asked}.message(), "`tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(ids, ", "))
}

// called adds a call.
func (t *turn) called(call *llm.Call, message int) {
	if t.byID == nil {
		t.byID = map[string]chain{}
	}
	n := len(t.calls)
	t.calls = append(t.calls, pendingCall{call: call, next: -1})
	t.open, t.asked = t.open+1, message
	all, several := t.byID[call.ClientID]
	if !several {
		all.first = n
	} else {
		t.calls[all.last].next = n
	}
	all.last = n
	t.byID[call.ClientID] = all
}

// answered is the call that a result answers; nil where there is none.
func (t *turn) answered(id string) *llm.Call {
	all, known := t.byID[id]
	if !known || t.role != llm.RoleUser {
		return nil
	}
	waiting := &t.calls[all.first]
	call := waiting.call
	if waiting.call, t.open = nil, t.open-1; waiting.next < 0 {
		delete(t.byID, id)
	} else {
		all.first = waiting.next
		t.byID[id] = all
	}
	return call
}
