package chat

import (
	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/llm"
)

// Dialect is the chat completions API as one of the dialects.
func Dialect() *api.Dialect {
	return &api.Dialect{
		Decode:       api.Decoder(Decode, nil),
		AppendAnswer: AppendAnswer,
		NewWriter:    func(req *llm.Request, _ func() int64) api.StreamWriter { return NewWriter(req) },
		AppendError:  AppendError,
	}
}

// AppendError adds {"error":{…}} to dst.
func AppendError(dst []byte, e *api.Error) []byte {
	return api.AppendBody(dst, e, func(e *api.Error) ([]byte, error) { return json.Marshal(e) })
}
