package openai

import "bytes"

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
