// Package responses is OpenAI's Responses API as an upstream.
//
// A client that uses this API is served natively: its bytes are sent on, but for what the
// gateway itself has put there (native_body.go), and the answer comes back in its own bytes.
// Requests of another dialect are written from the common form (compose.go), and their answers
// are translated to it (answer.go).
package responses

import (
	"time"

	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// API is the Responses API at one upstream.
type API struct {
	client   *upstream.Client
	verbatim *upstream.Client // of calls in the client's own bytes
	server   providers.Server
	now      func() time.Time
	objects  string // that calls in the client's own bytes may name
}

// New makes the API with the connections of its provider.
func New(client *upstream.Client, opts providers.Options) *API {
	return &API{
		client: client, verbatim: client.Telling(toldHeaders...), server: opts.Server, now: opts.Now, objects: opts.Objects,
	}
}

// Prepare rewrites a request of the Responses API, or writes one anew where the client speaks
// another dialect.
func (a *API) Prepare(call providers.Call) (providers.Exchange, error) {
	if source, ok := call.Request.Source.(ofResponses); ok {
		return a.native(call, source.Endpoint())
	}
	return a.respond(call)
}
