package wire

import (
	"cmp"

	"modelgateway/catalog"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// NewClient makes the connections to an upstream.
func NewClient(opts providers.Options) *upstream.Client {
	return upstream.New(upstream.Options{
		Provider: cmp.Or(opts.Name, catalog.OpenAI), BaseURL: opts.BaseURL,
		Sign: opts.Signed(providers.SignBearer), Headers: opts.Headers, Query: opts.Query,
		Refused: ReadRefusal, HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
	})
}
