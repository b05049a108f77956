package responses

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// calls are the calls of the conversation that have no result yet.
type calls struct {
	byID   map[string][]*openCall
	byName map[string][]*openCall // by the function's name
	open   int                    // of all of them
	all    []*openCall
}

// openCall is a call that waits for its result.
type openCall struct {
	call    *llm.Call
	message int // that holds it
	at      place
	done    bool
}

// call adds a tool call. What its provider wants back with it is in the reasoning item
// before it, or in its id where the conversation began in another dialect.
func (b *builder) call(at place, name string, kind itemKind, from jsonbytes.Fields) *api.Error {
	call := &llm.Call{ClientID: cmp.Or(from.Text("call_id"), from.Text("id"))}
	as := calledAs{item: itemType(name)}
	var err *api.Error
	switch kind {
	case callItem, customCallItem:
		as.namespace, as.name = from.Text("namespace"), from.Text("name")
		if as.name == "" {
			return api.Missing(at.path() + ".name")
		}
		call.Arguments, err = arguments(at, kind, from)
	case searchCallItem:
		if from.Text("execution") == "server" { // the tools that were found have joined the list
			return nil
		}
		call.Arguments, err = object(at, "arguments", from.Of("arguments"))
	default:
		member := "action"
		if as.item == applyPatchCall {
			member = "operation"
		}
		if call.Arguments, err = object(at, member, from.Of(member)); err == nil && as.item == localShellCall {
			call.Arguments = without(call.Arguments, "type")
		}
	}
	if err != nil {
		return err
	}
	if call.ClientID == "" {
		return api.Missing(at.path() + ".call_id")
	}
	call.Name = b.function(as)
	b.unknownOfCall(from)
	own, thoughts := roundtrip.Unpack(call.ClientID)
	call.ID = b.ids.Unique(own)
	for i := range thoughts {
		t := &thoughts[i]
		if t.Format.SignsCalls() && (t.CallID == "" || t.CallID == own) {
			call.Signature = cmp.Or(call.Signature, t.Data)
			continue
		}
		t.CallID = cmp.Or(t.CallID, own)
		b.add(llm.RoleAssistant, llm.Block{Kind: llm.BlockThought, Thought: t, At: at.at()})
	}
	b.add(llm.RoleAssistant, llm.Block{Kind: llm.BlockCall, Call: call, At: at.at()})
	b.calls.add(&openCall{call: call, message: b.side, at: at})
	return nil
}

// unknownOfCall notes the members of a call that have no place in the conversation.
func (b *builder) unknownOfCall(from jsonbytes.Fields) {
	for _, f := range from {
		switch string(f.Name) {
		case "type", "id", "call_id", "name", "namespace", "arguments", "input", "action", "operation", "status", "execution", "caller",
			"environment", "parsed_arguments", "max_output_length", "async":
		default:
			b.ignored.Add("input[].", f.Name, f.Value)
		}
	}
}

// arguments are those of a function, or the text of another tool as the function's input.
func arguments(at place, kind itemKind, from jsonbytes.Fields) (jsontext.Value, *api.Error) {
	member := "arguments"
	if kind == customCallItem {
		member = "input"
	}
	value := from.Of(member)
	if llm.Given(value) && value.Kind() != jsontext.KindString {
		return nil, invalid(at.path()+"."+member, "%s.%s must be a string", at.path(), member)
	}
	if kind == callItem {
		return api.Arguments(jsonbytes.Text(value)), nil
	}
	if !llm.Given(value) {
		value = jsontext.Value(`""`)
	}
	return append(append(jsontext.Value(`{"input":`), value...), '}'), nil
}

// object is a member that must be an object.
func object(at place, member string, value jsontext.Value) (jsontext.Value, *api.Error) {
	switch {
	case !llm.Given(value):
		return jsontext.Value("{}"), nil
	case value.Kind() != jsontext.KindBeginObject:
		return nil, invalid(at.path()+"."+member, "%s.%s must be an object", at.path(), member)
	}
	return value, nil
}

// without is an object without one of its members.
func without(object jsontext.Value, member string) jsontext.Value {
	out := append(make(jsontext.Value, 0, len(object)), '{')
	for name, value := range jsonbytes.Members(object) {
		if name.Is(member) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}')
}

func (c *calls) add(call *openCall) {
	if c.byID == nil {
		c.byID, c.byName = map[string][]*openCall{}, map[string][]*openCall{}
	}
	c.byID[call.call.ClientID] = append(c.byID[call.call.ClientID], call)
	c.byName[call.call.Name] = append(c.byName[call.call.Name], call)
	c.all = append(c.all, call)
	c.open++
}

// take is the first call with an id that has no result yet; nil where there is none.
func (c *calls) take(id string) *openCall {
	waiting := c.byID[id]
	for len(waiting) > 0 && waiting[0].done {
		waiting = waiting[1:]
	}
	if len(waiting) == 0 {
		delete(c.byID, id)
		return nil
	}
	c.byID[id] = waiting
	return c.answered(waiting[0])
}

// takeNamed is the last call of a function that has no result yet; nil where there is none.
func (c *calls) takeNamed(function string) *openCall {
	waiting := c.byName[function]
	for len(waiting) > 0 && waiting[len(waiting)-1].done {
		waiting = waiting[:len(waiting)-1]
	}
	if len(waiting) == 0 {
		delete(c.byName, function)
		return nil
	}
	c.byName[function] = waiting
	return c.answered(waiting[len(waiting)-1])
}

