package upstream

import (
	"context"
	"net/http"
)

// Trace is the tracing data of one attempt. The caller owns it, and reads it after
// the attempt has returned.
type Trace struct {
	Parent string // W3C traceparent to send; empty = none
	State  string // W3C tracestate to send with it

	// Set by the call.
	Host   string // of the upstream
	Port   string // in digits, also the scheme's default port
	Status int    // of the answer; 0 = no answer
	ID     string // of the request, as the upstream names it; empty = it did not
}

var schemePorts = map[string]string{"http": "80", "https": "443"}

type traceKey struct{}

// WithTrace returns a context whose calls send the traceparent of t and fill t in.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// traced adds the headers of the context's trace to a request. It returns nil if
// the context has no trace.
func traced(ctx context.Context, req *http.Request) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	if t == nil {
		return nil
	}
	t.Host, t.Port = req.URL.Hostname(), req.URL.Port()
	if t.Port == "" {
		t.Port = schemePorts[req.URL.Scheme]
	}
	if t.Parent == "" {
		return t
	}
	req.Header["Traceparent"] = []string{t.Parent}
	if t.State != "" {
		req.Header["Tracestate"] = []string{t.State}
	}
	return t
}

func (t *Trace) setAnswer(status int, id string) {
	if t != nil {
		t.Status, t.ID = status, id
	}
}
