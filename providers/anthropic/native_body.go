package anthropic

import (
	"bytes"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// nativeBody is the client's body for the upstream, in pieces. Replaced in place is the
// model. Of the conversation only what the gateway itself has put there is changed: a
// thought of another provider, which this one would refuse, is left out; Anthropic's own
// and the ids of calls are unpacked.
func nativeBody(raw []byte, model string, found marks, named earlier) [][]byte {
	e := editor{Editor: jsonbytes.Editor{Text: raw}, model: quote(model), earlier: named, seals: found.seals, ids: found.ids}
	e.body()
	return e.Pieces()
}

// body is the body for a cloud, which has the model in its path.
func (f *fitting) body(found marks) [][]byte {
	e := editor{Editor: jsonbytes.Editor{Text: f.raw}, seals: found.seals, ids: found.ids, fit: f}
	e.body()
	return e.pieces()
}

// bodyWithoutThoughts is the body without any thought; changed is false where it has none.
func bodyWithoutThoughts(raw []byte, model string, named earlier, fit *fitting) (body [][]byte, changed bool) {
	e := editor{Editor: jsonbytes.Editor{Text: raw}, model: quote(model), earlier: named, thoughts: true, ids: roundtrip.Has(raw), fit: fit}
	e.body()
	return e.pieces(), e.cut
}

// editor changes a body.
type editor struct {
	jsonbytes.Editor

	model   []byte
	earlier earlier
	fit     *fitting // to a cloud, whose bodies name no model; nil = none

	seals    bool // thoughts may be sealed by the gateway
	ids      bool // ids of calls may carry something
	thoughts bool // no thought is kept
	cut      bool // something has been left out
}

func (e *editor) body() {
	inside := e.seals || e.ids || e.thoughts
	named := e.earlier.thread != nil || e.earlier.compared != nil
	for name, value := range jsonbytes.MembersAt(e.Text, 0) {
		switch {
		case name.Is("model"):
			if e.fit == nil && !bytes.Equal(value.Of(e.Text), e.model) {
				e.Replace(value, e.model)
			}
			if !inside && !named {
				return
			}
		case inside && name.Is("messages"):
			e.Elements(value, e.message)
		case e.earlier.thread != nil && name.Is("thread"):
			e.previousMessage(value, e.earlier.thread)
		case e.earlier.compared != nil && name.Is("diagnostics"):
			e.previousMessage(value, e.earlier.compared)
		}
	}
}

func (e *editor) pieces() [][]byte {
	if e.fit != nil {
		for _, c := range e.fit.changes {
			e.Replace(c.at, c.with)
		}
	}
	return e.Pieces()
}

// message edits the content of a message; it is kept unless nothing of its content is.
func (e *editor) message(at jsonbytes.Span) bool {
	for name, value := range jsonbytes.MembersAt(e.Text, at.From) {
		if name.Is("content") {
			return e.Elements(value, e.block)
		}
	}
	return true
}

// block edits a block of content, and says whether it is kept.
func (e *editor) block(at jsonbytes.Span) bool {
	var kind string
	var signature, data, id jsonbytes.Span
	for name, value := range jsonbytes.MembersAt(e.Text, at.From) {
		switch {
		case name.Is("type"):
			kind = e.text(value)
		case name.Is("signature"):
			signature = value
		case name.Is("data"):
			data = value
		case name.Is("id"), name.Is("tool_use_id"):
			id = value
		}
	}
	switch kind {
	case "thinking":
		return e.thought(signature, func(t *llm.Thought) string { return t.Signature })
	case "redacted_thinking":
		return e.thought(data, func(t *llm.Thought) string { return t.Data })
	case "tool_use", "tool_result":
		e.callID(id)
	}
	return true
}

// thought edits the place of a thought's signature, or of its data; own reads from a
// sealed thought what stood there.
func (e *editor) thought(at jsonbytes.Span, own func(*llm.Thought) string) bool {
	if e.thoughts {
		e.cut = true
		return false
	}
	text := e.text(at)
	if !e.seals || !roundtrip.Sealed(text) {
		return true
	}
	t, ok := roundtrip.Unseal(text)
	if !ok || t.Format != llm.FormatAnthropic || own(&t) == "" {
		e.cut = true
		return false
	}
	e.Replace(at, quote(own(&t)))
	return true
}

func (e *editor) callID(at jsonbytes.Span) {
	if !e.ids || at.To == 0 {
		return
	}
	packed := e.text(at)
	if id, _ := roundtrip.Unpack(packed); id != packed && id != "" {
		e.Replace(at, quote(id))
	}
}

// text is the string that stands at a place; empty where another value does.
func (e *editor) text(at jsonbytes.Span) string { return jsonbytes.Text(at.Of(e.Text)) }

// marks say what a body may hold. Most bodies hold none of it, and are not read any further:
// to look for it once, at the beginnings of strings, takes a tenth of the time of reading.
type marks struct {
	seals   bool // thoughts that the gateway has sealed
	ids     bool // ids of calls that carry something
	objects bool // names of objects that the upstream keeps
}

func marksOf(raw []byte) marks {
	m := marks{ids: roundtrip.Has(raw)}
	for {
		at := bytes.IndexByte(raw, '"')
		if at < 0 || at+1 == len(raw) {
			return m
		}
		raw = raw[at+1:]
		switch raw[0] {
		case 'm':
			m.seals = m.seals || roundtrip.Sealed(raw)
		case 'f', 's', 'c', '\\':
			m.objects = m.objects || namesObject(raw)
		}
	}
}

// namesObject says whether a string, from its first character on, may be the name of a
// member that objects are named in. It may be written with escapes.
func namesObject(text []byte) bool {
	const longest = len(`container`) * len(`\u0000`)
	text = text[:min(len(text), longest+1)]
	end := bytes.IndexByte(text, '"')
	if end < 0 {
		return false
	}
	switch string(text[:end]) {
	case "file_id", "skill_id", "skills", "container":
		return true
	}
	return bytes.Contains(text[:end], []byte(`\u00`))
}
