package chat

import (
	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/llm"
)

// Dialect is the chat completions API as one of the dialects.
type Dialect struct{}

var (
	_ api.Dialect  = Dialect{}
	_ api.Streamer = Dialect{}
)

// Decode reads and checks a request.
func (Dialect) Decode(memory api.Memory, body []byte) (*llm.Request, error) {
	return Decode(memory, body)
}

// AppendAnswer adds the JSON of a whole answer to dst.
func (Dialect) AppendAnswer(dst []byte, req *llm.Request, a *llm.Answer) ([]byte, error) {
	return AppendAnswer(dst, req, a)
}

// NewWriter makes a writer for the stream that answers a request.
func (Dialect) NewWriter(req *llm.Request) api.StreamWriter { return NewWriter(req) }

// AppendError adds {"error":{…}} to dst.
func (Dialect) AppendError(dst []byte, e *api.Error) []byte {
	return api.AppendBody(dst, e, func(e *api.Error) ([]byte, error) { return json.Marshal(e) })
}
