package responses

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// Size measures the prompt. It was measured while the body was read.
func (r *Request) Size() llm.Size {
	s := r.prompt.size
	if r.prompt.marked || r.common.Cache != nil {
		s.Marked = s.Bytes
		s.MarkedHour = bytes.Contains(r.cacheMark(), []byte(`"1h"`))
	}
	return s
}

// part reads a part of an item, and adds it to the size of the prompt.
func (o *outline) part() {
	if o.Peek() != '{' {
		o.Value()
		return
	}
	var kind []byte
	var image jsontext.Value
	var sound int // bytes
	file := false
	p := &o.request.prompt
	for name := range o.Object() {
		switch string(name) {
		case "type":
			kind = o.Word()
		case "image_url":
			image = o.Raw()
		case "file_data", "file_url", "file_id":
			given := llm.Given(o.Raw())
			file = file || given
		case "input_audio":
			sound = len(o.Raw())
		case "prompt_cache_breakpoint":
			given := llm.Given(o.Raw())
			p.marked = p.marked || given
		default:
			o.Value()
		}
	}
	s := &p.size
	switch {
	case image.Kind() == jsontext.KindString:
		s.Media++
		s.Bytes -= int64(len(image))
		s.Images = append(s.Images, address(image))
	case file || sound > 0: // a few bytes can be many pages, or minutes
		s.Media++
		s.Opaque = true
		if sound > 0 {
			s.Sounds++
		}
	default:
		s.Opaque = s.Opaque || !bounded[string(kind)]
	}
}

// address is that of an image. Of one that is in the body only the beginning is needed.
func address(url jsontext.Value) string {
	if text := url[1 : len(url)-1]; strings.HasPrefix(string(text[:min(len(text), len("data:"))]), "data:") {
		const head = 100 // bytes: more than a media type has
		return string(text[:min(len(text), head)])
	}
	return jsonbytes.Text(url)
}

// bounded are the types of parts whose bytes bound their tokens. The parts of some items
// have no type.
var bounded = map[string]bool{
	"": true, "input_text": true, "output_text": true, "text": true, "refusal": true, "summary_text": true, "reasoning_text": true,
	"input_image": true, "input_file": true, "input_audio": true,
}
