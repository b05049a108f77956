package responses

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// message is the open message. Each text of the answer is one of its parts, and so is what
// the model says in place of an answer.
type message struct {
	parts   int    // that have begun
	content []byte // the JSON of the parts that are done, with commas between them

	kind        partKind // of the open part
	block       int      // Event.Block of the open part
	annotations []byte   // of the open part, with commas between them
	cited       int      // how many these are
	logprobs    []byte   // of the open part, with commas between them
	waiting     []byte   // those of text that has not come

	before int // characters of the answer's text before the open part
	chars  int // of the answer's text so far
}

type partKind int

const (
	noPart partKind = iota
	textPart
	refusalPart
)

// say writes a piece of text, or of a refusal.
func (it *items) say(e *llm.Event) {
	m := &it.message
	if e.Kind == llm.EventRefusal {
		if e.Text != "" {
			it.part(refusalPart, e.Block)
			it.delta(e.Text, "")
		}
		return
	}
	if len(e.Logprobs) > 0 {
		m.waiting = appendLogprobs(m.waiting, e.Logprobs)
	}
	if e.Text == "" {
		return
	}
	it.part(textPart, e.Block)
	m.chars += utf8.RuneCountInString(e.Text)
	if len(m.waiting) == 0 {
		it.delta(e.Text, noLogprobs)
		return
	}
	it.delta(e.Text, `,"logprobs":[`+string(m.waiting)+`]`)
	if len(m.logprobs) > 0 {
		m.logprobs = append(m.logprobs, ',')
	}
	m.logprobs, m.waiting = append(m.logprobs, m.waiting...), m.waiting[:0]
}

const noLogprobs = `,"logprobs":[]`

// part opens the part of a message that a piece of text belongs to, unless it is open.
func (it *items) part(kind partKind, block int) {
	m := &it.message
	if it.kind != itemMessage {
		it.close(completed)
		m.parts, m.content, m.kind = 0, m.content[:0], noPart
		it.start(itemMessage, func(dst []byte) []byte {
			return append(dst, `,"status":"in_progress","content":[],"role":"assistant"`...)
		})
	}
	if m.kind != kind || m.block != block {
		it.closePart()
		it.openPart(kind)
		m.block = block
	}
}

func (it *items) openPart(kind partKind) {
	m := &it.message
	m.kind, m.before = kind, m.chars
	m.annotations, m.logprobs, m.cited = m.annotations[:0], m.logprobs[:0], 0
	it.text, it.head = it.text[:0], it.head[:0]
	m.parts++
	if it.openPartEvent("response.content_part.added") {
		it.out = it.appendPart(append(it.out, `,"part":`...))
		it.shut()
	}
	if kind == refusalPart {
		it.heading("response.refusal.delta", "content_index", m.parts-1)
	} else {
		it.heading("response.output_text.delta", "content_index", m.parts-1)
	}
}

func (it *items) openPartEvent(name string) bool {
	if !it.openItem(name) {
		return false
	}
	it.out = strconv.AppendInt(append(it.out, `,"content_index":`...), int64(it.message.parts-1), 10)
	return true
}

// appendPart writes the open part.
func (it *items) appendPart(dst []byte) []byte {
	m := &it.message
	if m.kind == refusalPart {
		return append(append(append(dst, `{"type":"refusal","refusal":"`...), it.text...), `"}`...)
	}
	dst = append(append(dst, `{"type":"output_text","annotations":[`...), m.annotations...)
	dst = append(append(dst, `],"logprobs":[`...), m.logprobs...)
	return append(append(append(dst, `],"text":"`...), it.text...), `"}`...)
}

func (it *items) closePart() {
	m := &it.message
	switch m.kind {
	case noPart:
		return
	case refusalPart:
		if it.openPartEvent("response.refusal.done") {
			it.out = append(append(append(it.out, `,"refusal":"`...), it.text...), '"')
			it.shut()
		}
	case textPart:
		if it.openPartEvent("response.output_text.done") {
			it.out = append(append(append(it.out, `,"text":"`...), it.text...), `","logprobs":[`...)
			it.out = append(append(it.out, m.logprobs...), ']')
			it.shut()
		}
	}
	if len(m.content) > 0 {
		m.content = append(m.content, ',')
	}
	m.content = it.appendPart(m.content)
	if it.openPartEvent("response.content_part.done") {
		it.out = it.appendPart(append(it.out, `,"part":`...))
		it.shut()
	}
	m.kind = noPart
}

