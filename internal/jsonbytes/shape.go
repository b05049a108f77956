package jsonbytes

// Shape is what a JSON text consists of.
type Shape struct {
	Values  int  // all members and elements, and more by one for each object and list that is not empty
	TooDeep bool // nested deeper than the limit; what is deeper is not counted
}

// ShapeOf counts what a text consists of. It looks only at brackets and commas outside
// strings, so the text need not be valid JSON.
func ShapeOf(text []byte, limit int) (s Shape) {
	depth := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			continue
		case '{', '[':
			s.Values++
			if depth++; depth > limit {
				s.TooDeep = true
				return s
			}
		case '}', ']':
			depth--
		case ',':
			s.Values++
		}
		i++
	}
	return s
}
