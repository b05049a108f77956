package upstream

import (
	"context"
	"net/http"
)

// Trace is one attempt as its trace sees it. It belongs to who makes the
// attempt, and is read when that has returned.
type Trace struct {
	Parent string // W3C traceparent that goes out; empty: none does
	State  string // W3C tracestate beside it

	// Set by the call.
	Host   string // who was asked
	Port   string // in digits, also where it is the scheme's own
	Status int    // of the answer; 0 = there was none
}

var schemePorts = map[string]string{"http": "80", "https": "443"}

type traceKey struct{}

// WithTrace has the calls made with the context fill t in and carry its
// traceparent.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// traced puts the context of the trace on a request. It is nil where there is
// no trace.
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

func (t *Trace) answered(status int) {
	if t != nil {
		t.Status = status
	}
}