func (it *items) closeMessage(answer status) {
	it.finish(func(dst []byte) []byte {
		dst = append(append(append(dst, `,"status":"`...), answer...), `","content":[`...)
		return append(append(dst, it.message.content...), `],"role":"assistant"`...)
	})
}

// cite writes the sources of the open text that have an address. Those of a text that has
// ended have no place.
func (it *items) cite(all []llm.Citation) {
	m := &it.message
	if it.kind != itemMessage || m.kind != textPart {
		return
	}
	for i := range all {
		c := &all[i]
		placed := c.End > 0
		if c.URL == "" || placed && (c.Start < m.before || c.End > m.chars || c.Start > c.End) {
			continue
		}
		start, end := 0, 0
		if placed {
			start, end = c.Start-m.before, c.End-m.before
		}
		if m.cited > 0 {
			m.annotations = append(m.annotations, ',')
		}
		from := len(m.annotations)
		dst := strconv.AppendInt(append(m.annotations, `{"type":"url_citation","start_index":`...), int64(start), 10)
		dst = strconv.AppendInt(append(dst, `,"end_index":`...), int64(end), 10)
		dst = scan.AppendString(append(dst, `,"url":`...), c.URL)
		m.annotations = append(scan.AppendString(append(dst, `,"title":`...), c.Title), '}')
		if it.openPartEvent("response.output_text.annotation.added") {
			it.out = strconv.AppendInt(append(it.out, `,"annotation_index":`...), int64(m.cited), 10)
			it.out = append(append(it.out, `,"annotation":`...), m.annotations[from:]...)
			it.shut()
		}
		m.cited++
	}
}

// appendLogprobs adds the probabilities of tokens, which come in the form of chat
// completions, to a list with commas between its elements.
func appendLogprobs(dst []byte, value jsontext.Value) []byte {
	var from struct {
		Content []jsontext.Value `json:"content"`
	}
	if json.Unmarshal(value, &from, api.Lenient) != nil {
		return dst
	}
	for _, token := range from.Content {
		if len(dst) > 0 {
			dst = append(dst, ',')
		}
		dst = appendLine(dst, token)
	}
	return dst
}

// made takes what the model made. An image is written after the next event, which may hold
// what its provider wants back before it. Other media have no form in this API.
func (it *items) made(m *llm.Media) {
	if _, inline := imageData(m); inline {
		it.close(completed)
		image := *m
		it.image = &image
		return
	}
	it.part(textPart, ownBlock)
	it.delta(m.AsText(), noLogprobs)
	it.closePart()
}

// ownBlock is a block that no event has.
const ownBlock = -1

// imageData is the base64 of an image.
func imageData(m *llm.Media) (data string, ok bool) {
	if m.Kind != llm.Image || !strings.HasPrefix(m.URL, "data:") {
		return "", false
	}
	_, data, ok = strings.Cut(m.URL, ";base64,")
	return data, ok
}

// draw writes the image that the model made.
func (it *items) draw() {
	m := it.image
	if m == nil {
		return
	}
	it.image = nil
	data, _ := imageData(m)
	kind, _, _ := strings.Cut(strings.TrimPrefix(m.URL, "data:image/"), ";")
	if strings.ContainsAny(kind, ":,/") || kind == "" {
		kind = "png"
	}
	it.start(itemImage, func(dst []byte) []byte { return append(dst, `,"status":"in_progress","result":null`...) })
	it.finish(func(dst []byte) []byte {
		dst = scan.AppendString(append(dst, `,"status":"completed","output_format":`...), kind)
		return scan.AppendString(append(dst, `,"result":`...), data)
	})
}
