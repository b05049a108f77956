package jsonbytes

import "iter"

// Span is a part of a text: text[From:To].
type Span struct{ From, To int }

// Of is the part of a text.
func (s Span) Of(text []byte) []byte { return text[s.From:s.To:s.To] }

// MembersAt yields the members of the object that begins at a place of a text, as Members
// does, with the places of their values.
func MembersAt(text []byte, at int) iter.Seq2[Name, Span] {
	return func(yield func(Name, Span) bool) {
		i := space(text, at) + 1 // after the brace
		for {
			i = space(text, i)
			if i >= len(text) || text[i] != '"' {
				return
			}
			end := skipString(text, i)
			if end-i < len(`""`) {
				return
			}
			name := Name(text[i:end:end])
			from := space(text, space(text, end)+1) // after the colon
			to := skipValue(text, from)
			if from >= to || !yield(name, Span{from, to}) {
				return
			}
			i = space(text, to)
			if i < len(text) && text[i] == ',' {
				i++
			}
		}
	}
}

// ElementsAt yields the places of the elements of the array that begins at a place of a
// text; none where another value stands there.
func ElementsAt(text []byte, at int) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		i := space(text, at)
		if i >= len(text) || text[i] != '[' {
			return
		}
		for i++; ; i++ { // after the bracket or comma
			from := space(text, i)
			to := skipValue(text, from)
			if from >= to || !yield(Span{from, to}) {
				return
			}
			if i = space(text, to); i >= len(text) || text[i] != ',' {
				return
			}
		}
	}
}
