package upstream

import (
	"context"
	"net/http"
)

// Around wraps the transport of a call, which sees the request as it is sent, with its credential,
// and the answer as it comes.
type Around func(next http.RoundTripper) http.RoundTripper

type aroundKey struct{}

// WithTransport returns a context whose calls are sent through a wrapped transport.
func WithTransport(ctx context.Context, wrap Around) context.Context {
	return context.WithValue(ctx, aroundKey{}, wrap)
}

// over is the transport of a call of this context.
func over(ctx context.Context, next *lane) http.RoundTripper {
	if wrap, found := ctx.Value(aroundKey{}).(Around); found {
		return wrap(next)
	}
	return next
}
