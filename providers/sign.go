package providers

import (
	"context"
	"net/http"
)

// Sign puts the credential of an upstream on a request, as the last step before it is sent:
// the other headers are on it, and body has its bytes in pieces. key is what the operator has
// configured, or empty; a Sign may exchange it for a token, which it keeps and renews. Its
// error is a *Refusal where it knows what may be tried next, else a failure of the upstream.
type Sign func(ctx context.Context, r *http.Request, key string, body [][]byte) error

// LogInError says that a cloud gave no credential, and which settings an operator has to look at.
type LogInError struct {
	Settings string // such as AZURE_CLIENT_ID and AZURE_CLIENT_SECRET
	Cause    error  // without secrets
}

func (e *LogInError) Error() string { return e.Cause.Error() + ": check " + e.Settings }

func (e *LogInError) Unwrap() error { return e.Cause }

// SignBearer sends the key as Authorization: Bearer KEY.
func SignBearer(_ context.Context, r *http.Request, key string, _ [][]byte) error {
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return nil
}

// SignHeader sends the key alone, in a header.
func SignHeader(name string) Sign {
	return func(_ context.Context, r *http.Request, key string, _ [][]byte) error {
		if key != "" {
			r.Header.Set(name, key)
		}
		return nil
	}
}

// SignNothing sends no key.
func SignNothing(context.Context, *http.Request, string, [][]byte) error { return nil }
