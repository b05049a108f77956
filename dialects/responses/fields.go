package responses

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
// meaning in some item are.
const manyFields = 64

var knownFields = map[string]bool{
	"type": true, "role": true, "content": true, "phase": true, "text": true, "refusal": true,
	"image_url": true, "file_id": true, "detail": true, "file_data": true, "file_url": true, "filename": true, "input_audio": true,
	"prompt_cache_breakpoint": true, "summary": true, "encrypted_content": true,
	"id": true, "call_id": true, "name": true, "namespace": true, "arguments": true, "input": true, "action": true, "operation": true,
	"output": true, "status": true, "execution": true, "tools": true, "result": true, "output_format": true,
	"description": true, "parameters": true, "strict": true, "format": true, "environment": true,
}

// fields reads an object once. The memory is that of the last one: an item must be read
// before the parts inside it are.
func (b *builder) fields(object jsontext.Value) fields {
	all := b.read[:0]
	if object.Kind() == jsontext.KindBeginObject {
		for name, value := range scan.Members(object) {
			if text := name.Text(); len(all) < manyFields || knownFields[string(text)] {
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
