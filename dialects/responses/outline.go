package responses

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// The most elements that the lists of a request may have. An element of two bytes takes
// hundreds in memory once the conversation is made, so they are counted before.
const (
	maxItems = 10_000
	maxParts = 1_000 // of one item
	maxTools = 1_024 // of one list; also of all lists of a request that another provider serves
)

// outlined is what one pass over the body finds of the prompt.
type outlined struct {
	size   llm.Size
	items  int            // of the input
	last   itemKind       // of the last item
	update jsontext.Value // the last item that changes the settings
	marked bool           // the client says itself what the provider shall cache
	shell  bool           // there is a shell, which may run at OpenAI
}

// outline reads a body once: it finds the members, counts elements and measures the
// prompt. It does not judge what OpenAI alone can judge: a value that has not the expected
// form is passed over.
type outline struct {
	*body.Reader
	request *Request
}

// outline reads the body of a request.
func (r *Request) outline(memory api.Memory, text []byte) error {
	o := outline{Reader: body.NewReader(memory, text), request: r}
	for name := range o.Object() {
		o.member(name)
	}
	if err := o.Close(); err != nil {
		return err
	}
	p := &r.prompt
	r.left = o.Left
	p.size.Bytes = max(p.size.Bytes+int64(len(text)), 0)
	r.summary = r.endpoint == Compact || r.endpoint == Create && p.last == triggerItem
	return nil
}

func (o *outline) member(name []byte) {
	m, known := table.Of(name)
	if !known {
		o.Left.Add("", name, o.Raw())
		return
	}
	p := &o.request.prompt
	start := o.Start()
	switch m {
	case memberInput:
		p.items = 0
		for range o.Elements(maxItems, &o.request.common.Prompt.Messages) {
			p.items++
			o.item()
		}
		p.items = max(p.items, 1) // a text
		p.size.Messages += p.items
	case memberTools:
		o.tools()
	default:
		o.Value()
	}
	value := o.Since(start)
	o.request.members[m] = value
	table.Leave(&o.Left, m, value)
	switch m {
	case memberInstructions:
		p.size.Messages++
	case memberConversation, memberPrompt, memberPreviousResponseID: // what OpenAI keeps joins the prompt
		p.size.Hosted = p.size.Hosted || body.Asks(value)
	case memberText:
		p.size.Shaped = p.size.Shaped || shapes(value)
	}
}

// shapes says whether the settings of a text ask for JSON.
func shapes(text jsontext.Value) bool {
	format := jsonbytes.Member(text, "format")
	return llm.Given(format) && jsonbytes.Text(jsonbytes.Member(format, "type")) != "text"
}

// item reads an item of the input.
func (o *outline) item() {
	p := &o.request.prompt
	p.last = unknownItem
	if o.Peek() != '{' {
		o.Value()
		return
	}
	start := o.Start()
	var kind []byte
	typed, role := false, false
	for name := range o.Object() {
		switch string(name) {
		case "type":
			typed, kind = true, o.Word()
		case "role":
			role = true
			o.Value()
		case "content", "output", "summary":
			for range o.List(maxParts) {
				o.part()
			}
		case "tools":
			o.tools()
		default:
			o.Value()
		}
	}
	if p.last = itemKindOf(string(kind)); !typed && role {
		p.last = messageItem
	}
	switch p.last {
	case updateItem:
		value := o.Since(start)
		p.update = value
		p.size.Shaped = p.size.Shaped || shapes(jsonbytes.Member(value, "text"))
	case referenceItem, unknownItem: // OpenAI adds what the client does not send
		p.size.Hosted = true
	case hostedItem: // of which OpenAI may keep more than the client sends
		p.size.Hosted = true
	case imageItem:
		p.size.Media++
		p.size.Opaque = true
	}
}

func (o *outline) tools() {
	for range o.List(maxTools) {
		o.tool()
	}
}

// tool reads a tool, or a list of tools with a name in common.
func (o *outline) tool() {
	p := &o.request.prompt
	if o.Peek() != '{' {
		o.Value()
		return
	}
	var kind []byte
	for name := range o.Object() {
		switch string(name) {
		case "type":
			kind = o.Word()
		case "tools":
			o.tools()
		default:
			o.Value()
		}
	}
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
