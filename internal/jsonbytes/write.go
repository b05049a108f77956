package jsonbytes

import "strconv"

// Writer is JSON that is being written: each method returns it with one thing more, and puts the
// commas. It writes what is already JSON as it is, which an encoder would read once more: a
// request with a hundred tools is repeated three times in an answer.
type Writer []byte

// Object begins an object.
func (w Writer) Object() Writer { return append(w.Comma(), '{') }

// ObjectAt begins an object that is a member of another one.
func (w Writer) ObjectAt(name string) Writer { return append(w.Name(name), '{') }

// ListAt begins a list that is a member of an object.
func (w Writer) ListAt(name string) Writer { return append(w.Name(name), '[') }

// EndObject ends the object that was begun last.
func (w Writer) EndObject() Writer { return append(w, '}') }

// EndList ends the list that was begun last.
func (w Writer) EndList() Writer { return append(w, ']') }

// Text adds a member that is a string.
func (w Writer) Text(name, value string) Writer { return AppendString(w.Name(name), value) }

// Escaped adds a member that is a string, whose text has its escapes, but no quotes.
func (w Writer) Escaped(name string, text []byte) Writer {
	return append(append(append(w.Name(name), '"'), text...), '"')
}

// TextOrNull adds a member that is a string, or null for an empty one.
func (w Writer) TextOrNull(name, value string) Writer { return AppendNullable(w.Name(name), value) }

// Int adds a member that is a number.
func (w Writer) Int(name string, n int64) Writer { return strconv.AppendInt(w.Name(name), n, 10) }

// Bool adds a member that is true or false.
func (w Writer) Bool(name string, b bool) Writer { return strconv.AppendBool(w.Name(name), b) }

// JSON adds a member that is JSON already.
func (w Writer) JSON(name string, value []byte) Writer { return append(w.Name(name), value...) }

// Null adds a member that is null.
func (w Writer) Null(name string) Writer { return append(w.Name(name), "null"...) }

// List adds a member that is a list, whose elements are JSON already, with commas between them.
func (w Writer) List(name string, elements []byte) Writer {
	return append(append(w.ListAt(name), elements...), ']')
}

// Name adds the name of a member, whose value follows.
func (w Writer) Name(name string) Writer {
	return append(append(append(w.Comma(), '"'), name...), `":`...)
}

// Comma adds one unless what follows is the first of its object or list, or the value of a name.
func (w Writer) Comma() Writer {
	if len(w) == 0 {
		return w
	}
	switch w[len(w)-1] {
	case '{', '[', ':', ',', ' ', '\n':
		return w
	}
	return append(w, ',')
}
