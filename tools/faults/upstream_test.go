package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// models are one of each provider: openai, anthropic, gemini.
var models = []string{"gpt-4", "claude-haiku-4-5-20251001", "gemini-2.5-flash"}

// upstream simulates all three providers, by path. The last user message of a
// request is its script, see script.
type upstream struct {
	url            string
	server         *http.Server
	total, running atomic.Int64
	sent, sentAt   atomic.Int64 // bytes of events, and when the last of them were, in Unix nanoseconds
	mu             sync.Mutex
	marks          map[string]ending
}

// ending is how the last call of a mark ended.
type ending struct {
	at        time.Time // zero while the first is still running
	cancelled bool
	calls     int // begun
}

// startUpstream serves until the end of the test.
func startUpstream(t testing.TB) *upstream {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{url: "http://" + listener.Addr().String(), marks: map[string]ending{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, openAI) })
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, anthropic) })
	mux.HandleFunc("POST /v1beta/models/{method}", func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, gemini) })
	u.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = u.server.Serve(listener) })
	t.Cleanup(func() {
		_ = u.server.Close()
		serving.Wait()
	})
	return u
}

// dropIdle closes the connections that no call uses, and so leaves nothing in
// the gateway's pools.
func (u *upstream) dropIdle() {
	u.server.SetKeepAlivesEnabled(false)
	u.server.SetKeepAlivesEnabled(true)
}

// calls is how many have begun.
func (u *upstream) calls() int64 { return u.total.Load() }

// live is how many are running now.
func (u *upstream) live() int64 { return u.running.Load() }

// ended returns when the last call with this mark ended, and whether its client
// had disconnected: then it is the moment at which the upstream noticed. It is
// not ok when no call with the mark has ended.
func (u *upstream) ended(mark string) (at time.Time, cancelled, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	e := u.marks[mark]
	return e.at, e.cancelled, !e.at.IsZero()
}

// begun is how many calls with this mark have come.
func (u *upstream) begun(mark string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.marks[mark].calls
}

// begin counts a call of a mark, and returns how many came before it.
func (u *upstream) begin(mark string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	e := u.marks[mark]
	e.calls++
	u.marks[mark] = e
	return e.calls - 1
}

func (u *upstream) end(mark string, at time.Time, cancelled bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	e := u.marks[mark]
	e.at, e.cancelled = at, cancelled
	u.marks[mark] = e
}

func (u *upstream) note(bytes int) {
	u.sent.Add(int64(bytes))
	u.sentAt.Store(time.Now().UnixNano())
}

// stalled reports whether no event has been sent for a while.
func (u *upstream) stalled(d time.Duration) bool {
	return time.Since(time.Unix(0, u.sentAt.Load())) > d
}

// upstreamSettings are the gateway's for providers at these base URLs.
func upstreamSettings(openai, anthropic, gemini string) []string {
	return []string{
		"OPENAI_API_KEY=sk-faults-openai", "OPENAI_BASE_URL=" + openai,
		"ANTHROPIC_API_KEY=sk-faults-anthropic", "ANTHROPIC_BASE_URL=" + anthropic,
		"GEMINI_API_KEY=sk-faults-gemini", "GEMINI_BASE_URL=" + gemini,
	}
}

// providersAt are the settings of a gateway whose three providers u plays, and
// further ones.
func providersAt(u *upstream, further ...string) []string {
	return append(upstreamSettings(u.url, u.url, u.url), further...)
}

// script is what a prompt requests of the upstream, as words between spaces.
type script struct {
	mark   string        // mark=abc: what the text is made of
	chunks int           // chunks=20: pieces of the text (3)
	pad    int           // pad=1000: bytes that fill each piece up (0)
	first  time.Duration // first=50ms: before the header (0)
	every  time.Duration // every=10ms: before each further piece of a stream (0)
	stall  int           // stall=2: a stream falls silent after so many pieces
	hang   bool          // hang: nothing is ever answered
	status int           // status=503: an error of that status
	wait   string        // wait=7: the error's Retry-After
	fails  int           // fails=2: only the first two calls of the mark answer with status (503)
	cut    int           // cut=1234: the connection ends after so many bytes of the body
	reset  bool          // reset: the cut is a RST, not a FIN
	frame  string        // frame=close, frame=ended: see below
}

// How the end of a body is framed. A cut is an error of HTTP unless it is one
// of these.
const (
	frameClose = "close" // the end of the connection
	frameEnded = "ended" // the empty chunk, which is sent although the body was cut
)

func parseScript(text string) (script, error) {
	s := script{chunks: 3, cut: -1}
	var faults []error
	number := func(value string) int {
		n, err := strconv.Atoi(value)
		faults = append(faults, err)
		return n
	}
	pause := func(value string) time.Duration {
		d, err := time.ParseDuration(value)
		faults = append(faults, err)
		return d
	}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "mark":
			s.mark = value
		case "chunks":
			s.chunks = number(value)
		case "pad":
			s.pad = number(value)
		case "first":
			s.first = pause(value)
		case "every":
			s.every = pause(value)
		case "stall":
			s.stall = number(value)
		case "hang":
			s.hang = true
		case "status":
			s.status = number(value)
		case "wait":
			s.wait = value
		case "fails":
			s.fails = number(value)
		case "cut":
			s.cut = number(value)
		case "reset":
			s.reset = true
		case "frame":
			s.frame = value
		default:
			faults = append(faults, fmt.Errorf("the script has no word %q", word))
		}
	}
	if s.fails > 0 && s.status == 0 {
		s.status = http.StatusServiceUnavailable
	}
	return s, errors.Join(faults...)
}

