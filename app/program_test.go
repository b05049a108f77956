package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/web/webtest"
)

// program is the real gateway, started as main starts it.
type program struct {
	url    string
	client *http.Client // holds every answer against the OpenAPI document
	log    *logBuffer
	stop   func() error // ends it as SIGTERM does, and waits
}

// start runs the gateway on a free port with these settings.
func start(t testing.TB, settings ...string) *program {
	t.Helper()
	p, err := tryStart(t, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryStart(t testing.TB, settings ...string) (*program, error) {
	t.Helper()
	environ := append([]string{
		"PORT=0", "HOST=127.0.0.1", "LOG_FORMAT=json", "LOG_LEVEL=debug", "MODEL_DISCOVERY=false", "SHUTDOWN_GRACE_SECONDS=5",
		"DATABASE_URL=sqlite:" + t.TempDir() + "/gateway.db", "RATE_LIMIT_RPM=0", "AUTH_RATE_LIMIT_RPM=0",
	}, settings...)
	ctx, cancel := context.WithCancel(context.Background())
	p := &program{log: &logBuffer{grown: make(chan struct{}, 1)}}
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, environ, p.log) }()
	var once sync.Once
	var result error
	p.stop = func() error {
		once.Do(func() {
			cancel()
			result = <-ended
		})
		return result
	}
	deadline := time.After(20 * time.Second)
	for {
		if address := p.log.field("listening", "address"); address != "" {
			p.url = "http://" + address
			p.client = documented(t)
			t.Cleanup(func() {
				if err := p.stop(); err != nil {
					t.Errorf("the gateway ended with %v", err)
				}
			})
			return p, nil
		}
		select {
		case err := <-ended:
			cancel()
			return nil, err
		case <-p.log.grown:
		case <-deadline:
			cancel()
			t.Fatalf("the gateway does not listen:\n%s", p.log.String())
		}
	}
}

// logBuffer keeps the log, line by line.
type logBuffer struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.grown <- struct{}{}:
	default:
	}
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// field is a field of the first line with this message, in JSON or as text.
func (b *logBuffer) field(message, name string) string {
	for line := range strings.Lines(b.String()) {
		var fields map[string]any
		if _, text, ok := strings.Cut(line, " msg="+message+" "); ok {
			_, value, _ := strings.Cut(text, name+"=")
			return strings.Fields(value + " -")[0]
		}
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == message {
			value, _ := fields[name].(string)
			return value
		}
	}
	return ""
}

// answer is a response that has been read to its end, or to where it broke.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

// documented is a client that fails the test for any answer that is not as the
// OpenAPI document has it.
func documented(t testing.TB) *http.Client {
	t.Helper()
	validator, err := webtest.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: validator.Transport(t, transport), Timeout: time.Minute}
}

// call sends a request with a body, which may be empty.
func (p *program) call(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text), err}
}

func (p *program) chat(t testing.TB, body string, headers ...string) answer {
	t.Helper()
	return p.call(t, http.MethodPost, "/v1/chat/completions", body, headers...)
}

func (p *program) get(t testing.TB, path string) answer {
	t.Helper()
	return p.call(t, http.MethodGet, path, "")
}

// fault is the error of a body in the one error shape.
type fault struct {
	Type, Message, Code, Provider string
	Param                         *string
	UpstreamStatus                int `json:"upstream_status"`
}

func (a answer) fault(t testing.TB) fault {
	t.Helper()
	var body struct{ Error *fault }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || body.Error == nil {
		t.Fatalf("not an error: %d %s", a.status, a.body)
	}
	return *body.Error
}
