package responses

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// The most elements that the lists of a request may have. An element of two bytes takes
// hundreds in memory once the conversation is made, so they are counted before.
const (
	maxItems = 10_000
	maxParts = 1_000 // of one item
	maxTools = 1_024 // of one list; also of all lists of a request that another provider serves
)

// bytesPerValue is what a member or an element takes at most in a translation: schemas
// are rewritten, and names are compared.
const bytesPerValue = 128

// outlined is what one pass over the body finds of the prompt.
type outlined struct {
	size   llm.Size
	items  int            // of the input
	last   itemKind       // of the last item
	update jsontext.Value // the last item that changes the settings
	marked bool           // the client says itself what the provider shall cache
	shell  bool           // there is a shell, which may run at OpenAI
}

// outline reads a body once: it checks its syntax, finds the members, counts elements and
// measures the prompt. It does not judge what OpenAI alone can judge: a value that has not
// the expected form is passed over.
type outline struct {
	scan.Checker
	request *Request
	memory  api.Memory
	body    []byte

	objects int   // that become values of Go types in a conversation
	err     error // of memory, or of a list that is too long
}

// outline reads the body of a request.
func (r *Request) outline(memory api.Memory, body []byte) error {
	o := outline{request: r, memory: memory, body: body}
	return o.run()
}

func (o *outline) run() error {
	o.Reset(o.body)
	o.Room = o
	mark := o.Enter('{')
	for first := true; o.More('}', first); first = false {
		o.member(o.Name(mark))
	}
	o.Leave(mark)
	switch {
	case o.err != nil:
		return o.err
	case !o.Done():
		return api.SyntaxFault(o.memory, o.body)
	case !o.Grant(int64(o.objects)*api.BytesPerObject + int64(o.Values)*bytesPerValue):
		return o.err
	}
	p := &o.request.prompt
	p.size.Bytes = max(p.size.Bytes+int64(len(o.body)), 0)
	o.request.summary = o.request.endpoint == Compact || o.request.endpoint == Create && p.last == triggerItem
	return nil
}

// Grant is false if there is no room.
func (o *outline) Grant(bytes int64) bool {
	if o.memory == nil {
		return true
	}
	o.err = o.memory.Reserve(bytes)
	return o.err == nil
}

func (o *outline) member(name []byte) {
	m, known := memberByName[string(name)]
	if !known {
		o.request.lossy = true
		o.Value()
		return
	}
	o.request.lossy = o.request.lossy || !read[m] || inner[m] != nil
	p := &o.request.prompt
	start := o.begin()
	switch m {
	case memberInput:
		if p.items = o.list("input", maxItems, (*outline).item); p.items == 0 {
			p.items = 1 // a text
		}
		p.size.Messages += p.items
	case memberTools:
		o.list("tools", maxTools, (*outline).tool)
	default:
		o.Value()
	}
	value := o.since(start)
	o.request.members[m] = value
	switch m {
	case memberInstructions:
		p.size.Messages++
	case memberConversation, memberPrompt, memberPreviousResponseID: // what OpenAI keeps joins the prompt
		p.size.Hosted = p.size.Hosted || api.Asks(value)
	case memberText:
		p.size.Shaped = p.size.Shaped || shapes(value)
	}
}

// shapes says whether the settings of a text ask for JSON.
func shapes(text jsontext.Value) bool {
	format := scan.Member(text, "format")
	return llm.Given(format) && scan.Text(scan.Member(format, "type")) != "text"
}

// begin is where the next value begins.
func (o *outline) begin() int {
	o.Peek()
	return o.Offset()
}

// since is the value that began at start and has just been read; nil after a failure.
func (o *outline) since(start int) jsontext.Value {
	if o.Failed() {
		return nil
	}
	end := o.Offset()
	return jsontext.Value(o.body[start:end:end])
}

// list reads a list of at most limit elements, or any other value, and returns how many
// elements there are.
func (o *outline) list(path string, limit int, element func(*outline)) (n int) {
	if o.Peek() != '[' {
		o.Value()
		return 0
	}
	mark := o.Enter('[')
	for first := true; o.More(']', first); first = false {
		o.Values++
		if n++; n > limit {
			o.err = api.TooMany(path, limit)
			o.Fail()
			return n
		}
		element(o)
	}
	o.Leave(mark)
	return n
}

// item reads an item of the input.
func (o *outline) item() {
	p := &o.request.prompt
	p.last = unknownItem
	if o.Peek() != '{' {
		o.Value()
		return
	}
	start := o.begin()
	var kind []byte
	typed, role := false, false
	o.objects++
	mark := o.Enter('{')
	for first := true; o.More('}', first); first = false {
		switch string(o.Name(mark)) {
		case "type":
			typed, kind = true, o.word()
		case "role":
			role = true
			o.Value()
		case "content":
			o.list("input[].content", maxParts, (*outline).part)
		case "output":
			o.list("input[].output", maxParts, (*outline).part)
		case "summary":
			o.list("input[].summary", maxParts, (*outline).part)
		case "tools":
			o.list("input[].tools", maxTools, (*outline).tool)
		default:
			o.Value()
		}
	}
	o.Leave(mark)
	if p.last = itemKindOf(string(kind)); !typed && role {
		p.last = messageItem
	}
	switch p.last {
	case updateItem:
		value := o.since(start)
		p.update = value
		p.size.Shaped = p.size.Shaped || shapes(scan.Member(value, "text"))
	case referenceItem, unknownItem: // OpenAI adds what the client does not send
		p.size.Hosted = true
	case hostedItem: // of which OpenAI may keep more than the client sends
		p.size.Hosted = true
	case imageItem:
		p.size.Media++
		p.size.Opaque = true
	}
}

// tool reads a tool, or a list of tools with a name in common.
func (o *outline) tool() {
	p := &o.request.prompt
	if o.Peek() != '{' {
		o.Value()
		return
	}
	o.objects++
	var kind []byte
	mark := o.Enter('{')
	for first := true; o.More('}', first); first = false {
		switch string(o.Name(mark)) {
		case "type":
			kind = o.word()
		case "tools":
			o.list("tools[].tools", maxTools, (*outline).tool)
		default:
			o.Value()
		}
	}
	o.Leave(mark)
	switch toolKindOf(string(kind)) {
	case namespaceTool:
	case hostedTool: // what it finds joins the prompt
		p.size.Tools++
		p.size.Hosted = true
	case shellTool:
		p.size.Tools++
		p.shell = true
	default:
		p.size.Tools++
	}
}
