// Package providers has the interfaces between the gateway and the model
// providers. A provider is one folder; what they share has folders of its own.
package providers

import (
	"context"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
)

// Call is one request for one model of one provider. It is read only: the
// same request may be prepared for several models at once.
type Call struct {
	Request *llm.Request
	Model   catalog.Model
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
}

// Provider translates requests for one upstream.
type Provider interface {
	// Prepare translates without sending. It fails with an *api.Error of
	// status 400 for what would change its meaning if it were left out.
	Prepare(call Call) (Exchange, error)
}

// preparing is what prepares a provider's calls for models of a kind; nil where the
// provider serves none.
func preparing(p Provider, kind llm.Kind) func(Call) (Exchange, error) {
	if kind == llm.KindChat {
		return p.Prepare
	}
	return nil
}

// Serves says whether a provider answers requests for models of a kind.
func Serves(p Provider, kind llm.Kind) bool { return preparing(p, kind) != nil }

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
	prepare := preparing(p, call.Request.Kind)
	if prepare == nil {
		return nil, api.Invalid(api.CodeUnsupportedValue, call.Request.Path(llm.FieldModel), "%s does not answer requests for %s",
			call.Model.Provider, call.Request.Kind.Purpose())
	}
	return prepare(call)
}

// Native is a provider that speaks a dialect of the clients itself: it sends
// the client's bytes, and rewrites only what must change.
type Native interface {
	Speaks(llm.Dialect) bool
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