// piece is one fragment of the text.
func (s script) piece(i int) string {
	return fmt.Sprintf("%s:%d%s ", s.mark, i, strings.Repeat("x", s.pad))
}

func (s script) text() string {
	var b strings.Builder
	for i := range s.chunks {
		b.WriteString(s.piece(i))
	}
	return b.String()
}

// wholeText is what a client must get of a call that was not disturbed.
func wholeText(mark string, chunks int) string { return script{mark: mark, chunks: chunks}.text() }

func quote(s string) string {
	text, _ := json.Marshal(s) // strings always can be
	return string(text)
}

// asked has the members of a request that the upstream reads, in any of the
// three forms.
type asked struct {
	Stream   bool
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
	Contents []struct {
		Role  string
		Parts json.RawMessage
	}
}

// prompt is the last message of the user.
func (a asked) prompt() string {
	last := ""
	for _, m := range a.Messages {
		if m.Role == "user" {
			last = plain(m.Content)
		}
	}
	for _, c := range a.Contents {
		if c.Role == "user" {
			last = plain(c.Parts)
		}
	}
	return last
}

// plain is the text of a content, which is a string or a list of parts.
func plain(content json.RawMessage) string {
	var whole string
	if json.Unmarshal(content, &whole) == nil {
		return whole
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts) // neither: no text
	for _, p := range parts {
		whole += p.Text
	}
	return whole
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request, d dialect) {
	u.total.Add(1)
	u.running.Add(1)
	defer u.running.Add(-1)
	body, err := io.ReadAll(r.Body) // only then does the server notice that a client disconnects
	if err != nil {
		return
	}
	var a asked
	if err := json.Unmarshal(body, &a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s, err := parseScript(a.prompt())
	if err != nil {
		http.Error(w, quote(err.Error()), http.StatusBadRequest)
		return
	}
	if before := u.begin(s.mark); s.fails > 0 && before >= s.fails {
		s.status = 0
	}
	gone := make(chan time.Time, 1)
	stop := context.AfterFunc(r.Context(), func() { gone <- time.Now() })
	defer func() {
		if stop() { // not notified yet; the client may still have disconnected
			u.end(s.mark, time.Now(), r.Context().Err() != nil)
			return
		}
		u.end(s.mark, <-gone, true)
	}()
	call := upstreamCall{w: w, r: r, script: s, dialect: d, sent: u.note}
	call.play(a.Stream || strings.HasSuffix(r.PathValue("method"), ":streamGenerateContent"))
}

// upstreamCall is a call that is being answered.
type upstreamCall struct {
	script
	dialect
	w    http.ResponseWriter
	r    *http.Request
	sent func(bytes int)
}

// rest waits; it is false when the client has disconnected meanwhile.
func (p *upstreamCall) rest(d time.Duration) bool {
	if d <= 0 {
		return p.r.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.r.Context().Done():
		return false
	}
}

func (p *upstreamCall) play(stream bool) {
	if p.hang {
		<-p.r.Context().Done()
		return
	}
	if !p.rest(p.first) {
		return
	}
	header := p.w.Header()
	header.Set("Content-Type", "application/json")
	switch {
	case p.status != 0:
		if p.wait != "" {
			header.Set("Retry-After", p.wait)
		}
		p.w.WriteHeader(p.status)
		_, _ = io.WriteString(p.w, p.fault(p.status))
	case p.cut >= 0:
		if err := p.broken(stream); err != nil {
			panic(http.ErrAbortHandler) // the answer is cut, perhaps at another byte
		}
	case stream:
		p.stream()
	default:
		_, _ = io.WriteString(p.w, p.answer(p.text())) // it fails when the client has disconnected
	}
}

func (p *upstreamCall) stream() {
	p.w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(p.w)
	text := -len(p.head) - 1 // which of the pieces the event is
	for event := range p.events(p.script) {
		if text++; text > 0 && text < p.chunks && !p.rest(p.every) {
			return
		}
		if p.stall > 0 && text == p.stall {
			<-p.r.Context().Done()
			return
		}
		if _, err := io.WriteString(p.w, event); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
		p.sent(len(event))
	}
}

func TestTheUpstreamSimulatesAllProviders(t *testing.T) {
	u := startUpstream(t)
	g := startGateway(t, upstreamSettings(u.url, u.url, u.url)...)
	client := newClient(t)
	for i, model := range models {
		for _, stream := range []bool{false, true} {
			mark := fmt.Sprintf("é☕\"%d%v", i, stream)
			if s := chat(t.Context(), client, g.url, chatRequest(model, "mark="+mark+" chunks=20 every=1ms", stream)); !s.whole(
				wholeText(mark, 20),
			) {
				t.Errorf("%s, stream %v: %s", model, stream, s)
			}
			if _, cancelled, ok := u.ended(mark); cancelled || !ok || u.begun(mark) != 1 {
				t.Errorf("%s, stream %v: cancelled %v, ended %v", model, stream, cancelled, ok)
			}
			if s := chat(t.Context(), client, g.url, chatRequest(model, "mark=r status=400", stream)); s.status != 400 {
				t.Errorf("%s, stream %v: a refusal: %s", model, stream, s)
			}
		}
	}
	if u.calls() != 12 || u.live() != 0 {
		t.Errorf("%d calls, %d running", u.calls(), u.live())
	}
}
