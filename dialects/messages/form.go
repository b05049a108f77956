package messages

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
)

// blockKind is the type of a content block.
type blockKind int

const (
	noBlock blockKind = iota
	textBlock
	thinkingBlock
	redactedBlock
	callBlock
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

// deltas are the JSON of each kind of delta up to its value.
var deltas = [...]string{
	textDelta:      `{"type":"text_delta","text":`,
	thinkingDelta:  `{"type":"thinking_delta","thinking":`,
	signatureDelta: `{"type":"signature_delta","signature":`,
	inputDelta:     `{"type":"input_json_delta","partial_json":`,
	citationDelta:  `{"type":"citations_delta","citation":`,
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
	dst = append(dst, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = append(dst, `,"content_block":`...)
	switch b.kind {
	case textBlock:
		dst = append(dst, `{"type":"text","text":""}`...)
	case thinkingBlock:
		dst = append(dst, `{"type":"thinking","thinking":"","signature":""}`...)
	case callBlock:
		dst = append(appendCall(dst, b), `{},"caller":{"type":"direct"}}`...)
	case redactedBlock:
		dst = appendRedacted(dst, b)
	}
	dst = append(dst, "}\n\n"...)
	if !e.pinged { // as Anthropic does
		e.pinged, dst = true, append(dst, ping...)
	}
	return dst
}

func (e *events) delta(dst []byte, kind deltaKind, value string) []byte {
	if e.kind != kind {
		e.kind = kind
		e.head = append(e.head[:0], "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
		e.head = strconv.AppendInt(e.head, int64(e.index), 10)
		e.head = append(append(e.head, `,"delta":`...), deltas[kind]...)
	}
	dst = append(dst, e.head...)
	if kind == citationDelta {
		dst = append(dst, value...)
	} else {
		dst = scan.AppendString(dst, value)
	}
	return append(dst, "}}\n\n"...)
}

func (e *events) stop(dst []byte) []byte {
	dst = append(dst, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"...)
	return append(strconv.AppendInt(dst, int64(e.index), 10), "}\n\n"...)
}

// content writes the elements of a whole message's content.
type content struct {
	kind      blockKind // of the open block
	citations []byte    // of the open block, with commas between them
	input     []byte    // of the open block
}

func (c *content) start(dst []byte, index int, b *block) []byte {
	if index > 0 {
		dst = append(dst, ',')
	}
	c.kind, c.citations, c.input = b.kind, c.citations[:0], c.input[:0]
	switch b.kind {
	case textBlock:
		return append(dst, `{"type":"text","text":""`...)
	case thinkingBlock:
		return append(dst, `{"type":"thinking","thinking":""`...)
	case callBlock:
		return appendCall(dst, b)
	default: // redactedBlock
		return appendRedacted(dst, b)
	}
}

func (c *content) delta(dst []byte, kind deltaKind, value string) []byte {
	switch kind {
	case signatureDelta:
		return scan.AppendString(append(dst, `,"signature":`...), value)
	case inputDelta:
		c.input = append(c.input, value...)
		return dst
	case citationDelta:
		if len(c.citations) > 0 {
			c.citations = append(c.citations, ',')
		}
		c.citations = append(c.citations, value...)
		return dst
	default: // the text goes on where its string has ended
		at := len(dst) - 1
		dst = scan.AppendString(dst, value)
		return append(dst[:at], dst[at+len(`""`):]...)
	}
}

func (c *content) stop(dst []byte) []byte {
	switch c.kind {
	case textBlock:
		if len(c.citations) == 0 {
			return append(dst, '}') // without a null, which the AI SDK refuses and Anthropic does not send
		}
		return append(append(append(dst, `,"citations":[`...), c.citations...), `]}`...)
	case thinkingBlock:
		return append(dst, '}')
	case callBlock:
		return append(appendInput(dst, c.input), `,"caller":{"type":"direct"}}`...)
	default:
		return dst
	}
}

// appendInput writes a call's arguments as they are. Those that the model has not ended, or
// that are no object, cannot stand in a message: they are left out.
func appendInput(dst, input []byte) []byte {
	value := jsontext.Value(input)
	if value.Kind() != jsontext.KindBeginObject || !value.IsValid(jsontext.AllowDuplicateNames(true)) {
		return append(dst, "{}"...)
	}
	return append(dst, value...)
}

// appendCall writes a call up to its input.
func appendCall(dst []byte, b *block) []byte {
	dst = scan.AppendString(append(dst, `{"type":"tool_use","id":`...), b.id)
	dst = scan.AppendString(append(dst, `,"name":`...), b.name)
	return append(dst, `,"input":`...)
}

// appendRedacted writes a block of encrypted thoughts, which has no deltas.
func appendRedacted(dst []byte, b *block) []byte {
	return append(scan.AppendString(append(dst, `{"type":"redacted_thinking","data":`...), b.data), '}')
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
