package agents

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/simulatortest"
	"modelgateway/providers/simulator/strict"
	"modelgateway/tests/gatewaytest"
)

// upstream is all three providers: the simulator, which refuses what they refuse, behind
// the faults of a test.
type upstream struct {
	url       string
	simulator http.Handler

	mu     sync.Mutex
	faults []fault
	calls  []exchange
}

// exchange is a request with the status of its answer.
type exchange struct {
	path   string
	header http.Header
	body   string
	status int
	faulty bool // the answer was a fault's
}

// fault answers one request in place of the simulator, which it may call.
type fault func(w http.ResponseWriter, r *http.Request, simulator http.Handler)

func startUpstream(t *testing.T, faults ...fault) *upstream {
	t.Helper()
	u := &upstream{simulator: newSimulator(), faults: faults}
	u.url = gatewaytest.ServeUpstream(t, u)
	return u
}

func newSimulator() http.Handler {
	return simulator.New(simulator.Options{Now: simulatortest.Time, Check: strict.Check})
}

// ServeHTTP lets the next fault answer a request to a model, if there is one left.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	next, simulator := u.next(r)
	seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	defer func() { // also where the connection is cut by a panic
		u.mu.Lock()
		defer u.mu.Unlock()
		u.calls = append(u.calls, exchange{r.URL.RequestURI(), r.Header, string(body), seen.status, next != nil})
	}()
	if next != nil {
		next(seen, r, simulator)
		return
	}
	simulator.ServeHTTP(seen, r)
}

func (u *upstream) next(r *http.Request) (next fault, simulator http.Handler) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.faults) == 0 || strings.Contains(strings.ToLower(r.URL.Path), "count") {
		return nil, u.simulator
	}
	next, u.faults = u.faults[0], u.faults[1:]
	return next, u.simulator
}

// exchanges are those of requests to a model so far, without those that count tokens.
func (u *upstream) exchanges() (all []exchange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range u.calls {
		if !strings.Contains(strings.ToLower(e.path), "count") {
			all = append(all, e)
		}
	}
	return all
}

// acceptedAll fails the test for a request that the simulator refused, or that has what
// the gateway keeps for another provider.
func (u *upstream) acceptedAll(t *testing.T) {
	t.Helper()
	for _, e := range u.exchanges() {
		if !e.faulty && e.status != http.StatusOK {
			t.Errorf("%s: the upstream answered %d to %s", e.path, e.status, e.body)
		}
		if strings.Contains(e.body, `"mgw1.`) {
			t.Errorf("%s: a sealed thought reached the upstream: %s", e.path, e.body)
		}
	}
}

// refuse answers with an error.
func refuse(status int, body string, headers ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// statusWriter keeps the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// cutBehind ends the connection behind the first event that contains a text.
func cutBehind(text string) fault {
	return func(w http.ResponseWriter, r *http.Request, simulator http.Handler) {
		simulator.ServeHTTP(&cutBehindWriter{w, text}, r)
	}
}

type cutBehindWriter struct {
	http.ResponseWriter
	text string
}

func (w *cutBehindWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if strings.Contains(string(p), w.text) {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *cutBehindWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
