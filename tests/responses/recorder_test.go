package responses

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	sdk "github.com/openai/openai-go/v3/responses"

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

// startRecorded starts a gateway whose three providers are one recorder.
func startRecorded(t testing.TB, settings ...string) (*gatewaytest.Program, *recorder) {
	t.Helper()
	r := &recorder{simulated: simulator.New(simulator.Options{Now: time.Now, Check: strict.Check})}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return gatewaytest.Start(t, append([]string{
		"OPENAI_BASE_URL=" + server.URL, "OPENAI_API_KEY=sk-openai", "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-anthropic",
		"GEMINI_BASE_URL=" + server.URL, "GEMINI_API_KEY=sk-gemini", "MAX_RETRIES=0",
	}, settings...)...), r
}

// exchange is a call of OpenAI's SDK.
type exchange struct {
	response *sdk.Response
	header   http.Header
	err      error
}

// made sends a body with the SDK, and reads the answer as the SDK does.
func made(t testing.TB, p *gatewaytest.Program, text string, streamed bool, opts ...option.RequestOption) (x exchange) {
	t.Helper()
	c := openai.NewClient(option.WithBaseURL(p.URL+"/v1/"), option.WithAPIKey("sk-dummy"), option.WithMaxRetries(0), option.WithHTTPClient(p.Client))
	var response *http.Response
	if streamed {
		text = strings.TrimSuffix(text, "}") + `,"stream":true}`
	}
	opts = append(opts, option.WithResponseInto(&response), option.WithRequestBody("application/json", []byte(text)))
	if !streamed {
		x.response, x.err = c.Responses.New(t.Context(), sdk.ResponseNewParams{}, opts...)
	} else {
		stream := c.Responses.NewStreaming(t.Context(), sdk.ResponseNewParams{}, opts...)
		for stream.Next() {
			if e := stream.Current(); e.Type == "response.completed" {
				x.response = &e.Response
			}
		}
		if x.err = stream.Err(); x.err == nil && x.response == nil {
			t.Error("the stream ended without response.completed")
		}
		_ = stream.Close()
	}
	if response != nil {
		x.header = response.Header
	}
	return x
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
