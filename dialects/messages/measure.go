package messages

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
)

// part is what the size of a block depends on.
type part struct {
	kind   []byte // as it is written, without quotes
	source sourceSize
	has    bool // it has a source
}

// sourceSize is what the size of a source depends on.
type sourceSize struct {
	kind, media []byte
	data        int // bytes
	url         jsontext.Value
}

// block reads a block of a message, of the system prompt or of a block's content.
func (o *outline) block() {
	if o.Peek() != '{' {
		o.Value()
		return
	}
	var p part
	for name := range o.Object() {
		switch string(name) {
		case "type":
			p.kind = o.Word()
		case "source":
			p.has = o.Peek() == '{'
			p.source = o.source()
		case "content":
			o.blocks()
		case "cache_control":
			o.mark(o.Raw())
		default:
			o.Value()
		}
	}
	o.measure(&p)
}

func (o *outline) source() (s sourceSize) {
	for name := range o.Object() {
		switch string(name) {
		case "type":
			s.kind = o.Word()
		case "media_type":
			s.media = o.Word()
		case "data":
			s.data = len(o.Word())
		case "url":
			s.url = o.Raw()
		case "content":
			o.blocks()
		default:
			o.Value()
		}
	}
	return s
}

// bounded are the types of blocks whose bytes bound their tokens.
var bounded = map[string]bool{
	"": true, "text": true, "thinking": true, "redacted_thinking": true, "tool_use": true, "tool_result": true, "search_result": true,
	"tool_reference": true, "server_tool_use": true, "web_search_tool_result": true, "web_search_result": true, "compaction": true,
}

// measure adds a block to the size of the prompt.
func (o *outline) measure(p *part) {
	s := &o.request.size
	kind, from := string(p.kind), string(p.source.kind)
	switch {
	case kind == "image" && from == "base64":
		s.Media++
		s.Bytes -= int64(p.source.data)
		s.Images = append(s.Images, "data:"+string(p.source.media)+";base64,") // the data is not needed
	case kind == "image" && from == "url":
		s.Media++
		s.Bytes -= int64(len(p.source.url))
		s.Images = append(s.Images, jsonbytes.Text(p.source.url))
	case kind == "document" && (from == "text" || from == "content"):
	case kind == "image", kind == "document": // a few bytes can be many pages
		s.Media++
		s.Opaque = true
	default:
		s.Opaque = s.Opaque || p.has || !bounded[kind] || bytes.IndexByte(p.kind, '\\') >= 0
	}
}
