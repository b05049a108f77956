package messages

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// The most elements that the lists of a request may have. An element of two bytes takes
// hundreds in memory once the conversation is made, so they are counted before.
const (
	maxMessages = 10_000
	maxBlocks   = 1_000 // of one message, and of the content of one block
	maxTools    = 1_024 // also the calls of one message
)

// bytesPerValue is what a member or an element takes at most in a translation: schemas
// are rewritten, and names are compared.
const bytesPerValue = 128

// outline reads a body once: it checks its syntax, finds the members, counts elements and
// measures the prompt. It does not judge what Anthropic alone can judge: a value that has
// not the expected form is passed over.
type outline struct {
	scan.Checker
	request *Request
	memory  api.Memory
	body    []byte

	objects  int              // that become values of Go types in a conversation
	marked   int              // the end of the last cache mark of the member that is read; 0 = there is none
	unmarked [memberCount]int // bytes of the members with a mark after the last one
	err      error            // of memory, or of a list that is too long
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
	o.request.size.Bytes = max(o.request.size.Bytes+int64(len(o.body)), 0)
	o.measureMarks()
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
	start := o.begin()
	o.marked = 0
	switch m {
	case memberMessages:
		o.request.size.Messages = o.list("messages", maxMessages, (*outline).message)
	case memberSystem:
		o.list("system", maxBlocks, (*outline).block)
	case memberTools:
		o.request.size.Tools = o.list("tools", maxTools, (*outline).tool)
	default:
		o.Value()
	}
	o.request.members[m] = o.since(start)
	if o.marked > 0 {
		o.unmarked[m] = o.Offset() - o.marked
	}
	s := &o.request.size
	switch m {
	case memberContainer, memberMCPServers: // what is done there joins the prompt
		s.Hosted = s.Hosted || api.Asks(o.request.members[m])
	case memberThread: // the conversation before it joins the prompt
		s.Hosted = s.Hosted || llm.Given(scan.Member(o.request.members[m], previousMessage))
	case memberOutputFormat:
		s.Shaped = s.Shaped || api.Asks(o.request.members[m])
	case memberOutputConfig:
		s.Shaped = s.Shaped || llm.Given(scan.Member(o.request.members[m], "format"))
	}
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
			o.err = tooMany(path, limit)
			o.Fail()
			return n
		}
		element(o)
	}
	o.Leave(mark)
	return n
}

// object reads the members of an object, or any other value.
func (o *outline) object(member func(o *outline, name []byte)) {
	if o.Peek() != '{' {
		o.Value()
		return
	}
	o.objects++
	mark := o.Enter('{')
	for first := true; o.More('}', first); first = false {
		member(o, o.Name(mark))
	}
	o.Leave(mark)
}

func (o *outline) message() {
	o.object(func(o *outline, name []byte) {
		switch string(name) {
		case "content":
			o.request.blocks += max(o.list("messages[].content", maxBlocks, (*outline).block), 1)
		case "output_config":
			start := o.begin()
			o.Value()
			o.request.turn = o.since(start)
		default:
			o.Value()
		}
	})
}

func (o *outline) tool() {
	start := o.begin()
	o.objects++
	o.Value()
	value := o.since(start)
	for name, value := range scan.Members(value) {
		switch {
		case name.Is("type"):
			s := &o.request.size
			s.Hosted = s.Hosted || toolKindOf(value) == toolHosted // it runs at Anthropic, and what it finds joins the prompt
		case name.Is("cache_control"):
			o.mark(value)
		}
	}
}
