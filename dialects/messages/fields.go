package messages

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// field is a member of an object.
type field struct {
	name  []byte // without quotes and escapes
	value jsontext.Value
}

// fields are the members of an object, in their order.
type fields []field

// manyFields is how many members of an object are kept. Beyond that only those that have a
// meaning in some block are.
const manyFields = 64

var blockFields = map[string]bool{
	"type": true, "text": true, "id": true, "name": true, "input": true, "tool_use_id": true, "content": true, "is_error": true,
	"source": true, "title": true, "context": true, "citations": true, "cache_control": true,
	"thinking": true, "signature": true, "data": true, "tool_name": true,
}

// fields reads an object once. The memory is that of the last one: a block must be read
// before the blocks inside it are.
func (b *builder) fields(object jsontext.Value) fields {
	b.object = object
	all := b.read[:0]
	if object.Kind() == jsontext.KindBeginObject {
		for name, value := range scan.Members(object) {
			if text := name.Text(); len(all) < manyFields || blockFields[string(text)] {
				all = append(all, field{text, value})
			}
		}
	}
	b.read = all
	return all
}

// of is the value of a member; nil where there is none.
func (f fields) of(name string) jsontext.Value {
	for i := range f {
		if string(f[i].name) == name {
			return f[i].value
		}
	}
	return nil
}

// text is the value of a member that is a string, else empty.
func (f fields) text(name string) string { return scan.Text(f.of(name)) }

// given is an optional member, nil where it is absent or null.
func given(value jsontext.Value) jsontext.Value {
	if !llm.Given(value) {
		return nil
	}
	return value
}
