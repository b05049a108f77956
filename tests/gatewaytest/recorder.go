package gatewaytest

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/simulatortest"
	"modelgateway/providers/simulator/strict"
)

// Recorder is the upstream of all three providers: it keeps what it is sent, and answers
// as the simulator that refuses what the providers refuse.
type Recorder struct {
	simulated http.Handler

	mu   sync.Mutex
	sent []Recorded
}

// Recorded is a request that a Recorder was sent.
type Recorded struct {
	Path   string
	Header http.Header
	Body   []byte
}

func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the gateway has left
	}
	r.mu.Lock()
	r.sent = append(r.sent, Recorded{req.URL.Path, req.Header.Clone(), body})
	r.mu.Unlock()
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.simulated.ServeHTTP(w, req)
}

// Take returns the requests since the last Take.
func (r *Recorder) Take() []Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

// byChat has a model that reasons called by chat completions, though it has both APIs.
const byChat = `rules: {openai: [{match: [gpt-5.2*], api: chat, sampling: both, sampling_thinking: none, thinking: [effort],
	efforts: [none, low, medium, high, xhigh], limit_field: max_completion_tokens, structured: true}]}`

// StartRecorded starts a gateway whose three providers are one recorder. It calls gpt-5.2
// by chat completions.
func StartRecorded(t testing.TB, settings ...string) (*Program, *Recorder) {
	t.Helper()
	r := &Recorder{simulated: simulator.New(simulator.Options{Now: simulatortest.Time, Check: strict.Check})}
	url := ServeUpstream(t, r)
	models := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(models, []byte(byChat), 0o600); err != nil {
		t.Fatal(err)
	}
	return Start(t, append([]string{
		"OPENAI_BASE_URL=" + url, "OPENAI_API_KEY=sk-openai", "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-anthropic",
		"GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=sk-gemini", "MAX_RETRIES=0", "MODELS_FILE=" + models,
	}, settings...)...), r
}
