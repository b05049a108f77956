// Package simulator is a MADE-UP upstream for demos and tests. It answers
// nothing real: no model is behind it, every text says that it is simulated,
// every response carries the header x-simulated, and the OpenAI answers the
// system_fingerprint "simulated".
//
// It must only ever run when somebody asked for it. It is never a fallback for
// a provider that is not configured, and nothing outside demos and tests may
// import it.
//
// What it does keep real is the wire: the OpenAI, Anthropic and Gemini formats,
// their streams, their accounting, their errors and the requests they refuse,
// so that a gateway in front of it runs the code it runs in production. It is
// stricter than the services in two harmless ways: Gemini's snake_case field
// names and its ?key= credential are not taken.
//
// Words are tokens here. The last user text can ask for trouble:
//
//	simulate error 529          the provider's documented error of that status (400..599)
//	simulate error midstream    the provider's error event in the middle of a stream
//	simulate truncation         the connection is cut in the middle of a stream
//
// followed by "from openai", "from anthropic" or "from gemini" to be obeyed by
// that provider only, which is how a fail-over is shown.
package simulator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxBody is a little more than Anthropic takes, which takes the least.
const maxBody = 40 << 20

// Options of a simulator. The zero value streams as fast as it can and tells
// the real time.
type Options struct {
	// ChunkDelay is the wait between two events of a stream.
	ChunkDelay time.Duration
	// Now dates the answers; nil means time.Now.
	Now func() time.Time
}

type simulator struct {
	delay time.Duration
	now   func() time.Time
	cache *promptCache
}

// New serves the three formats side by side, at the paths of the real services,
// so that one address can be the base URL of all three clients. GET /v1/models
// answers as Anthropic to whoever sends x-api-key or anthropic-version. The
// handler aborts the connection where a truncated stream is asked for, which
// needs a real server around it.
func New(opts Options) http.Handler {
	s := &simulator{delay: opts.ChunkDelay, now: opts.Now, cache: newPromptCache()}
	if s.now == nil {
		s.now = time.Now
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.openaiChat)
	mux.HandleFunc("POST /v1/messages", s.anthropicMessages)
	mux.HandleFunc("GET /v1/models", s.listModels)
	mux.HandleFunc("GET /v1/models/{id}", s.showModel)
	mux.HandleFunc("POST /v1beta/models/{call}", s.geminiGenerate)
	mux.HandleFunc("GET /v1beta/models", s.geminiModels)
	mux.HandleFunc("GET /v1beta/models/{id}", s.geminiModel)
	mux.HandleFunc("/", s.nowhere)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Simulated", "true")
		mux.ServeHTTP(w, r)
	})
}

func (s *simulator) listModels(w http.ResponseWriter, r *http.Request) {
	if speaksAnthropic(r) {
		s.anthropicModels(w, r)
		return
	}
	s.openaiModels(w, r)
}

func (s *simulator) showModel(w http.ResponseWriter, r *http.Request) {
	if speaksAnthropic(r) {
		s.anthropicModel(w, r)
		return
	}
	s.openaiModel(w, r)
}

func (s *simulator) nowhere(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1beta/"):
		geminiFailure(http.StatusNotFound, "Not found").write(w)
	case speaksAnthropic(r):
		anthropicFailure(http.StatusNotFound, "Not found").write(w)
	default:
		text := fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path)
		openaiFailure(http.StatusNotFound, openaiFault{Message: text, Type: openaiBadRequest}).write(w)
	}
}

func speaksAnthropic(r *http.Request) bool {
	return r.Header.Get("X-Api-Key") != "" || r.Header.Get("Anthropic-Version") != ""
}

// A failure is an error answer, ready to be written.
type failure struct {
	status int
	header map[string]string
	body   any
}

func (f *failure) write(w http.ResponseWriter) {
	for name, value := range f.header {
		w.Header().Set(name, value)
	}
	writeJSON(w, f.status, f.body)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	// A client that left is the only one who would have read the error.
	_, _ = w.Write(encode(body))
}

// encode writes the shapes of this package, which always can be written.
func encode(v any) []byte {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("simulator: encode %T: %v", v, err))
	}
	return data
}

var (
	errTooLarge = errors.New("request body is too large")
	errNotJSON  = errors.New("request body is not a JSON object")
)

func readObject(w http.ResponseWriter, r *http.Request) (jsontext.Value, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	raw := jsontext.Value(body)
	if !raw.IsValid() || raw.Kind() != '{' {
		return nil, errNotJSON
	}
	return raw, nil
}

// A show is a stream that has been written down: its events as they go over
// the wire, and whether the connection breaks at the end.
type show struct {
	frames [][]byte
	cut    bool
}

// spoil bends a stream to the cue: a fault event takes the place of its second
// half, or the connection is cut inside an event.
func (p show) spoil(c cue, fault []byte) show {
	half := len(p.frames) / 2
	switch c.kind {
	case cueMidstream:
		return show{frames: append(p.frames[:half:half], fault)}
	case cueTruncation:
		torn := p.frames[half]
		return show{frames: append(p.frames[:half:half], torn[:len(torn)/2]), cut: true}
	}
	return p
}

func (s *simulator) play(w http.ResponseWriter, r *http.Request, p show) {
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	for i, frame := range p.frames {
		if i > 0 && !pause(r.Context(), s.delay) {
			return
		}
		if _, err := w.Write(frame); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
	if p.cut {
		panic(http.ErrAbortHandler)
	}
}

// pause reports whether the wait ended before the client left.
func pause(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// newID is unique and has the length of the ids that the services give.
func newID(prefix string) string { return prefix + rand.Text()[:24] }
