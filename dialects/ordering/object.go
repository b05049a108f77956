package ordering

// Object finds the end of a JSON object that comes in fragments.
type Object struct {
	Done bool // the object has ended; set by its owner where there is none

	depth           int
	quoted, escaped bool
}

// Add takes the next fragment and returns how much of it belongs to the object.
func (o *Object) Add(fragment string) int {
	if o.Done {
		return 0
	}
	for i := range len(fragment) {
		switch c := fragment[i]; {
		case o.escaped:
			o.escaped = false
		case o.quoted:
			o.escaped, o.quoted = c == '\\', c != '"'
		case c == '"':
			o.quoted = true
		case c == '{', c == '[':
			o.depth++
		case c == '}', c == ']':
			o.depth--
			if o.Done = o.depth == 0; o.Done {
				return i + 1
			}
		}
	}
	return len(fragment)
}
