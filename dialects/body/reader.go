// Package body reads the bodies of clients' requests, in one pass, for all dialects.
package body

import (
	"bytes"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
)

// What a request and its translation take beside the bytes of the body, at most.
const (
	bytesPerObject = 1 << 10 // of a message, a part, a tool, a call
	bytesPerValue  = 128     // of a member or an element: names that must differ, and schemas that are rewritten
	unreserved     = 4 << 10 // which the slot of a call has room for
)

// Reader reads a body once: it checks its syntax, as strictly as api.Decode does, bounds
// its lists and reserves memory. After a failure its methods do nothing more; Close has the
// error.
type Reader struct {
	jsonbytes.Checker

	// Strict refuses values of another type than that which is asked for. Else they are
	// checked and passed over: the provider may know them.
	Strict bool
	// TooMany words the error for a list that is longer than limit; nil = api.TooMany.
	TooMany func(path string, limit int) *api.Error
	// Left are the names of members that have no place in the common form.
	Left Names

	body    []byte
	memory  api.Memory
	objects int   // that become values of Go types
	granted int64 // bytes
	err     error // nil after a failure of syntax
}

// NewReader begins a body, which must not be changed any more: what is read shares its
// bytes. A nil memory has no bound.
func NewReader(memory api.Memory, body []byte) *Reader {
	r := &Reader{body: body, memory: memory}
	r.Reset(body)
	r.Room = r
	return r
}

// Close ends the reading. Its error is an *api.Error, or of memory.
func (r *Reader) Close() error {
	switch {
	case r.err != nil:
		return r.err
	case !r.Done():
		return r.syntaxFault()
	case !r.reserve(0):
		return r.err
	}
	return nil
}

// syntaxFault is the error of a body that is no JSON object: the strict decoder words it.
func (r *Reader) syntaxFault() error {
	if !r.Grant(int64(jsonbytes.ShapeOf(r.body, jsonbytes.MaxDepth).Values) * bytesPerValue) {
		return r.err
	}
	if err := api.Decode(r.body, new(anyObject)); err != nil {
		return err
	}
	return api.Invalid(api.CodeInvalidJSON, "", "the body is not valid JSON")
}

// anyObject is an object of which nothing is kept.
type anyObject struct{}

// UnmarshalJSONFrom reads any object.
func (*anyObject) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if kind := dec.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindInvalid {
		return api.Invalid(api.CodeInvalidJSON, "", "the body must be a JSON object")
	}
	return dec.SkipValue()
}

// Grant reserves memory.
func (r *Reader) Grant(bytes int64) bool {
	if r.memory == nil {
		return true
	}
	if err := r.memory.Reserve(bytes); err != nil {
		r.err = err
		r.Fail()
		return false
	}
	return true
}

// reserve grants the memory of what has been read, and of so many objects more.
func (r *Reader) reserve(more int) bool {
	need := int64(r.objects+more)*bytesPerObject + int64(r.Values)*bytesPerValue - unreserved
	if need <= r.granted {
		return true
	}
	ok := r.Grant(need - r.granted)
	r.granted = need
	return ok
}

// Refuse ends the reading with an error.
func (r *Reader) Refuse(err error) {
	if !r.Failed() {
		r.err = err
		r.Fail()
	}
}

// Start is where the next value begins.
func (r *Reader) Start() int {
	r.Peek()
	return r.Offset()
}

// Since is the value that began at start and has just been read; nil after a failure.
func (r *Reader) Since(start int) jsontext.Value {
	if r.Failed() {
		return nil
	}
	end := r.Offset()
	return jsontext.Value(r.body[start:end:end])
}

// Path is the path of the value that begins at start. It reads the body again: it is for errors.
func (r *Reader) Path(start int) string {
	dec := jsontext.NewDecoder(bytes.NewReader(r.body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for dec.InputOffset() <= int64(start) {
		if _, err := dec.ReadToken(); err != nil {
			break
		}
	}
	return api.FieldPath(dec.StackPointer())
}

// Raw reads any value.
func (r *Reader) Raw() jsontext.Value {
	start := r.Start()
	r.Value()
	return r.Since(start)
}

// Word reads a string and returns it as it is written, without its quotes; nil for another value.
func (r *Reader) Word() []byte {
	if value := r.Raw(); value.Kind() == jsontext.KindString {
		return value[1 : len(value)-1]
	}
	return nil
}

// Object reads an object and yields the names of its members. The caller reads each one's
// value before the next name, and leaves the loop after a failure only. null has no members,
// nor have other values where the reader is not strict.
func (r *Reader) Object() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if r.Offset() == 0 {
			r.Assert(r.Peek() == '{') // syntaxFault says what a body must be
		}
		if !r.is('{', "an object") {
			return
		}
		r.objects++
		mark := r.Enter('{')
		for first := true; r.More('}', first); first = false {
			if name := r.Name(mark); r.Failed() || !yield(name) {
				return
			}
		}
		r.Leave(mark)
	}
}

