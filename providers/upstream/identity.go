package upstream

import (
	"context"
	"net/http"
	"strings"
)

// Call is the context of one attempt, in which the client notes what identifies the
// call at the upstream. Its owner gives it a context, and reads RequestID after the
// attempt has returned.
type Call struct {
	context.Context
	RequestID string // the upstream's; empty = it gave none
}

type callKey struct{}

// Value returns the Call itself for the client, and the values of its context.
func (c *Call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// requestIDs are the headers in which upstreams name a request: OpenAI's, Anthropic's,
// those of Azure and of Google Cloud in front of them. The names are in canonical form.
var requestIDs = []string{"X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Goog-Request-Id"}

// requestID is the upstream's id of a request; empty where it gave none, or one that
// is no plain word.
func requestID(h http.Header) string {
	const longest = 128
	for _, name := range requestIDs {
		values := h[name]
		if len(values) == 0 || values[0] == "" || len(values[0]) > longest {
			continue
		}
		if !strings.ContainsFunc(values[0], func(r rune) bool { return !plain(r) }) {
			return values[0]
		}
	}
	return ""
}

func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:/+=", r)
}

// identified notes the id of the upstream in the context's Call.
func identified(ctx context.Context, h http.Header) (id string) {
	id = requestID(h)
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		c.RequestID = id
	}
	return id
}
