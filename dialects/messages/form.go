package messages

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
)

// blockKind is the type of a content block.
type blockKind string

const (
	noBlock       blockKind = ""
	textBlock     blockKind = "text"
	thinkingBlock blockKind = "thinking"
	redactedBlock blockKind = "redacted_thinking"
	callBlock     blockKind = "tool_use"
)

// block is a content block that begins.
type block struct {
	kind     blockKind
	id, name string // of a call
	data     string // of a redacted thought
}

// deltaKind is what a delta adds to its block.
type deltaKind int

const (
	noDelta deltaKind = iota
	textDelta
	thinkingDelta
	signatureDelta
	inputDelta    // a piece of a call's arguments
	citationDelta // JSON
)

// deltas are the names of each kind of delta and of its value.
var deltas = [...]struct{ name, value string }{
	textDelta:      {"text_delta", "text"},
	thinkingDelta:  {"thinking_delta", "thinking"},
	signatureDelta: {"signature_delta", "signature"},
	inputDelta:     {"input_json_delta", "partial_json"},
	citationDelta:  {"citations_delta", "citation"},
}

// form writes the blocks of an answer: as events, or as the content of a whole message.
// One block is open at a time.
type form interface {
	start(dst []byte, index int, b *block) []byte
	delta(dst []byte, kind deltaKind, value string) []byte
	stop(dst []byte) []byte
}

// events writes server-sent events.
type events struct {
	index  int
	pinged bool
	kind   deltaKind // that head is for
	head   []byte    // of the next delta, up to its value
}

const ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n"

func (e *events) start(dst []byte, index int, b *block) []byte {
	e.index, e.kind = index, noDelta
	w := openEvent(dst, "content_block_start").Int("index", int64(index)).ObjectAt("content_block").Text("type", string(b.kind))
	switch b.kind {
	case textBlock:
		w = w.Text("text", "")
	case thinkingBlock:
		w = w.Text("thinking", "").Text("signature", "")
	case callBlock:
		w = withCall(w, b, nil)
	case redactedBlock:
		w = w.Text("data", b.data)
	}
	dst = append(w, "}}\n\n"...)
	if !e.pinged { // as Anthropic does
		e.pinged, dst = true, append(dst, ping...)
	}
	return dst
}

func (e *events) delta(dst []byte, kind deltaKind, value string) []byte {
	if e.kind != kind {
		e.kind = kind
		delta := deltas[kind]
		e.head = openEvent(e.head[:0], "content_block_delta").Int("index", int64(e.index)).ObjectAt("delta").Text("type", delta.name).
			Name(delta.value)
	}
	dst = append(dst, e.head...)
	if kind == citationDelta {
		dst = append(dst, value...)
	} else {
		dst = jsonbytes.AppendString(dst, value)
	}
	return append(dst, "}}\n\n"...)
}

func (e *events) stop(dst []byte) []byte {
	return append(openEvent(dst, "content_block_stop").Int("index", int64(e.index)), "}\n\n"...)
}

// content writes the elements of a whole message's content.
type content struct {
	made      *block           // the open one
	citations jsonbytes.Writer // of the open block, with commas between them
	input     []byte           // of the open block
}

func (c *content) start(dst []byte, _ int, b *block) []byte {
	c.made, c.citations, c.input = b, c.citations[:0], c.input[:0]
	w := jsonbytes.Writer(dst).Object().Text("type", string(b.kind))
	switch b.kind {
	case textBlock:
		return w.Text("text", "")
	case thinkingBlock:
		return w.Text("thinking", "")
	case redactedBlock:
		return w.Text("data", b.data)
	}
	return w
}

func (c *content) delta(dst []byte, kind deltaKind, value string) []byte {
	switch kind {
	case signatureDelta:
		return jsonbytes.Writer(dst).Text("signature", value)
	case inputDelta:
		c.input = append(c.input, value...)
		return dst
	case citationDelta:
		c.citations = append(c.citations.Comma(), value...)
		return dst
	default: // the text goes on where its string has ended
		at := len(dst) - 1
		dst = jsonbytes.AppendString(dst, value)
		return append(dst[:at], dst[at+len(`""`):]...)
	}
}

func (c *content) stop(dst []byte) []byte {
	w := jsonbytes.Writer(dst)
	switch {
	case c.made.kind == callBlock:
		w = withCall(w, c.made, c.input)
	case len(c.citations) > 0: // else there is no null, which the AI SDK refuses and Anthropic does not send
		w = w.List("citations", c.citations)
	}
	return w.EndObject()
}

// withCall adds the members of a call with its arguments as they are. Those that the model has
// not ended, or that are no object, cannot stand in a message: they are left out.
func withCall(w jsonbytes.Writer, b *block, input jsontext.Value) jsonbytes.Writer {
	if input.Kind() != jsontext.KindBeginObject || !input.IsValid(jsontext.AllowDuplicateNames(true)) {
		input = jsontext.Value("{}")
	}
	return w.Text("id", b.id).Text("name", b.name).JSON("input", input).JSON("caller", []byte(`{"type":"direct"}`))
}

// oneLine is valid JSON without line breaks, which would end the line of an event.
func oneLine(value jsontext.Value) []byte {
	if bytes.ContainsAny(value, "\r\n") {
		if line, err := jsontext.AppendFormat(nil, value, jsontext.AllowDuplicateNames(true)); err == nil {
			return line
		}
	}
	return value
}
