package responses

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// message is the open message. Each text of the answer is one of its parts, and so is what
// the model says in place of an answer.
type message struct {
	parts   int              // that have begun
	content jsonbytes.Writer // the parts that are done, with commas between them

	kind        partKind         // of the open part
	block       int              // Event.Block of the open part
	annotations jsonbytes.Writer // of the open part, with commas between them
	cited       int              // how many these are
	logprobs    jsonbytes.Writer // of the open part, with commas between them
	waiting     jsonbytes.Writer // those of text that has not come

	before int // characters of the answer's text before the open part
	chars  int // of the answer's text so far
}

type partKind int

const (
	noPart partKind = iota
	textPart
	refusalPart
)

// writeText writes a piece of text, or of a refusal.
func (it *items) writeText(e *llm.Event) {
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
	m.logprobs, m.waiting = append(m.logprobs.Comma(), m.waiting...), m.waiting[:0]
}

const noLogprobs = `,"logprobs":[]`

// part opens the part of a message that a piece of text belongs to, unless it is open.
func (it *items) part(kind partKind, block int) {
	m := &it.message
	if it.kind != itemMessage {
		it.close(completed)
		m.parts, m.content, m.kind = 0, m.content[:0], noPart
		it.start(itemMessage, it.messageMembers(inProgress))
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
		it.out = it.out.JSON("part", it.partJSON())
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
	it.out = it.out.Int("content_index", int64(it.message.parts-1))
	return true
}

// partJSON is the open part.
func (it *items) partJSON() []byte {
	m, w := &it.message, jsonbytes.Writer(nil).Object()
	if m.kind == refusalPart {
		return w.Text("type", "refusal").Escaped("refusal", it.text).EndObject()
	}
	return w.Text("type", "output_text").List("annotations", m.annotations).List("logprobs", m.logprobs).
		Escaped("text", it.text).EndObject()
}

func (it *items) closePart() {
	m := &it.message
	switch m.kind {
	case noPart:
		return
	case refusalPart:
		if it.openPartEvent("response.refusal.done") {
			it.out = it.out.Escaped("refusal", it.text)
			it.shut()
		}
	case textPart:
		if it.openPartEvent("response.output_text.done") {
			it.out = it.out.Escaped("text", it.text).List("logprobs", m.logprobs)
			it.shut()
		}
	}
	part := it.partJSON()
	m.content = append(m.content.Comma(), part...)
	if it.openPartEvent("response.content_part.done") {
		it.out = it.out.JSON("part", part)
		it.shut()
	}
	m.kind = noPart
}

func (it *items) closeMessage(answer status) { it.finish(it.messageMembers(answer)) }

func (it *items) messageMembers(is status) members {
	return func(w jsonbytes.Writer) jsonbytes.Writer {
		return w.Text("status", string(is)).List("content", it.message.content).Text("role", "assistant")
	}
}

// writeCitations writes the sources of the open text that have an address. Those of a text that has
// ended have no place.
func (it *items) writeCitations(all []llm.Citation) {
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
		citation := jsonbytes.Writer(nil).Object().Text("type", "url_citation").Int("start_index", int64(start)).
			Int("end_index", int64(end)).
			Text("url", c.URL).Text("title", c.Title).EndObject()
		m.annotations = append(m.annotations.Comma(), citation...)
		if it.openPartEvent("response.output_text.annotation.added") {
			it.out = it.out.Int("annotation_index", int64(m.cited)).JSON("annotation", citation)
			it.shut()
		}
		m.cited++
	}
}

// appendLogprobs adds the probabilities of tokens, which come in the form of chat
// completions, to a list with commas between its elements.
func appendLogprobs(dst jsonbytes.Writer, value jsontext.Value) jsonbytes.Writer {
	var from struct {
		Content []jsontext.Value `json:"content"`
	}
	if json.Unmarshal(value, &from, api.Lenient) != nil {
		return dst
	}
	for _, token := range from.Content {
		dst = appendLine(dst.Comma(), token)
	}
	return dst
}

// takeMedia takes what the model made. An image is written after the next event, which may hold
// what its provider wants back before it. Other media have no form in this API.
func (it *items) takeMedia(m *llm.Media) {
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

// writeImage writes the image that the model made.
func (it *items) writeImage() {
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
	it.start(itemImage, func(w jsonbytes.Writer) jsonbytes.Writer { return w.Text("status", string(inProgress)).Null("result") })
	it.finish(func(w jsonbytes.Writer) jsonbytes.Writer {
		return w.Text("status", string(completed)).Text("output_format", kind).Text("result", data)
	})
}
