package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"modelgateway/providers"
)

// Who may have worked on a request may charge for it.
func TestRefusalSaysWhetherTheProviderMayHaveWorked(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + closed.Addr().String()
	_ = closed.Close()
	for name, tt := range map[string]struct {
		serve  http.HandlerFunc // nil: nothing listens
		worked bool
	}{
		"nothing listens":              {nil, false},
		"it refuses":                   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, false},
		"it fails":                     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, false},
		"it is late, in its own words": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) }, false},
		"it is silent": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			<-r.Context().Done()
		}, true},
		"it breaks off its answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, true},
		"it falls silent in its answer": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, true},
	} {
		url := address
		if tt.serve != nil {
			url = upstreamOf(t, tt.serve).URL
		}
		_, err := testClient(url, 150*time.Millisecond).Post(t.Context(), canary, "/x", []byte("{}"))
		r, ok := errors.AsType[*providers.Refusal](err)
		if !ok || r.Worked != tt.worked {
			t.Errorf("%s: %+v", name, err)
		}
	}
	c := testClient(address, time.Minute)
	for name, err := range map[string]error{"malformed": c.Malformed(errors.New("no")), "truncated": c.Truncated(),
		"broken": c.Broken(t.Context(), io.ErrUnexpectedEOF)} {
		if r, ok := errors.AsType[*providers.Refusal](err); !ok || !r.Worked {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := c.Broken(ctx, io.ErrUnexpectedEOF); !errors.Is(err, context.Canceled) {
		t.Errorf("the call does not wait: %v", err)
	}
}
