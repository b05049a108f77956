// Package providers has the interfaces between the gateway and the model
// providers. A provider is one folder; what they share has folders of its own.
package providers

import (
	"context"
	"regexp"
	"strings"
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
	// Properties are what is known of it before it is sent.
	Properties() Properties
	// Open sends the request with one of the upstream's keys and waits for the
	// first event that is not an error; until then nothing is lost and another
	// upstream may be tried. A whole answer is a stream as well, of one
	// EventAnswer where the provider speaks the client's dialect; the caller
	// collects it, and may try another upstream until it has all. Errors are
	// *Refusal, *api.Error for a fault of ours, or ctx's cause when ctx has
	// ended; also inside the stream.
	Open(ctx context.Context, key string) (llm.Stream, error)
}

// Properties are those of an Exchange.
type Properties struct {
	// Ignored names the fields of the request that the upstream does not support and that were
	// left out, in the words of the client's request.
	Ignored []string
	// MaxOutput is the limit of each answer in tokens, reasoning included, that the request has;
	// 0 = only that of the model.
	MaxOutput int64
	// Decoded is the name of the vocabulary by which tokens of the client were turned into text
	// for the upstream; empty where there were none.
	Decoded string
	// InPieces says that a whole answer need not be collected: the stream of Open is of events
	// EventAnswer with the client's bytes in pieces, of which the last has the usage.
	InPieces bool
	// Body is the request as the upstream gets it, in pieces; nil where its prompt is the client's
	// as it came.
	Body [][]byte
}

// Options say where an upstream is, and how long it may be silent.
type Options struct {
	Name          string // of the provider, in errors; empty: that of the package's own Driver
	BaseURL       string // without a trailing slash and without the API's version
	Region        string // of a cloud
	Project       string // of a cloud
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration
	Now           func() time.Time // the time of answers whose upstream does not say it

	Sign    Sign              // nil: the driver's own way
	Headers map[string]string // sent with each call
	Query   string            // sent with each call, encoded and without a question mark
	Server  Server
	Objects string // config.ObjectsOwn and so on; empty means ObjectsOwn
}

// Signed is the way in which the upstream is given its key: own is that of the driver.
func (o *Options) Signed(own Sign) Sign {
	if o.Sign != nil {
		return o.Sign
	}
	return own
}

// Provider translates requests for one upstream.
type Provider interface {
	// Prepare translates without sending. It fails with an *api.Error of
	// status 400 for what would change its meaning if it were left out.
	Prepare(call Call) (Exchange, error)
	// Abilities are what it can do beside that.
	Abilities() Abilities
}

// Abilities of a provider. A function that is nil it cannot do.
type Abilities struct {
	// Tokens is the vocabulary of its models.
	Tokens llm.Vocabulary
	// RunsTools says that its models have at the provider what Anthropic's have: tools that run
	// there, citations, and the management of the context.
	RunsTools bool
	// TakesMedia says that its models read pictures and PDFs where no list knows what they read.
	TakesMedia bool
	// Speaks says whether it speaks a dialect of the clients itself with a model, or with any of
	// its models where that is nil: it sends the client's bytes, and rewrites only what must change.
	Speaks func(d llm.Dialect, m *catalog.Model) bool
	// PrepareEmbeddings is Prepare for a request of the dialect of dialects/embeddings, the only
	// one that asks for vectors.
	PrepareEmbeddings func(call Call) (Exchange, error)
	// Count asks the upstream with one of its keys for the tokens of a prompt, which it does not
	// answer. Its errors are those of Exchange.Open, and those of Provider.Prepare.
	Count func(ctx context.Context, call Call, key string) (Count, error)
	// Kept sends a request about a response that the upstream keeps, with the key that made it,
	// and returns the JSON of the answer. Its errors are those of Exchange.Open.
	Kept func(ctx context.Context, ask KeptAsk, key string) ([]byte, error)
	// Models asks the upstream which models it serves today. Models that are of no kind are left
	// out.
	Models func(ctx context.Context, key string) ([]Listed, error)
}

// Serves says whether a provider answers requests for models of a kind.
func Serves(p Provider, kind llm.Kind) bool { return preparing(p, kind) != nil }

// preparing is the function of a provider that prepares requests of a kind; nil if it has none.
func preparing(p Provider, kind llm.Kind) func(Call) (Exchange, error) {
	switch kind {
	case llm.KindChat:
		return p.Prepare
	case llm.KindEmbedding:
		return p.Abilities().PrepareEmbeddings
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

// CheckName refuses a model whose upstream name, as a client may choose it, would change the path
// of a call that it is a part of. Its error is an *api.Error of status 400.
func (c Call) CheckName() error {
	if id := c.Model.Upstream; !pathName.MatchString(id) || strings.Contains(id, "..") {
		return api.Invalid(api.CodeInvalidValue, c.Request.Path(llm.FieldModel), "%s is not the name of a model of %s",
			api.Quoted(id), c.Model.Provider)
	}
	return nil
}

var pathName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._:/@-]*[A-Za-z0-9])?$`)

// Prepare has a provider translate a call that Check accepts. It fails as
// Provider.Prepare does.
func Prepare(p Provider, call Call) (Exchange, error) {
	kind := call.Request.Kind
	if prepare := preparing(p, kind); prepare != nil {
		return prepare(call)
	}
	return nil, api.Invalid(api.CodeUnsupportedValue, call.Request.Path(llm.FieldModel), "%s does not answer requests for %s",
		call.Model.Provider, kind.Purpose())
}

// Count is the size of a prompt.
type Count struct {
	Tokens int64

	// Raw is the upstream's answer in the JSON of Dialect, from a provider that speaks the
	// client's dialect: it is sent as it came.
	Raw     []byte
	Dialect llm.Dialect
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

// Listed is a model that its provider says it serves.
type Listed struct {
	ID        string
	Kind      llm.Kind // empty when the provider does not say
	Created   int64    // Unix seconds, 0 when the provider does not say
	Context   int64    // tokens, 0 when the provider does not say
	MaxOutput int64    // tokens, 0 when the provider does not say
}
