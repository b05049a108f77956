package rig

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Words of a prompt that set the pace of the stream: a gateway would not
// forward a header.
const (
	WordPaced = "PACE-5MS" // a pause between chunks, instead of all at once
	WordHold  = "HOLD"     // the stream pauses after its third chunk until POST /release

	HeldChunks  = 3
	LongestHold = 5 * time.Minute
	paceBetween = 5 * time.Millisecond
)

// upstream simulates the three providers, and Claude at Bedrock, as fast as net/http can.
type upstream struct {
	openAI, responses, anthropic, bedrock, gemini, embeddings *wire

	open, held, cancelled atomic.Int64 // calls being answered, streams that wait, calls whose client left before their end
	bodies                sync.Pool
	mu                    sync.Mutex
	gate                  chan struct{} // closed by the next release
}

func newUpstream() *upstream {
	return &upstream{
		openAI: openAIWire(), responses: responsesWire(), anthropic: anthropicWire(), bedrock: bedrockWire(), gemini: geminiWire(), embeddings: embeddingsWire(),
		bodies: sync.Pool{New: func() any { return new(bytes.Buffer) }},
		gate:   make(chan struct{}),
	}
}

func (u *upstream) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, u.openAI) })
	mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, u.responses) })
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, u.embeddings) })
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, u.anthropic) })
	mux.HandleFunc("POST /model/{id}/{method}", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
			http.Error(w, "not signed", http.StatusForbidden)
			return
		}
		u.serve(w, r, u.bedrock)
	})
	mux.HandleFunc("POST /v1beta/models/{method}", func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, u.gemini) })
	mux.HandleFunc("POST /release", func(http.ResponseWriter, *http.Request) { u.release() })
	return mux
}

// release resumes every stream that is held now.
func (u *upstream) release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.gate)
	u.gate = make(chan struct{})
}

func (u *upstream) released() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.gate
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request, as *wire) {
	u.open.Add(1)
	defer u.open.Add(-1)
	body := u.bodies.Get().(*bytes.Buffer)
	defer u.bodies.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(r.Body); err != nil {
		u.cancelled.Add(1)
		return
	}
	streaming := wantsStream(body.Bytes())
	if method := r.PathValue("method"); method != "" {
		streaming = method == "invoke-with-response-stream" || strings.HasSuffix(method, ":streamGenerateContent")
	}
	if !streaming {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(as.answer) // the load generator counts clients that disconnect
		return
	}
	s := stream{u: u, w: w, r: r, flush: w.(http.Flusher).Flush}
	s.paced, s.holds = bytes.Contains(body.Bytes(), []byte(WordPaced)), bytes.Contains(body.Bytes(), []byte(WordHold))
	if !s.run(as, bytes.Contains(body.Bytes(), []byte(`"include_usage"`))) {
		u.cancelled.Add(1)
	}
}

// wantsStream finds "stream":true without parsing.
func wantsStream(body []byte) bool {
	for {
		_, after, found := bytes.Cut(body, []byte(`"stream"`))
		if !found {
			return false
		}
		value, colon := bytes.CutPrefix(bytes.TrimLeft(after, " \t\r\n"), []byte(":"))
		if colon && bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte("true")) {
			return true
		}
		body = after
	}
}

// stream is one stream being written.
type stream struct {
	u            *upstream
	w            io.Writer
	r            *http.Request
	flush        func()
	paced, holds bool
}

// run reports whether the client read to the end.
func (s *stream) run(as *wire, usage bool) bool {
	header := s.w.(http.ResponseWriter).Header()
	header.Set("Content-Type", as.contentType)
	ok := s.send(as.before...)
	for i, chunk := range as.chunks {
		if !ok {
			return false
		}
		if s.holds && i == HeldChunks {
			ok = s.wait()
		}
		if s.paced && i > 0 {
			time.Sleep(paceBetween)
		}
		ok = ok && s.send(chunk)
	}
	if usage && as.usage != nil {
		return ok && s.send(as.finish, as.usage) && s.send(as.after...)
	}
	return ok && s.send(as.finish) && s.send(as.after...)
}

// send writes each event as a network write of its own.
func (s *stream) send(events ...[]byte) bool {
	for _, event := range events {
		if len(event) == 0 {
			continue
		}
		if _, err := s.w.Write(event); err != nil || s.r.Context().Err() != nil {
			return false
		}
		s.flush()
	}
	return true
}

func (s *stream) wait() bool {
	gate := s.u.released()
	s.u.held.Add(1)
	defer s.u.held.Add(-1)
	timeout := time.NewTimer(LongestHold)
	defer timeout.Stop()
	select {
	case <-gate:
		return true
	case <-s.r.Context().Done():
		return false
	case <-timeout.C:
		return false
	}
}

// ReleaseStreams resumes every stream that an upstream holds.
func (p *Process) ReleaseStreams() error {
	resp, err := http.Post("http://"+p.Addr+"/release", "", nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
