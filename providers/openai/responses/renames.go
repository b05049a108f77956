package responses

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm/roundtrip"
)

// renames replaces texts of an answer, wherever they stand: no event and no member of it
// that the gateway does not know keeps them.
type renames struct {
	all    [2]rename
	count  int
	buffer []byte
}

type rename struct{ from, to []byte }

func (r *renames) add(from, to string) {
	if from != "" && from != to {
		r.all[r.count] = rename{[]byte(from), []byte(to)}
		r.count++
	}
}

// in is a text with its replacements: the text itself where there is none, else a copy that
// is valid until the next call.
func (r *renames) in(text []byte) []byte {
	at, found := r.next(text)
	if at < 0 {
		return text
	}
	out := r.buffer[:0]
	for ; at >= 0; at, found = r.next(text) {
		out = append(append(out, text[:at]...), found.to...)
		text = text[at+len(found.from):]
	}
	r.buffer = append(out, text...)
	return r.buffer
}

// next is the first place of a text that is replaced; -1 where there is none.
func (r *renames) next(text []byte) (at int, found *rename) {
	at = -1
	for i := range r.all[:r.count] {
		if here := bytes.Index(text, r.all[i].from); here >= 0 && (at < 0 || here < at) {
			at, found = here, &r.all[i]
		}
	}
	return at, found
}

// marks say what a body of the Responses API may hold. Most bodies hold none of it, and are
// not read any further.
type marks struct {
	seals    bool // thoughts that the gateway has sealed
	ids      bool // ids of calls that carry something
	objects  bool // names of objects that the upstream keeps
	previous bool // the response that the request goes on from
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
		case 'c', 'e', 'f', 'i', 'p', 't', 'v', '\\':
			m.name(raw)
		}
	}
}

// name looks at a string, from its first character on, which may be the name of a member
// and may be written with escapes.
func (m *marks) name(text []byte) {
	const longest = len(`previous_response_id`) * len(`\u0000`)
	text = text[:min(len(text), longest+1)]
	end := bytes.IndexByte(text, '"')
	if end < 0 {
		return
	}
	switch string(text[:end]) {
	case "file_id", "file_ids", "vector_store_ids", "container", "environment", "tunnel_id", "conversation", "prompt", "item_reference":
		m.objects = true
	case memberPrevious:
		m.previous = true
	default:
		if bytes.Contains(text[:end], []byte(`\u00`)) {
			m.objects, m.previous = true, true
		}
	}
}

// refusePrevious refuses the id of a response of which no service has said whose it is.
func refusePrevious(raw []byte) error {
	for name, value := range jsonbytes.Members(raw) {
		if name.Is(memberPrevious) && value.Kind() != jsontext.KindNull {
			return api.PreviousNotFound(api.ResendAll)
		}
	}
	return nil
}

const memberPrevious = "previous_response_id"
