package gatewaytest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/app"
)

// Program is the gateway, started in this process by app.Run.
type Program struct {
	URL    string
	Client *http.Client // validates answers by the OpenAPI document
	Log    *LogBuffer
	Stop   func() error // stops it as SIGTERM does, and waits for its end
}

// Start runs the gateway on a free port with these settings until the test ends.
func Start(t testing.TB, settings ...string) *Program {
	t.Helper()
	began := time.Now()
	p, err := TryStart(t, settings...)
	if err != nil {
		t.Fatal(err)
	}
	if time.Since(began) > listensWithin {
		p.awaitDatabase(t)
	}
	return p
}

// listensWithin is the time after which a gateway listens without its database as well.
// One that listens earlier has tried to migrate it.
const listensWithin = 3 * time.Second

// awaitDatabase waits until the gateway has migrated its database, or has said that it
// can't.
func (p *Program) awaitDatabase(t testing.TB) {
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK || strings.Contains(p.Log.String(), "the database is not ready") {
			return
		}
	}
}

// TryStart is Start for settings with which the gateway may end at once: then it
// returns the gateway's error.
func TryStart(t testing.TB, settings ...string) (*Program, error) {
	t.Helper()
	environ := append([]string{
		"PORT=0", "HOST=127.0.0.1", "LOG_FORMAT=json", "LOG_LEVEL=debug", "MODEL_DISCOVERY=false", "SHUTDOWN_GRACE_SECONDS=5",
		"DATABASE_URL=sqlite:" + t.TempDir() + "/gateway.db", "RATE_LIMIT_RPM=0", "AUTH_RATE_LIMIT_RPM=0",
	}, settings...)
	ctx, cancel := context.WithCancel(context.Background())
	p := &Program{Log: NewLogBuffer()}
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, environ, p.Log) }()
	var once sync.Once
	var result error
	p.Stop = func() error {
		once.Do(func() {
			cancel()
			result = <-ended
		})
		return result
	}
	deadline := time.After(Patience)
	for {
		if address := p.Log.Field("listening", "address"); address != "" {
			p.URL = "http://" + address
			p.Client = ValidatingClient(t)
			t.Cleanup(func() {
				if err := p.Stop(); err != nil {
					t.Errorf("the gateway ended with %v", err)
				}
			})
			return p, nil
		}
		select {
		case err := <-ended:
			cancel()
			return nil, err
		case <-p.Log.grown:
		case <-deadline:
			cancel()
			t.Fatalf("the gateway does not listen:\n%s", p.Log.String())
		}
	}
}
