package responses

import (
	"bytes"
	"cmp"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
	"modelgateway/providers"
	"modelgateway/providers/openai/wire"
)

// nativeBody edits the client's body for the upstream. Replaced in place are the model and
// the response that the request goes on from. Of the conversation only what the gateway
// itself has put there is changed: a thought of another provider, which this one would
// refuse, is left out; OpenAI's own, summaries of a conversation and the ids of calls are
// unpacked.
type nativeBody struct {
	jsonbytes.Editor

	found    marks
	format   llm.ThoughtFormat
	model    []byte
	kept     *llm.Kept
	previous string // how the client names kept
}

func newNativeBody(call providers.Call, found marks) *nativeBody {
	e := &nativeBody{
		Editor: jsonbytes.Editor{Text: call.Request.Raw}, found: found, format: wire.ThoughtFormat(call.Model),
		model: wire.Quote(call.Model.Upstream),
		kept:  call.Request.Kept,
	}
	e.body()
	return e
}

func (e *nativeBody) body() {
	inside := e.found.seals || e.found.ids
	for name, value := range jsonbytes.MembersAt(e.Text, 0) {
		switch {
		case name.Is("model"):
			if !bytes.Equal(value.Of(e.Text), e.model) {
				e.Replace(value, e.model)
			}
			if !inside && e.kept == nil {
				return
			}
		case e.kept != nil && name.Is(memberPrevious):
			e.previous = e.text(value)
			e.Replace(value, wire.Quote(e.kept.ID))
		case inside && name.Is("input"):
			e.Elements(value, e.item)
		}
	}
}

// item edits an item of the input, and says whether it is kept.
func (e *nativeBody) item(at jsonbytes.Span) bool {
	var kind string
	var id, encrypted, call jsonbytes.Span
	for name, value := range jsonbytes.MembersAt(e.Text, at.From) {
		switch {
		case name.Is("type"):
			kind = e.text(value)
		case name.Is("id"):
			id = value
		case name.Is("encrypted_content"):
			encrypted = value
		case name.Is("call_id"):
			call = value
		}
	}
	switch kind {
	case "reasoning":
		return e.thought(id, encrypted)
	case "compaction", "compaction_summary":
		e.summary(at, encrypted)
	default:
		e.callID(call)
	}
	return true
}

// thought edits the places of the id and the encrypted content of a thought. OpenAI accepts
// the two of one item only together.
func (e *nativeBody) thought(id, encrypted jsonbytes.Span) bool {
	t, sealed, ok := e.unsealed(encrypted)
	if !sealed {
		return true
	}
	own := cmp.Or(t.Data, t.Signature)
	if !ok || t.Format != e.format || own == "" {
		return false
	}
	if id.To > 0 && t.ItemID != "" {
		e.Replace(id, wire.Quote(t.ItemID))
	}
	e.Replace(encrypted, wire.Quote(own))
	return true
}

// summary makes a summary of the conversation, which the gateway has sealed, a message.
func (e *nativeBody) summary(item, encrypted jsonbytes.Span) {
	t, sealed, ok := e.unsealed(encrypted)
	if !sealed || !ok {
		return
	}
	const before, after = `{"type":"message","role":"user","content":[{"type":"input_text","text":`, `}]}`
	e.Replace(item, append(append([]byte(before), wire.Quote(t.Text)...), after...))
}

// unsealed is what the gateway has sealed at a place, where that can be read.
func (e *nativeBody) unsealed(at jsonbytes.Span) (t llm.Thought, sealed, ok bool) {
	if at.To == 0 || !e.found.seals {
		return t, false, false
	}
	text := e.text(at)
	if !roundtrip.Sealed(text) {
		return t, false, false
	}
	t, ok = roundtrip.Unseal(text)
	return t, true, ok
}

func (e *nativeBody) callID(at jsonbytes.Span) {
	if !e.found.ids || at.To == 0 {
		return
	}
	packed := e.text(at)
	if id, _ := roundtrip.Unpack(packed); id != packed && id != "" {
		e.Replace(at, wire.Quote(id))
	}
}

// text is the string that stands at a place; empty where another value does.
func (e *nativeBody) text(at jsonbytes.Span) string { return jsonbytes.Text(at.Of(e.Text)) }