func (c *calls) answered(call *openCall) *openCall {
	call.done = true
	c.open--
	return call
}

// unanswered is the error for a call without a result. A conversation may end with such
// calls: then the provider is to say whether it takes that.
func (b *builder) unanswered() *api.Error {
	if b.calls.open == 0 {
		return nil
	}
	last := len(b.made.Messages) - 1
	for last >= 0 && b.made.Messages[last].Role == llm.RoleInstructions {
		last--
	}
	for _, call := range b.calls.all {
		if !call.done && (call.message != last || b.request.summary) {
			return invalid("input", "No tool output found for function call %s.", api.Clip(call.call.ClientID))
		}
	}
	return nil
}

// result adds the result of a call, right behind the message with the call.
func (b *builder) result(at place, name string, from jsonbytes.Fields) *api.Error {
	id, call := b.answeredBy(name, from)
	if call == nil {
		return invalid(at.path()+".call_id", "No tool call found for function call output with call_id %s.", api.Clip(id))
	}
	result := &llm.Result{ID: call.call.ID, ClientID: call.call.ClientID}
	for _, f := range from {
		switch string(f.Name) {
		case "type", "id", "call_id", "name", "namespace", "output", "status", "caller", "max_output_length":
		default:
			b.ignored.Add("input[].", f.Name, f.Value)
		}
	}
	result.IsError = name == "apply_patch_call_output" && from.Text("status") == "failed"
	var err *api.Error
	if result.Content, err = b.output(at, name, from.Of("output")); err != nil {
		return err
	}
	b.addResult(call, llm.Block{Kind: llm.BlockResult, Result: result, At: at.at()})
	return nil
}

// answeredBy is the call that a result answers, and its id.
func (b *builder) answeredBy(name string, from jsonbytes.Fields) (id string, call *openCall) {
	id = from.Text("call_id")
	if id == "" && name == "local_shell_call_output" {
		id = from.Text("id")
	}
	if id != "" {
		return id, b.calls.take(id)
	}
	function, known := b.names[calledAs{item: functionCall, namespace: from.Text("namespace"), name: from.Text("name")}]
	if !known {
		return "", nil
	}
	return "", b.calls.takeNamed(function)
}

// addResult adds a result to the user's message behind its call.
func (b *builder) addResult(call *openCall, block llm.Block) {
	b.lastOmitted = false
	if call.message == b.side || b.side < 0 {
		b.add(llm.RoleUser, block)
		return
	}
	for i := call.message + 1; i < len(b.made.Messages); i++ {
		if m := &b.made.Messages[i]; m.Role == llm.RoleUser {
			m.Blocks = append(m.Blocks, block)
			return
		}
	}
	b.add(llm.RoleUser, block)
}

// output is the content of a result.
func (b *builder) output(at place, name string, value jsontext.Value) ([]llm.Block, *api.Error) {
	text := ""
	switch {
	case value.Kind() == jsontext.KindString:
		text = jsonbytes.Text(value)
	case !llm.Given(value):
	case value.Kind() != jsontext.KindBeginArray:
		return nil, invalid(at.path()+".output", "%s.output must be a string or an array", at.path())
	case name == "shell_call_output":
		text = shellOutput(value)
	default:
		return b.parts(at, outputList, value)
	}
	if text == "" {
		return nil, nil
	}
	return []llm.Block{{Kind: llm.BlockText, Text: text, At: at.at()}}, nil
}

// shellOutput is what commands have written, and how they ended.
func shellOutput(list jsontext.Value) string {
	var out strings.Builder
	for element := range jsonbytes.Elements(list) {
		for _, stream := range []string{"stdout", "stderr"} {
			if text := jsonbytes.Text(jsonbytes.Member(element, stream)); text != "" {
				out.WriteString(strings.TrimSuffix(text, "\n") + "\n")
			}
		}
		switch outcome := jsonbytes.Member(element, "outcome"); jsonbytes.Text(jsonbytes.Member(outcome, "type")) {
		case "timeout":
			out.WriteString("(The command was ended: it took too long.)\n")
		case "exit":
			if code := jsonbytes.Member(outcome, "exit_code"); code.Kind() == jsontext.KindNumber && string(code) != "0" {
				out.WriteString("(Exit code " + string(code) + ".)\n")
			}
		}
	}
	return out.String()
}

// found adds the tools that a search has found, and the result of the search where the
// client has run it.
func (b *builder) found(at place, from jsonbytes.Fields) *api.Error {
	tools, id, execution := from.Of("tools"), from.Text("call_id"), from.Text("execution")
	before := len(b.made.Tools)
	if err := b.addTools(at.item, tools); err != nil {
		return err
	}
	if execution == "server" {
		return nil
	}
	call := b.calls.take(id)
	if call == nil {
		return invalid(at.path()+".call_id", "No tool call found for tool_search_output with call_id %s.", api.Clip(id))
	}
	text := "No further tools were found."
	if added := b.made.Tools[before:]; len(added) > 0 {
		names := make([]string, len(added))
		for i := range added {
			names[i] = added[i].Name
		}
		text = "These tools can be called from now on: " + strings.Join(names, ", ")
	}
	result := &llm.Result{ID: call.call.ID, ClientID: call.call.ClientID}
	result.Content = []llm.Block{{Kind: llm.BlockText, Text: text, At: at.at()}}
	b.addResult(call, llm.Block{Kind: llm.BlockResult, Result: result, At: at.at()})
	return nil
}
