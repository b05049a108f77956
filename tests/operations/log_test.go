package operations

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/app"
	"modelgateway/tests/gatewaytest"
)

// faultyWriter is a log that can be blocked, as a full pipe is, or fail, as a
// closed pipe does.
type faultyWriter struct {
	*gatewaytest.LogBuffer
	stuck chan struct{} // until it is closed
	state atomic.Int32
}

const (
	working = iota
	blocked
	closed
)

func (o *faultyWriter) Write(p []byte) (int, error) {
	switch o.state.Load() {
	case blocked:
		<-o.stuck
		return 0, errors.New("stuck until the end")
	case closed:
		return 0, io.ErrClosedPipe
	}
	return o.LogBuffer.Write(p)
}

func TestBlockedOrClosedLogDelaysNeitherRequestsNorShutdown(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("i", 128) // for long lines
	for name, tt := range map[string]struct {
		state    int32
		requests int
	}{"full": {blocked, 4000}, "closed": {closed, 400}} { // 4000 lines are more than may wait
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := &faultyWriter{LogBuffer: gatewaytest.NewLogBuffer(), stuck: make(chan struct{})}
			defer close(out.stuck)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				ended <- app.Run(ctx, []string{"PORT=0", "HOST=127.0.0.1", "LOG_FORMAT=json", "LOG_LEVEL=debug", "SIMULATOR=true", "MODEL_DISCOVERY=false", "RATE_LIMIT_RPM=0",
					"SHUTDOWN_GRACE_SECONDS=5", "DATABASE_URL=sqlite:" + t.TempDir() + "/gateway.db"}, out)
			}()
			gatewaytest.Until(t, "it listens", func() bool { return out.Field("listening", "address") != "" })
			p := &gatewaytest.Program{
				URL:    "http://" + out.Field("listening", "address"),
				Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: 10 * time.Second},
			}
			defer p.Client.CloseIdleConnections()
			out.state.Store(tt.state)
			var slow, failed atomic.Int64
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range tt.requests / 8 {
						began := time.Now()
						if p.Call(t, "GET", "/livez", "", "X-Request-Id", id).Status != 200 {
							failed.Add(1)
						}
						if time.Since(began) > 5*time.Second {
							slow.Add(1)
						}
					}
				})
			}
			all.Wait()
			if a := p.Chat(t, gatewaytest.HelloRequest); a.Status != 200 || failed.Load() > 0 || slow.Load() > 0 {
				t.Errorf("%d requests failed, %d waited; then %d", failed.Load(), slow.Load(), a.Status)
			}
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(gatewaytest.Patience):
				t.Fatal("it does not end")
			}
		})
	}
}
