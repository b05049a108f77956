package upstream

import (
	"context"
	"net/http"
	"testing"
	"time"
)

func TestTraceIsFilledInAndPropagated(t *testing.T) {
	for name, tt := range map[string]struct {
		url, port string
		trace     Trace
	}{
		"sent":   {url: "https://api.example.com/v1/x", port: "443", trace: Trace{Parent: "00-a-b-01", State: "v=1"}},
		"kept":   {url: "http://api.example.com:8080/v1/x", port: "8080"},
		"simple": {url: "http://api.example.com/x", port: "80", trace: Trace{Parent: "00-a-b-01"}},
	} {
		req, err := http.NewRequest(http.MethodPost, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		trace := tt.trace
		traced(WithTrace(t.Context(), &trace), req).setAnswer(http.StatusTeapot, "req_1")
		if trace.ID != "req_1" || trace.Host != "api.example.com" || trace.Port != tt.port || trace.Status != http.StatusTeapot {
			t.Errorf("%s: %+v", name, trace)
		}
		if req.Header.Get("Traceparent") != tt.trace.Parent || req.Header.Get("Tracestate") != tt.trace.State {
			t.Errorf("%s: %v", name, req.Header)
		}
	}
}

// deep is a context as deep as a real call's.
func deep() (context.Context, func()) {
	ctx := context.Background()
	var ends []func()
	for i := range 8 {
		if i%2 == 0 {
			ctx = context.WithValue(ctx, time.Duration(i), i)
			continue
		}
		var end func()
		ctx, end = context.WithCancel(ctx)
		ends = append(ends, end)
	}
	return ctx, func() {
		for _, end := range ends {
			end()
		}
	}
}

func BenchmarkWithoutATrace(b *testing.B) {
	ctx, end := deep()
	defer end()
	req, err := http.NewRequest(http.MethodPost, "http://api.example.com/x", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		traced(ctx, req).setAnswer(200, "")
	}
}
