package streams

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

func TestClientDisconnectCancelsTheUpstreamCall(t *testing.T) {
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		for name, tt := range map[string]struct {
			script  providertest.Script
			members string
			read    bool // wait for the first event before leaving
		}{
			"before the header":           {gatewaytest.Events(providertest.Hold), "", false},
			"before the header, a stream": {gatewaytest.Events(providertest.Hold), gatewaytest.Streaming, false},
			"inside an answer":            {providertest.Script{Pieces: [][]byte{[]byte("{")}, End: providertest.Hold}, "", false},
			"inside a stream":             {gatewaytest.Events(providertest.Hold, f.Start, f.Text("a")), gatewaytest.Streaming, true},
		} {
			u.Play(tt.script)
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(
				ctx, http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(f.Request(tt.members)),
			)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			left := make(chan struct{})
			go func() {
				defer close(left)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return
				}
				_, _ = resp.Body.Read(make([]byte, 1))
				cancel()
				_ = resp.Body.Close()
			}()
			if !tt.read {
				gatewaytest.Until(t, "the call reaches the upstream", func() bool { return len(u.Requests()) == 1 })
				cancel()
			}
			<-left
			began := time.Now()
			if _, ok := u.Gone(5 * time.Second); !ok || time.Since(began) > time.Second {
				t.Errorf("%s: the upstream learned of it after %s (%v)", name, time.Since(began), ok)
			}
			cancel()
		}
	})
}

func TestClientDisconnectLeavesNoGoroutine(t *testing.T) {
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	u.Play(gatewaytest.Events(providertest.Hold, f.Start, f.Text("a")))
	leave := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(
			ctx, http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(f.Request(gatewaytest.Streaming)),
		)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}
	leave()
	before := runtime.NumGoroutine()
	for range 100 {
		leave()
	}
	http.DefaultClient.CloseIdleConnections()
	gatewaytest.Until(t, "the goroutines are gone", func() bool { return runtime.NumGoroutine() <= before+5 })
}
