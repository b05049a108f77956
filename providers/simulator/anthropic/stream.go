package anthropic

import (
	"slices"
	"strings"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// stream writes an answer in events: message_start, its blocks one after the
// other with a ping in the first, message_delta, message_stop.
func (q *Request) stream(a answer, r reply.Reply) wire.Stream {
	opening, usage := a, a.Usage
	opening.StopReason, opening.StopSequence = nil, nil
	opening.Usage.OutputTokens, opening.Usage.OutputDetails.Thinking = 1, 0
	opening.ContextManagement = nil

	b := &streamBuilder{}
	b.event("message_start", rawjson.Object{"message", opening})
	if r.Reasoning != "" {
		b.thinking(q.shown(r.Reasoning))
	}
	if r.Text != "" {
		b.text(r.Text)
	}
	for _, c := range r.Calls {
		b.call(c)
	}
	closing := rawjson.Object{
		"delta", rawjson.Object{"stop_reason", a.StopReason, "stop_sequence", a.StopSequence, "stop_details", nil},
		"usage", rawjson.Object{
			"input_tokens", usage.InputTokens,
			"cache_creation_input_tokens", usage.CacheCreation, "cache_read_input_tokens", usage.CacheRead,
			"output_tokens", usage.OutputTokens, "output_tokens_details", usage.OutputDetails,
		},
	}
	if a.ContextManagement != nil {
		closing = append(closing, "context_management", a.ContextManagement)
	}
	b.event("message_delta", closing)
	b.event("message_stop", rawjson.Object{})
	return b.Stream
}

// streamBuilder numbers the blocks of a stream.
type streamBuilder struct {
	wire.Stream
	index int
}

func (b *streamBuilder) event(name string, payload rawjson.Object) {
	b.Events = append(b.Events, event(name, append(rawjson.Object{"type", name}, payload...)))
}

func (b *streamBuilder) start(block rawjson.Object) {
	b.event("content_block_start", rawjson.Object{"index", b.index, "content_block", block})
	if b.index == 0 {
		b.event("ping", rawjson.Object{})
	}
}

func (b *streamBuilder) delta(delta rawjson.Object) {
	b.event("content_block_delta", rawjson.Object{"index", b.index, "delta", delta})
}

func (b *streamBuilder) stop() {
	b.event("content_block_stop", rawjson.Object{"index", b.index})
	b.index++
}

// thinking sends the signature alone where the thinking is not shown.
func (b *streamBuilder) thinking(shown string) {
	b.start(rawjson.Object{"type", "thinking", "thinking", "", "signature", ""})
	for _, token := range reply.Split(shown) {
		b.delta(rawjson.Object{"type", "thinking_delta", "thinking", token})
	}
	b.delta(rawjson.Object{"type", "signature_delta", "signature", Sign(shown)})
	b.stop()
}

func (b *streamBuilder) text(text string) {
	b.start(rawjson.Object{"type", "text", "text", ""})
	for _, token := range reply.Split(text) {
		b.delta(rawjson.Object{"type", "text_delta", "text", token})
	}
	b.stop()
}

// call begins with an empty piece of input, the only piece of a call without
// arguments.
func (b *streamBuilder) call(c reply.Call) {
	b.start(toolUse(c.Name, rawjson.Object{}))
	b.delta(rawjson.Object{"type", "input_json_delta", "partial_json", ""})
	if c.Arguments != "{}" {
		for _, piece := range reply.Fragments(c.Arguments) {
			b.delta(rawjson.Object{"type", "input_json_delta", "partial_json", piece})
		}
	}
	b.stop()
}

// event pads the JSON with spaces before its last brace, as Anthropic does to
// hide how long a text is.
func event(name string, payload any) []byte {
	data := rawjson.Encode(payload)
	last := len(data) - 1
	return slices.Concat([]byte("event: "+name+"\ndata: "), data[:last], []byte(strings.Repeat(" ", last%9)), data[last:], []byte("\n\n"))
}
