package api

import (
	"net/http"
	"net/url"
	"time"

	"modelgateway/llm"
)

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

// Forwarder is a Dialect of which some headers and some of the query travel to a provider
// that speaks it. It returns them, and the client's name of the conversation where a header
// has it.
type Forwarder interface {
	Forwards(header http.Header, query url.Values) (beside llm.Beside, session string)
}

// Header is a Dialect whose answers have headers of their own, errors included.
type Header interface {
	// SetHeaders adds them. requestID is the upstream's where the answer comes from a
	// provider that speaks the dialect, else the gateway's.
	SetHeaders(header http.Header, requestID string)
	// SetLimit adds the gateway's own limit of requests, what remains of it, and when it
	// is whole again.
	SetLimit(header http.Header, limit, remaining int64, whole time.Time)
}

// StatusTeller is a Dialect in which some errors have another HTTP status than Error.Status.
type StatusTeller interface{ ErrorStatus(err *Error) int }

// Counting is a Dialect with requests that ask for the size of a prompt.
type Counting interface {
	// DecodeCount is Decode for such a request. Its prompt may be of a kind that no model
	// would answer: clients count parts of one.
	DecodeCount(memory Memory, body []byte) (*llm.Request, error)
	// AppendCount adds the JSON of the size of a prompt to dst.
	AppendCount(dst []byte, tokens int64) []byte
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

// PromptCounter is a StreamWriter that tells the size of the prompt before the answer.
type PromptCounter interface {
	// CountPrompt gives it the function that counts the prompt's tokens. It is called at
	// most once, while an event is appended, where the upstream has not reported them.
	CountPrompt(count func() int64)
}

// Opener is a StreamWriter whose stream begins with events that tell nothing of the answer,
// so that they can be sent to a client that waits for it.
type Opener interface {
	// Open adds these events. The first event of the answer has not come: of head only
	// the Model is known, that of the answer may be another one.
	Open(dst []byte, head *llm.Head) []byte
}

// EarlyTeller is a StreamWriter that tells some errors in a stream although nothing of it
// has been sent, because its clients understand them only there.
type EarlyTeller interface {
	// TellsEarly says whether an error that comes before the stream has begun is such
	// one. Fail then adds a whole stream.
	TellsEarly(err *Error) bool
}