// List reads an array of at most limit elements and yields their indices. The caller reads
// each element before the next, and leaves the loop after a failure only. null has no
// elements, nor have other values where the reader is not strict.
func (r *Reader) List(limit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if !r.is('[', "an array") {
			return
		}
		start := r.Offset()
		mark := r.Enter('[')
		n := 0
		for first := true; r.More(']', first); first = false {
			r.Values++
			if n == limit {
				r.Refuse(r.tooMany(start, limit))
				return
			}
			if !yield(n) {
				return
			}
			n++
		}
		r.Leave(mark)
	}
}

// Elements is List, and adds each element that has been read to all.
func (r *Reader) Elements(limit int, all *[][]byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range r.List(limit) {
			start := r.Start()
			if !yield(i) {
				return
			}
			*all = append(*all, r.Since(start))
		}
	}
}

func (r *Reader) tooMany(start, limit int) error {
	if r.TooMany != nil {
		return r.TooMany(r.Path(start), limit)
	}
	return api.TooMany(r.Path(start), limit)
}

// is says whether the next value begins with a byte. Another value it reads, or refuses.
func (r *Reader) is(first byte, want string) bool {
	next := r.Peek()
	switch {
	case next == first:
		return true
	case next == 'n' || !r.Strict:
		r.Value()
	default:
		r.mismatch(want)
	}
	return false
}

// Text reads a string; empty for null. One of the usual ones is not copied.
func (r *Reader) Text(usual ...string) string {
	if !r.is('"', "a string") {
		return ""
	}
	return r.Usual(usual...)
}

// Quoted reads a string and returns it as it is written; nil for null.
func (r *Reader) Quoted() jsontext.Value {
	if !r.is('"', "a string") {
		return nil
	}
	return r.Raw()
}

// IsNull says whether the next value is null, which it reads.
func (r *Reader) IsNull() bool {
	if r.Peek() != 'n' {
		return false
	}
	r.Null()
	return true
}

// IsTrue reads true or false; false for null.
func (r *Reader) IsTrue() bool {
	switch next := r.Peek(); {
	case next == 't' || next == 'f':
		return r.Bool()
	case !r.IsNull():
		r.mismatch("true or false")
	}
	return false
}

// Flag is IsTrue; nil for null.
func (r *Reader) Flag() *bool {
	if r.IsNull() {
		return nil
	}
	yes := r.IsTrue()
	return &yes
}

// Integer reads a whole number; nil for null.
func (r *Reader) Integer() *int64 {
	const want = "an integer"
	value := r.number(want)
	if value == nil {
		return nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		r.unfit(want, value)
	}
	return &n
}

// Float reads a number; nil for null.
func (r *Reader) Float() *float64 {
	const want = "a number"
	value := r.number(want)
	if value == nil {
		return nil
	}
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		r.unfit(want, value)
	}
	return &n
}

// number reads a number as it is written; nil for null.
func (r *Reader) number(want string) jsontext.Value {
	switch next := r.Peek(); {
	case r.IsNull():
		return nil
	case next != '-' && next-'0' > 9:
		r.mismatch(want)
		return nil
	}
	return r.Raw()
}

// mismatch refuses the next value, unless it is no JSON.
func (r *Reader) mismatch(want string) {
	if value := r.Raw(); !r.Failed() {
		r.unfit(want, value)
	}
}

// unfit refuses the value that has been read last.
func (r *Reader) unfit(want string, value jsontext.Value) {
	path := r.Path(r.Offset() - len(value))
	const shown = 40 // bytes of a value
	if kind := value.Kind(); len(value) <= shown && (kind == jsontext.KindString || kind == jsontext.KindNumber) {
		r.Refuse(api.Invalid(api.CodeInvalidValue, path, "%s must be %s, not %s", path, want, value))
		return
	}
	r.Refuse(api.Invalid(api.CodeInvalidValue, path, "%s must be %s", path, want))
}

// Add makes room for an element of a list and returns it.
func Add[T any](r *Reader, all *[]T) *T {
	if n := len(*all); n == cap(*all) {
		more := max(n, 2)
		if !r.reserve(more) {
			return new(T)
		}
		*all = append(make([]T, 0, n+more), *all...)
	}
	*all = append(*all, *new(T))
	return &(*all)[len(*all)-1]
}
