package compose

import (
	"slices"

	"modelgateway/api"
	"modelgateway/llm"
)

// OpenCalls are the calls of the last assistant's message: each wants its result before
// anything else is said.
type OpenCalls struct {
	Request *llm.Request
	calls   []OpenCall
	byKey   map[string][]int // the calls by their ids and by their function
	Open    int              // how many of them have no result
	asked   llm.At           // the message with them
}

// OpenCall is a call that wants a result.
type OpenCall struct {
	Call *llm.Call
	ID   string // upstream
	done bool
}

// Forget forgets the calls.
func (o *OpenCalls) Forget() { o.calls, o.byKey, o.Open = nil, nil, 0 }

// CheckEnd fails where the conversation ends with calls of which only some have a result.
// Without any result the upstream is to say.
func (o *OpenCalls) CheckEnd(c *llm.Conversation) error {
	if o.Open > 0 && o.Open < len(o.calls) {
		return o.Unanswered(c.Messages[len(c.Messages)-1].At)
	}
	return nil
}

// Unanswered is the error at a message before which a call has no result.
func (o *OpenCalls) Unanswered(at llm.At) error {
	path := o.Request.Source.Path
	first := slices.IndexFunc(o.calls, func(c OpenCall) bool { return !c.done })
	return api.Invalid(api.CodeInvalidValue, path(llm.FieldMessage, at),
		"%s has tool calls that are not answered by the tool messages after it: %.64s", path(llm.FieldMessage, o.asked), o.calls[first].Call.ID)
}

// CallOf is the call that a result in a message answers.
func (o *OpenCalls) CallOf(m *llm.Message, b *llm.Block) (*OpenCall, error) {
	if call := o.take(b.Result); call != nil {
		return call, nil
	}
	path := o.Request.Source.Path
	return nil, api.Invalid(api.CodeInvalidValue, path(llm.FieldResultID, b.At),
		"%s answers no open tool call of the assistant's message before it", path(llm.FieldMessage, m.At))
}

// take finds the call that a result answers: by its id, or by its function where
// the client knows no ids. Some clients repeat ids: each call is answered once.
func (o *OpenCalls) take(r *llm.Result) *OpenCall {
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
			o.Open--
			return c
		}
	}
	return nil
}

// functionKey is a key of byKey that no id can equal.
func functionKey(name string) string { return "\x00" + name }

// Await keeps the calls of a message until their results come.
func (o *OpenCalls) Await(calls []OpenCall, at llm.At) {
	o.calls, o.Open, o.asked, o.byKey = calls, len(calls), at, nil
	if len(calls) == 0 {
		return
	}
	o.byKey = make(map[string][]int, 2*len(calls))
	for i := range calls {
		c := calls[i].Call
		o.byKey[c.ClientID] = append(o.byKey[c.ClientID], i)
		if c.ID != c.ClientID {
			o.byKey[c.ID] = append(o.byKey[c.ID], i)
		}
		o.byKey[functionKey(c.Name)] = append(o.byKey[functionKey(c.Name)], i)
	}
}
