package openai

import (
	"time"

	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// responsesAPI is the Responses API at one upstream.
type responsesAPI struct {
	client   *upstream.Client
	verbatim *upstream.Client // of calls in the client's own bytes
	server   providers.Server
	now      func() time.Time
	objects  string // that calls in the client's own bytes may name
}

// newResponses makes the API with the connections of its provider.
func newResponses(client *upstream.Client, opts providers.Options) *responsesAPI {
	return &responsesAPI{
		client: client, verbatim: client.Telling(toldHeaders...), server: opts.Server, now: opts.Now, objects: opts.Objects,
	}
}

// Prepare rewrites a request of the Responses API, or writes one anew where the client speaks
// another dialect.
func (a *responsesAPI) Prepare(call providers.Call) (providers.Exchange, error) {
	if source, ok := call.Request.Source.(ofResponses); ok {
		return a.native(call, source.Endpoint())
	}
	return a.respond(call)
}
