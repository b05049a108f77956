package providers

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Encode writes a part of a request as JSON; raw values keep their strings byte for
// byte. size is about how many bytes it becomes: a long one is written into a buffer
// of that size, while a buffer that grows would take three times as much.
func Encode(value any, size int) ([]byte, error) {
	const long = 1 << 20
	if size < long {
		return json.Marshal(value, jsontext.PreserveRawStrings(true))
	}
	buffer := bytes.NewBuffer(make([]byte, 0, size+size/8))
	err := json.MarshalWrite(buffer, value, jsontext.PreserveRawStrings(true))
	return buffer.Bytes(), err
}
