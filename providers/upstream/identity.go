package upstream

import (
	"context"
	"net/http"
	"strings"

	"modelgateway/llm"
)

// Call is the context of one attempt, in which the client notes what identifies the
// call at the upstream. Its owner gives it a context, and reads the other members after
// the attempt has returned.
type Call struct {
	context.Context
	User, Team string       // the ids of those for whom it is made; empty = there is none
	RequestID  string       // the upstream's; empty = it gave none
	Told       []llm.Header // of its answer: see Client.Telling

	// Accepted is called when the header of an answer has come that is no error: the
	// upstream works on the request. nil = it is not called.
	Accepted func()
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
// those of Azure and of Google Cloud in front of them, Amazon's. The names are in canonical form.
var requestIDs = []string{"X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Goog-Request-Id", "X-Amzn-Requestid"}

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

// CallOf is the Call of a context; nil = it has none.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// identified notes the header of an answer in the context's Call.
func (c *Client) identified(ctx context.Context, resp *http.Response) (id string) {
	id = requestID(resp.Header)
	call := CallOf(ctx)
	if call == nil {
		return id
	}
	call.RequestID = id
	if isAnswer(resp) {
		call.Told = c.forwardedHeaders(resp.Header)
		if call.Accepted != nil {
			call.Accepted()
		}
	}
	return id
}

// isAnswer says whether a response is an answer and no error.
func isAnswer(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode < 300 }

// unnoted returns a context for a further call of the same attempt at the same time: it is traced
// as the attempt and made for the same user, and what is noted of it nobody reads.
func unnoted(ctx context.Context) context.Context {
	if t, _ := ctx.Value(traceKey{}).(*Trace); t != nil {
		ctx = WithTrace(ctx, &Trace{Parent: t.Parent, State: t.State})
	}
	further := &Call{Context: ctx}
	if first := CallOf(ctx); first != nil {
		further.User, further.Team = first.User, first.Team
	}
	return further
}
