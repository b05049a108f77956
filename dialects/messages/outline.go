package messages

import (
	"modelgateway/api"
	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// The most elements that the lists of a request may have. An element of two bytes takes
// hundreds in memory once the conversation is made, so they are counted before.
const (
	maxMessages = 10_000
	maxBlocks   = 1_000 // of one message, and of the content of one block
	maxTools    = 1_024 // also the calls of one message
)

// outline reads a body once: it finds the members, counts elements and measures the
// prompt. It does not judge what Anthropic alone can judge: a value that has not the
// expected form is passed over.
type outline struct {
	*body.Reader
	request *Request

	marked   int              // the end of the last cache mark of the member that is read; 0 = there is none
	unmarked [memberCount]int // bytes of the members with a mark after the last one
}

// outline reads the body of a request.
func (r *Request) outline(memory api.Memory, text []byte) error {
	o := outline{Reader: body.NewReader(memory, text), request: r}
	o.TooMany = tooMany
	for name := range o.Object() {
		o.member(name)
	}
	if err := o.Close(); err != nil {
		return err
	}
	r.left = o.Left
	r.size.Bytes = max(r.size.Bytes+int64(len(text)), 0)
	o.measureMarks()
	return nil
}

func (o *outline) member(name []byte) {
	m, known := table.Of(name)
	if !known {
		o.Left.Add("", name, o.Raw())
		return
	}
	start := o.Start()
	o.marked = 0
	switch m {
	case memberMessages:
		for range o.Elements(maxMessages, &o.request.common.Prompt.Messages) {
			o.request.size.Messages++
			o.message()
		}
	case memberSystem:
		o.blocks()
	case memberTools:
		for range o.List(maxTools) {
			o.request.size.Tools++
			o.tool()
		}
	default:
		o.Value()
	}
	value := o.Since(start)
	o.request.members[m] = value
	table.Leave(&o.Left, m, value)
	if o.marked > 0 {
		o.unmarked[m] = o.Offset() - o.marked
	}
	s := &o.request.size
	switch m {
	case memberContainer, memberMCPServers: // what is done there joins the prompt
		s.Hosted = s.Hosted || body.Asks(value)
	case memberThread: // the conversation before it joins the prompt
		s.Hosted = s.Hosted || llm.Given(jsonbytes.Member(value, previousMessage))
	case memberOutputFormat:
		s.Shaped = s.Shaped || body.Asks(value)
	case memberOutputConfig:
		s.Shaped = s.Shaped || llm.Given(jsonbytes.Member(value, "format"))
	}
}

func (o *outline) message() {
	for name := range o.Object() {
		switch string(name) {
		case "content":
			o.request.blocks += max(o.blocks(), 1)
		case "output_config":
			o.request.turn = o.Raw()
		default:
			o.Value()
		}
	}
}

// blocks reads the blocks of a content, and returns how many there are.
func (o *outline) blocks() (n int) {
	for range o.List(maxBlocks) {
		o.block()
		n++
	}
	return n
}

func (o *outline) tool() {
	for name := range o.Object() {
		value := o.Raw()
		switch string(name) {
		case "type":
			s := &o.request.size
			s.Hosted = s.Hosted || toolKindOf(value) == toolHosted // it runs at Anthropic, and what it finds joins the prompt
		case "cache_control":
			o.mark(value)
		}
	}
}
