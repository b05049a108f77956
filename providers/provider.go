// Package providers has the interfaces between the gateway and the model
// providers. A provider is one folder; what they share has folders of its own.
package providers

import (
	"context"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
)

// Call is one request for one model of one provider. It is read only: the
// same request may be prepared for several models at once.
type Call struct {
	Request *llm.Request
	Model   *catalog.Model // not nil, and not to be changed: it is that of all calls
	Moved   bool           // the gateway chose another model than the one that the client named
}

// Exchange is a request translated for its upstream. It can be sent several
// times, as sending does not change it.
type Exchange interface {
	// Ignored names the fields of the request that the upstream does not support
	// and that were left out, in the words of the client's request.
	Ignored() []string
	// Open sends the request with one of the upstream's keys and waits for the
	// first event that is not an error; until then nothing is lost and another
	// upstream may be tried. A whole answer is a stream as well, of one
	// EventAnswer where the provider speaks the client's dialect; the caller
	// collects it, and may try another upstream until it has all. Errors are
	// *Refusal, *api.Error for a fault of ours, or ctx's cause when ctx has
	// ended; also inside the stream.
	Open(ctx context.Context, key string) (llm.Stream, error)
}

// InPieces is an Exchange whose whole answer need not be collected.
type InPieces interface {
	// InPieces says that the stream of Open is of events EventAnswer with the client's bytes
	// in pieces. The last has the usage.
	InPieces() bool
}

// OutputBound is an Exchange whose request limits the length of the answer.
type OutputBound interface {
	// MaxOutput is the limit of each answer in tokens, reasoning included; 0 = only
	// that of the model.
	MaxOutput() int64
}

// Options say where an upstream is, and how long it may be silent.
type Options struct {
	Name          string // of the provider, in errors; empty: that of the package's own Driver
	BaseURL       string // without a trailing slash and without the API's version
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration
	Now           func() time.Time // the time of answers whose upstream does not say it

	Auth    Auth
	Headers map[string]string // sent with each call
	Query   string            // sent with each call, encoded and without a question mark
	Server  Server
	Objects string // config.ObjectsOwn and so on; empty means ObjectsOwn
}

// Provider translates requests for one upstream.
type Provider interface {
	// Prepare translates without sending. It fails with an *api.Error of
	// status 400 for what would change its meaning if it were left out.
	Prepare(call Call) (Exchange, error)
}

// Embedder is a provider that may have models for embeddings.
type Embedder interface {
	// Embeds says whether it has.
	Embeds() bool
	// PrepareEmbeddings is Prepare for a request of the dialect of dialects/embeddings,
	// the only one that asks for vectors.
	PrepareEmbeddings(call Call) (Exchange, error)
}

// Decoding is an Exchange for whose upstream the client's tokens have been turned into text.
type Decoding interface {
	// Decoded is the name of the vocabulary of the tokens; empty where there were none.
	Decoded() string
}

// Serves says whether a provider answers requests for models of a kind.
func Serves(p Provider, kind llm.Kind) bool { return kind == llm.KindChat || embedder(p, kind) != nil }

// embedder is a provider that answers requests of a kind that is for embeddings; else nil.
func embedder(p Provider, kind llm.Kind) Embedder {
	if e, ok := p.(Embedder); ok && kind == llm.KindEmbedding && e.Embeds() {
		return e
	}
	return nil
}

// Check says whether the model is for what the request asks. Its error is an
// *api.Error of status 400 that names what the model is for.
func (c Call) Check() error {
	asked, has := c.Request.Kind, c.Model.Kind
	if asked == has {
		return nil
	}
	return api.Invalid(api.CodeUnsupportedValue, c.Request.Path(llm.FieldModel), "the model %s is for %s, not for %s",
		api.Quoted(c.Model.ID), has.Purpose(), asked.Purpose())
}

// Prepare has a provider translate a call that Check accepts. It fails as
// Provider.Prepare does.
func Prepare(p Provider, call Call) (Exchange, error) {
	kind := call.Request.Kind
	if kind == llm.KindChat {
		return p.Prepare(call)
	}
	if e := embedder(p, kind); e != nil {
		return e.PrepareEmbeddings(call)
	}
	return nil, api.Invalid(api.CodeUnsupportedValue, call.Request.Path(llm.FieldModel), "%s does not answer requests for %s",
		call.Model.Provider, kind.Purpose())
}

// Native is a provider that speaks a dialect of the clients itself: it sends
// the client's bytes, and rewrites only what must change.
type Native interface {
	Speaks(llm.Dialect) bool
}

// Counter is a provider that can count the tokens of a prompt without answering it.
type Counter interface {
	// Count asks the upstream with one of its keys. Its errors are those of
	// Exchange.Open, and those of Provider.Prepare.
	Count(ctx context.Context, call Call, key string) (Count, error)
}

// Count is the size of a prompt.
type Count struct {
	Tokens int64

	// Raw is the upstream's answer in the JSON of Dialect, from a provider that speaks the
	// client's dialect: it is sent as it came.
	Raw     []byte
	Dialect llm.Dialect
}

// Keeper is a provider that keeps responses, of which a client may ask again.
type Keeper interface {
	// Kept sends a request about a response with the key that made it, and returns the JSON
	// of the answer. Its errors are those of Exchange.Open.
	Kept(ctx context.Context, ask KeptAsk, key string) ([]byte, error)
}

// KeptAsk is a request about a response that a provider keeps.
type KeptAsk struct {
	Method string // GET, DELETE or POST
	ID     string // the provider's own
	Part   string // of the path after the id, as in /input_items; empty = the response itself
	Query  string // encoded

	// Name is the client's name of a response of the same account. In the answer the names
	// stand in the place of the provider's ids.
	Name func(id string) string
}

// Lister is a provider that can say which models it serves today.
type Lister interface {
	// Models asks the upstream. Models that are of no kind are left out.
	Models(ctx context.Context, key string) ([]Listed, error)
}

// Listed is a model that its provider says it serves.
type Listed struct {
	ID        string
	Kind      llm.Kind // empty when the provider does not say
	Created   int64    // Unix seconds, 0 when the provider does not say
	Context   int64    // tokens, 0 when the provider does not say
	MaxOutput int64    // tokens, 0 when the provider does not say
}
