package scan

// Shape is what a JSON text consists of.
type Shape struct {
	Objects int  // braces of the outer levels
	Values  int  // all members and elements, and more by one for each object and list that is not empty
	TooDeep bool // nested deeper than the limit; what is deeper is not counted
}

// ShapeOf counts what a text consists of. Objects are counted at the first outer
// levels of brackets, the others by the limit of the depth. It looks only at
// brackets and commas outside strings, so the text need not be valid JSON.
func ShapeOf(text []byte, outer, limit int) (s Shape) {
	depth := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			continue
		case '{':
			if depth < outer {
				s.Objects++
			}
			fallthrough
		case '[':
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
