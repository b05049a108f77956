package api

import "modelgateway/models/llm"

// Dialect is a wire format in which clients make requests to a model.
type Dialect interface {
	// Decode reads and checks a request. Its errors are *Error; the request keeps
	// body, which must not be changed any more. What the request takes beside that
	// is reserved in memory first.
	Decode(memory Memory, body []byte) (*llm.Request, error)
	// AppendAnswer adds the JSON of a whole answer to dst.
	AppendAnswer(dst []byte, req *llm.Request, answer *llm.Answer) ([]byte, error)
	// AppendError adds the JSON of an error to dst.
	AppendError(dst []byte, err *Error) []byte
}

// Streamer is a Dialect in which an answer can be a stream. Requests of another one
// never ask for a stream.
type Streamer interface {
	// NewWriter makes a writer for the stream that answers a request.
	NewWriter(req *llm.Request) StreamWriter
}

// StreamWriter writes the server-sent events of one stream. Its methods append to
// dst.
type StreamWriter interface {
	// Append adds an event; the client may see nothing of it.
	Append(dst []byte, event *llm.Event) ([]byte, error)
	// Done adds the end of a complete stream.
	Done(dst []byte) []byte
	// Fail adds the error that ends a stream.
	Fail(dst []byte, err *Error) []byte
	// Ping adds a comment that keeps an idle connection open.
	Ping(dst []byte) []byte
}
