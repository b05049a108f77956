package responses

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
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
	o.objects++
	mark := o.Enter('{')
	for first := true; o.More('}', first); first = false {
		switch string(o.Name(mark)) {
		case "type":
			kind = o.word()
		case "image_url":
			start := o.begin()
			o.Value()
			image = o.since(start)
		case "file_data", "file_url", "file_id":
			start := o.begin()
			o.Value()
			file = file || llm.Given(o.since(start))
		case "input_audio":
			start := o.begin()
			o.Value()
			sound = len(o.since(start))
		case "prompt_cache_breakpoint":
			start := o.begin()
			o.Value()
			p.marked = p.marked || llm.Given(o.since(start))
		default:
			o.Value()
		}
	}
	o.Leave(mark)
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
	return scan.Text(url)
}

// bounded are the types of parts whose bytes bound their tokens. The parts of some items
// have no type.
var bounded = map[string]bool{
	"": true, "input_text": true, "output_text": true, "text": true, "refusal": true, "summary_text": true, "reasoning_text": true,
	"input_image": true, "input_file": true, "input_audio": true,
}

// word is a string as it is written, without its quotes; nil for another value.
func (o *outline) word() []byte {
	start := o.begin()
	o.Value()
	if value := o.since(start); value.Kind() == jsontext.KindString {
		return value[1 : len(value)-1]
	}
	return nil
}
