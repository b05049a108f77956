package wire

import (
	"cmp"
	"net/http"

	"modelgateway/catalog"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// NewClient makes the connections to an upstream.
func NewClient(opts providers.Options) *upstream.Client {
	return upstream.New(upstream.Options{
		Provider: cmp.Or(opts.Name, catalog.OpenAI), BaseURL: opts.BaseURL,
		Authorize: func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
		Refused:   ReadRefusal, HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
		Auth: opts.Auth, Headers: opts.Headers, Query: opts.Query,
	})
}
