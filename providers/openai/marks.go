package openai

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/carried"
	"modelgateway/internal/scan"
)

// marks say what a body of the Responses API may hold. Most bodies hold none of it, and are
// not read any further.
type marks struct {
	seals    bool // thoughts that the gateway has sealed
	ids      bool // ids of calls that carry something
	objects  bool // names of objects that the upstream keeps
	previous bool // the response that the request goes on from
}

func marksOf(raw []byte) marks {
	m := marks{ids: carried.Has(raw)}
	for {
		at := bytes.IndexByte(raw, '"')
		if at < 0 || at+1 == len(raw) {
			return m
		}
		raw = raw[at+1:]
		switch raw[0] {
		case 'm':
			m.seals = m.seals || carried.Sealed(raw)
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
	for name, value := range scan.Members(raw) {
		if name.Is(memberPrevious) && value.Kind() != jsontext.KindNull {
			return api.PreviousNotFound(api.ResendAll)
		}
	}
	return nil
}

const memberPrevious = "previous_response_id"
