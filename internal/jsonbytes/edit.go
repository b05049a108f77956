package jsonbytes

import "slices"

// Editor changes places of a JSON text. All other bytes stay, and are not copied: a
// re-ordered or re-encoded prompt is none that a provider's cache knows.
type Editor struct {
	Text []byte

	edits []edit // in the order of their places
}

// edit replaces a place.
type edit struct {
	Span

	with []byte
}

// Replace puts bytes in the place of others. Places must not overlap. While Elements runs
// only places inside the current element can be replaced.
func (e *Editor) Replace(at Span, with []byte) {
	i := len(e.edits)
	for i > 0 && e.edits[i-1].From > at.From {
		i--
	}
	e.edits = slices.Insert(e.edits, i, edit{at, with})
}

// Elements edits those of an array, each by a function that says whether the element is
// kept. It is false where none is left of an array that had some; then nothing is edited.
func (e *Editor) Elements(array Span, keep func(Span) bool) bool {
	began := len(e.edits)
	last, kept, waiting := array.From, 0, -1 // waiting: the beginning of what goes before the first one that is kept
	all := 0
	for at := range ElementsAt(e.Text, array.From) {
		all++
		before := len(e.edits)
		if keep(at) {
			if waiting >= 0 {
				e.edits = slices.Insert(e.edits, before, cutting(waiting, at.From))
				waiting = -1
			}
			kept++
		} else {
			e.edits = e.edits[:before]
			switch {
			case kept > 0:
				e.edits = append(e.edits, cutting(last, at.To))
			case waiting < 0:
				waiting = at.From
			}
		}
		last = at.To
	}
	if kept == 0 && all > 0 {
		e.edits = e.edits[:began]
		return false
	}
	return true
}

func cutting(from, to int) edit { return edit{Span: Span{From: from, To: to}} }

// Pieces are the text with its edits.
func (e *Editor) Pieces() [][]byte {
	pieces := make([][]byte, 0, 2*len(e.edits)+1)
	from := 0
	for _, change := range e.edits {
		if change.From > from {
			pieces = append(pieces, e.Text[from:change.From])
		}
		if len(change.with) > 0 {
			pieces = append(pieces, change.with)
		}
		from = change.To
	}
	return append(pieces, e.Text[from:])
}
