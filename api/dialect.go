package api

import (
	"net/http"
	"net/url"
	"time"

	"modelgateway/llm"
)

// Dialect is a wire format in which clients make requests to a model, and what it can do: a
// function that is nil it cannot. All have Decode, AppendAnswer and AppendError.
type Dialect struct {
	// Decode reads and checks a request. Its errors are *Error. The request keeps the body,
	// which must not be changed any more; what it takes beside that is reserved first.
	Decode func(in *Incoming) (*llm.Request, error)
	// DecodeCount is Decode for a request that asks for the size of a prompt, which may be of a
	// kind that no model would answer: clients count parts of one.
	DecodeCount func(in *Incoming) (*llm.Request, error)
	// Keeping goes on from earlier answers that the gateway keeps.
	Keeping *Keeping

	// AppendAnswer adds the JSON of a whole answer to dst.
	AppendAnswer func(dst []byte, req *llm.Request, answer *llm.Answer) ([]byte, error)
	// AppendCount adds the JSON of the size of a prompt to dst.
	AppendCount func(dst []byte, tokens int64) []byte
	// NewWriter makes a writer for the stream that answers a request. Where a stream tells the
	// size of its prompt before the upstream has reported it, countPrompt is called for it, at
	// most once and while an event is written. It may be nil.
	NewWriter func(req *llm.Request, countPrompt func() int64) StreamWriter
	// OpensEarly: streams begin with events that tell nothing of the answer, so that they can be
	// sent to a client that waits for it.
	OpensEarly bool

	// AppendError adds the JSON of an error to dst.
	AppendError func(dst []byte, err *Error) []byte
	// ErrorStatus is the HTTP status of an error where it may be another one than Error.Status.
	ErrorStatus func(err *Error) int
	// FailsInStream says whether an error is sent in a stream although nothing of it has been
	// sent, because clients understand it only there. StreamWriter.Fail then adds a whole stream.
	FailsInStream func(err *Error) bool

	// SetHeaders adds the headers that only answers of the dialect have, errors included.
	// requestID is the upstream's where the answer comes from a provider that speaks it, else
	// the gateway's.
	SetHeaders func(header http.Header, requestID string)
	// SetLimit adds the gateway's own limit of requests, what remains of it, and when it is
	// whole again.
	SetLimit func(header http.Header, limit, remaining int64, whole time.Time)
}

// Incoming is a request to a model as it has come. A decoder does not change it.
type Incoming struct {
	URL    *url.URL // nil: there is neither a path nor a query
	Header http.Header
	Body   []byte
	Memory Memory // nil: there is no bound
}

// Decoder makes a Dialect.Decode of a function that reads bodies. forwards returns which headers
// and what of the query travel to a provider that speaks the dialect, and the client's name of
// the conversation where a header has it; nil: nothing travels.
func Decoder(
	decode func(memory Memory, body []byte) (*llm.Request, error),
	forwards func(header http.Header, query url.Values) (beside llm.Beside, session string),
) func(*Incoming) (*llm.Request, error) {
	return func(in *Incoming) (*llm.Request, error) {
		req, err := decode(in.Memory, in.Body)
		if err != nil || forwards == nil {
			return req, err
		}
		var query url.Values
		if in.URL != nil && in.URL.RawQuery != "" {
			query = in.URL.Query()
		}
		var session string
		if req.Beside, session = forwards(in.Header, query); session != "" { // else what the body says
			req.Session = session
		}
		return req, nil
	}
}

// StreamWriter writes the server-sent events of one stream. Its methods append to dst.
type StreamWriter interface {
	// Open adds the events of a dialect that OpensEarly. The first event of the answer has not
	// come: of head only the Model is known, that of the answer may be another one.
	Open(dst []byte, head *llm.Head) []byte
	// Append adds an event; the client may see nothing of it.
	Append(dst []byte, event *llm.Event) ([]byte, error)
	// Done adds the end of a complete stream.
	Done(dst []byte) []byte
	// Whole is the JSON of the answer that Done has ended, as AppendAnswer writes it; nil where
	// it is not to be kept.
	Whole() []byte
	// Fail adds the error that ends a stream.
	Fail(dst []byte, err *Error) []byte
	// Ping adds a comment that keeps an idle connection open.
	Ping(dst []byte) []byte
}
