package responses

import (
	"strconv"
	"strings"

	"modelgateway/dialects/ordering"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// call is the open call of a tool that the client runs.
type call struct {
	as      calledAs
	id      string
	index   int // among all calls of the answer
	open    bool
	started bool // it has arguments
	input   ordering.Object
	plain   bool   // its arguments are no object
	raw     []byte // its arguments, where the client gets them in another form
}

func (c *call) waits() bool { return c.open && !c.input.Done }

// beginCall begins a call. What its provider wants back with it is the thought right before it.
func (it *items) beginCall(e *llm.Event) {
	if it.single && e.CallIndex > 0 {
		return // the model repeats the others in its next turn
	}
	c := e.Call
	id := it.callID(c.ID)
	if c.Thought != nil {
		own := *c.Thought
		own.CallID = id // as it comes back
		it.seal(&own)
	}
	it.close(completed)
	it.call = call{as: it.request.as(c.Name), id: id, index: e.CallIndex, open: true, raw: it.call.raw[:0]}
	switch it.kind = it.call.as.item; it.kind {
	case functionCall:
		it.start(functionCall, it.callMembers("arguments", inProgress))
		it.heading("response.function_call_arguments.delta", "", 0)
	case customCall:
		it.start(customCall, it.callMembers("input", inProgress))
	}
	it.input(c.Arguments)
}

// callID is the provider's id of a call where it is one that clients and OpenAI take: each
// id once, and not longer than 64 bytes.
func (it *items) callID(id string) string {
	const longest = 64
	if id == "" || len(id) > longest || it.ids[id] {
		id = "call_" + it.stem + "_" + strconv.Itoa(len(it.ids))
	}
	if it.ids == nil {
		it.ids = map[string]bool{}
	}
	it.ids[id] = true
	return id
}

// writeArguments writes a piece of the arguments of the open call. A call that has ended takes none:
// its arguments were complete.
func (it *items) writeArguments(e *llm.Event) {
	if it.call.open && e.CallIndex == it.call.index {
		it.input(e.Text)
	}
}

// input takes a piece of the arguments up to the end of their object. A function has no
// others: some servers send null for none. For a custom tool such are its text.
func (it *items) input(fragment string) {
	c := &it.call
	if !c.started {
		first := strings.TrimLeft(fragment, " \t\r\n")
		if first == "" {
			return
		}
		c.plain = first[0] != '{'
		c.started = !c.plain || c.as.item != functionCall
		c.input.Done = c.plain
	}
	if !c.started {
		return
	}
	if !c.plain {
		fragment = fragment[:c.input.Add(fragment)]
	}
	switch {
	case fragment == "":
	case c.as.item == functionCall:
		it.delta(fragment, "")
	default:
		c.raw = append(c.raw, fragment...)
	}
}

// closeCall ends a call. answer is the status of one whose arguments are cut.
func (it *items) closeCall(answer status) {
	c := &it.call
	c.open = false
	state := completed
	if answer == incomplete && (!c.input.Done || c.plain && c.as.item != functionCall) {
		state = incomplete
	}
	switch it.kind {
	case functionCall:
		it.closeFunction(state)
	case customCall:
		it.closeCustom(state)
	default:
		it.closeClient(state)
	}
}

func (it *items) closeFunction(state status) {
	if !it.call.started && state == completed {
		it.delta("{}", "")
	}
	if it.openItem("response.function_call_arguments.done") {
		it.out = it.out.Escaped("arguments", it.text).Text("name", it.call.as.name)
		it.shut()
	}
	it.finish(it.callMembers("arguments", state))
}

func (it *items) closeCustom(state status) {
	if text := customInput(it.call.raw); text != "" {
		it.heading("response.custom_tool_call_input.delta", "", 0)
		it.delta(text, "")
	}
	if it.openItem("response.custom_tool_call_input.done") {
		it.out = it.out.Escaped("input", it.text)
		it.shut()
	}
	it.finish(it.callMembers("input", state))
}

// callMembers are those of a call, whose input has a name, under the tool's name that the client
// knows.
func (it *items) callMembers(input string, is status) members {
	return func(w jsonbytes.Writer) jsonbytes.Writer {
		c := &it.call
		w = w.Text("status", string(is)).Escaped(input, it.text).Text("call_id", c.id).Text("name", c.as.name)
		if c.as.namespace != "" {
			w = w.Text("namespace", c.as.namespace)
		}
		return w
	}
}

// closeClient writes a call of a tool that has an item of its own. Its events come at once.
func (it *items) closeClient(state status) {
	rest := func(is status) members {
		return func(w jsonbytes.Writer) jsonbytes.Writer {
			return action(w.Text("status", string(is)).Text("call_id", it.call.id), it.kind, it.call.raw)
		}
	}
	it.start(it.kind, rest(inProgress))
	it.finish(rest(state))
}
