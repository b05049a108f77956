package simulatortest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/providers/simulator"
)

// Client sends requests to one path, with the credential of its provider.
type Client struct {
	Header map[string]string
	Path   string
}

// OpenAI is a client of chat completions, Anthropic one of messages.
var (
	OpenAI    = Client{map[string]string{"Authorization": "Bearer sk-demo"}, "/v1/chat/completions"}
	Anthropic = Client{map[string]string{"X-Api-Key": "sk-ant", "Anthropic-Version": "2023-06-01"}, "/v1/messages"}
)

// Gemini is a client of a model's method, which may carry a query.
func Gemini(model, method string) Client {
	return Client{map[string]string{"X-Goog-Api-Key": "key"}, "/v1beta/models/" + model + ":" + method}
}

// At is the client at another path.
func (c Client) At(path string) Client { return Client{c.Header, path} }

// Answer is a response that was read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Err    error // of reading the body
}

// Send sends a request and reads the response.
func (c Client) Send(t testing.TB, server *httptest.Server, method, body string) Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+c.Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range c.Header {
		req.Header.Set(name, value)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, data, err}
}

// Post sends a request to a strict simulator of its own.
func (c Client) Post(t testing.TB, body string) Answer {
	t.Helper()
	return c.Send(t, Strict(t), http.MethodPost, body)
}

// Decode decodes JSON that must be of the type T.
func Decode[T any](t testing.TB, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}

// Refuser returns a function that tests that a strict simulator refuses a
// request with a status and an error answer that contains a text, and that a
// simulator without a check answers it in some way.
func (c Client) Refuser(t *testing.T) func(name, body string, status int, contains string) {
	t.Helper()
	strict, unchecked := Strict(t), Start(t, simulator.Options{})
	return func(name, body string, status int, contains string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Helper()
			a := c.Send(t, strict, http.MethodPost, body)
			if a.Status != status || !strings.Contains(string(a.Body), contains) {
				t.Fatalf("status %d, want %d; says %s, want %s", a.Status, status, a.Body, contains)
			}
			if c.Path == Anthropic.Path && a.Header.Get("Request-Id") == "" {
				t.Fatal("no request-id")
			}
			if a := c.Send(t, unchecked, http.MethodPost, body); a.Status >= 500 || a.Err != nil {
				t.Errorf("without a check: status %d (%v): %s", a.Status, a.Err, a.Body)
			}
		})
	}
}
