package anthropic

import (
	"bytes"

	"modelgateway/dialects/carried"
)

// marks say what a body may hold. Most bodies hold none of it, and are not read any further:
// to look for it once, at the beginnings of strings, takes a tenth of the time of reading.
type marks struct {
	seals   bool // thoughts that the gateway has sealed
	ids     bool // ids of calls that carry something
	objects bool // names of objects that the upstream keeps
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
