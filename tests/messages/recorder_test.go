package messages

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/strict"
	"modelgateway/tests/gatewaytest"
)

// recorder is the upstream of all three providers: it keeps what it is sent, and answers
// as the simulator that refuses what the providers refuse.
type recorder struct {
	simulated http.Handler

	mu   sync.Mutex
	sent []upstreamRequest
}

type upstreamRequest struct {
	path   string
	header http.Header
	body   []byte
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the gateway has left
	}
	r.mu.Lock()
	r.sent = append(r.sent, upstreamRequest{req.URL.Path, req.Header.Clone(), body})
	r.mu.Unlock()
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.simulated.ServeHTTP(w, req)
}

// take returns the requests since the last take.
func (r *recorder) take() []upstreamRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

// one is the only request since the last take.
func (r *recorder) one(t testing.TB) upstreamRequest {
	t.Helper()
	sent := r.take()
	if len(sent) != 1 {
		t.Fatalf("the upstream was called %d times", len(sent))
	}
	return sent[0]
}

// byChat has a model that reasons called by chat completions, though it has both APIs.
const byChat = `rules: {openai: [{match: [gpt-5.2*], api: chat, sampling: both, sampling_thinking: none, thinking: [effort],
	efforts: [none, low, medium, high, xhigh], limit_field: max_completion_tokens, structured: true}]}`

// startRecorded starts a gateway whose three providers are one recorder.
func startRecorded(t testing.TB, settings ...string) (*gatewaytest.Program, *recorder) {
	t.Helper()
	r := &recorder{simulated: simulator.New(simulator.Options{Now: time.Now, Check: strict.Check})}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	models := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(models, []byte(byChat), 0o600); err != nil {
		t.Fatal(err)
	}
	return gatewaytest.Start(t, append([]string{
		"OPENAI_BASE_URL=" + server.URL, "OPENAI_API_KEY=sk-openai", "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-anthropic",
		"GEMINI_BASE_URL=" + server.URL, "GEMINI_API_KEY=sk-gemini", "MAX_RETRIES=0",
		"MODELS_FILE=" + models,
	}, settings...)...), r
}

// official is Anthropic's Go SDK as a client of the gateway.
func official(p *gatewaytest.Program) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(p.URL), option.WithAPIKey("sk-dummy"), option.WithHTTPClient(p.Client),
		option.WithMaxRetries(0))
}

// exchange is a call of the SDK.
type exchange struct {
	message *anthropic.Message
	header  http.Header
	err     error
}

// call sends a request with the SDK: its body is this one, and the answer is read as the
// SDK reads it.
func call(t testing.TB, p *gatewaytest.Program, body string, streamed bool, opts ...option.RequestOption) exchange {
	t.Helper()
	client := official(p)
	params := param.Override[anthropic.MessageNewParams](json.RawMessage(body))
	var response *http.Response
	opts = append(opts, option.WithResponseInto(&response))
	var x exchange
	if streamed {
		x.message, x.err = accumulated(t, client.Messages.NewStreaming(t.Context(), params, opts...))
	} else {
		x.message, x.err = client.Messages.New(t.Context(), params, opts...)
	}
	if response != nil {
		x.header = response.Header
	}
	return x
}

// stream is a stream of the SDK.
type stream interface {
	Next() bool
	Current() anthropic.MessageStreamEventUnion
	Err() error
	Close() error
}

// accumulated is the message that the SDK puts together. It fails the test for events that
// are not in the order of the API.
func accumulated(t testing.TB, s stream) (*anthropic.Message, error) {
	t.Helper()
	defer func() { _ = s.Close() }()
	var message anthropic.Message
	var order grammar
	for s.Next() {
		event := s.Current()
		if fault := order.add(event.RawJSON()); fault != "" {
			t.Errorf("%s: %s", fault, event.RawJSON())
		}
		if err := message.Accumulate(event); err != nil {
			t.Errorf("accumulate %s: %v", event.RawJSON(), err)
		}
	}
	if s.Err() == nil && !order.stopped {
		t.Errorf("the stream ended without message_stop: %v", order.seen)
	}
	return &message, s.Err()
}

// grammar is the order of the events of a stream.
type grammar struct {
	seen             []string
	started, stopped bool
	ended            bool // message_delta has come
	next             int  // index of the next block
	open             string
	filled           bool
}

func (g *grammar) add(raw string) (fault string) {
	var e struct {
		Type  string
		Index int
		Block struct{ Type string } `json:"content_block"`
		Delta struct{ Type, Signature string }
	}
	if err := json.Unmarshal([]byte(raw), &e); err != nil {
		return err.Error()
	}
	g.seen = append(g.seen, e.Type)
	kinds := map[string]string{
		"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking",
		"input_json_delta": "tool_use",
	}
	switch {
	case g.stopped:
		return "an event behind message_stop"
	case e.Type == "ping":
	case e.Type == "message_start" && !g.started && len(g.seen) == 1:
		g.started = true
	case e.Type == "content_block_start" && g.started && !g.ended && g.open == "" && e.Index == g.next:
		g.open = e.Block.Type
	case e.Type == "content_block_delta" && g.open != "" && e.Index == g.next && kinds[e.Delta.Type] == g.open:
		g.filled = true
		if e.Delta.Type == "signature_delta" && e.Delta.Signature == "" {
			return "an empty signature"
		}
	case e.Type == "content_block_stop" && g.open != "" && e.Index == g.next:
		if !g.filled && g.open != "redacted_thinking" {
			return "a block without content"
		}
		g.open, g.filled = "", false
		g.next++
	case e.Type == "message_delta" && g.started && !g.ended && g.open == "":
		g.ended = true
	case e.Type == "message_stop" && g.ended:
		g.stopped = true
	default:
		return "an event out of order"
	}
	return ""
}

// at is the JSON of a place in a body, such as messages.0.content; empty where there is
// nothing.
func at(t testing.TB, body []byte, path string) string {
	t.Helper()
	var value any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if path != "" {
		for _, step := range strings.Split(path, ".") {
			switch within := value.(type) {
			case map[string]any:
				var ok bool
				if value, ok = within[step]; !ok {
					return ""
				}
			case []any:
				i, err := strconv.Atoi(step)
				if err != nil || i >= len(within) {
					return ""
				}
				value = within[i]
			default:
				return ""
			}
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text.String())
}

// same says whether two texts are the same JSON, whatever the order of members.
func same(t testing.TB, got, want string) bool {
	t.Helper()
	if got == "" || want == "" {
		return got == want
	}
	return at(t, []byte(got), "") == at(t, []byte(want), "")
}
