// Package wire is what the simulated providers share of HTTP: bodies, error
// answers, streams of events and lists of models.
package wire

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/catalog"
)

// Options of a simulator.
type Options struct {
	// ChunkDelay is the pause between two events of a stream.
	ChunkDelay time.Duration
	// Now dates the answers; nil means time.Now.
	Now func() time.Time
	// Catalog has the models that the providers serve at the time Now; nil means the embedded one.
	Catalog func() *catalog.Catalog
	// Check refuses requests that the provider would refuse. With nil, only what
	// cannot be answered at all is refused.
	Check Check
}

// Check returns the provider's error answer to the headers and the body of a request, or
// nil. It is called with a body that is a JSON object, for a model that the provider serves.
type Check func(provider, model string, header http.Header, body jsontext.Value) *Failure

// Refuse calls the check, if there is one.
func (o Options) Refuse(provider, model string, header http.Header, body jsontext.Value) *Failure {
	if o.Check == nil {
		return nil
	}
	return o.Check(provider, model, header, body)
}
