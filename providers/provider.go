// Package providers is how the gateway speaks to the model providers. A
// provider is one folder; what they share has folders of its own.
package providers

import (
	"context"
	"iter"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
)

// Call is one request for one model of one provider. It is read only: the
// same request may be prepared for several models at once.
type Call struct {
	Request *api.ChatRequest
	Model   catalog.Model
}

// Stream yields the chunks of one completion in the order of the OpenAI API:
// a role chunk first for each choice, dense tool call indices, one id, created
// and model, a finish chunk with an empty delta for each choice, then usage.
// It ends without an error only when the upstream said that it was whole; an
// error is the last thing it yields. Leaving the loop ends the upstream call.
// A chunk is valid until the loop goes on. A nil chunk without an error is a
// pause: the next chunk has to be waited for, so that what has come should reach
// the client now. Chunks without one between them came together. A Stream can be ranged over once,
// and must be, even if only to leave at once: that closes the connection.
type Stream = iter.Seq2[*api.ChatChunk, error]

// Exchange is a request translated for its upstream. It can be sent several
// times, and changes nothing of itself when it is.
type Exchange interface {
	// Ignored names the fields of the request that the upstream cannot honour
	// and that were left out, in the words of the client's request.
	Ignored() []string
	// Complete sends the request with one of the upstream's keys and waits for
	// the whole answer. Errors are *api.Error, or ctx's cause when ctx has ended.
	Complete(ctx context.Context, key string) (*api.ChatCompletion, error)
	// Stream sends the request and waits for the first event that is not an
	// error; until then nothing is lost and another upstream may be tried.
	// Errors are as Complete's, also inside the stream.
	Stream(ctx context.Context, key string) (Stream, error)
}

// Bounded is an Exchange that tells its upstream how much it may write.
type Bounded interface {
	// MostOutput is how many tokens each answer may have, reasoning included; 0
	// is that only the model bounds it.
	MostOutput() int64
}

// Provider translates requests for one upstream.
type Provider interface {
	// Prepare translates without sending. It fails with an *api.Error of
	// status 400 for what would change its meaning if it were left out.
	Prepare(call Call) (Exchange, error)
}

// Lister is a provider that can say which models it serves today.
type Lister interface {
	// Models asks the upstream. It yields chat models only.
	Models(ctx context.Context, key string) ([]Listed, error)
}

// Listed is a model that its provider says it serves.
type Listed struct {
	ID        string
	Created   int64 // Unix seconds, 0 when the provider does not say
	Context   int64 // tokens, 0 when the provider does not say
	MaxOutput int64 // tokens, 0 when the provider does not say
}
