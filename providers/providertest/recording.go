// Package providertest tests providers against recorded answers: a scripted
// upstream sends each recording whole, in pieces and cut short, and the outcome
// is compared with the expectation.
package providertest

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/catalog"
	"modelgateway/dialects/chat"
)

// Recording is one answer of an upstream, and the expected outcome.
type Recording struct {
	File     string            `json:"file"` // relative to its folder, with slashes
	Provider string            `json:"provider"`
	API      string            `json:"api"`
	Stream   bool              `json:"stream"`
	Status   int               `json:"http_status"`
	Header   map[string]string `json:"response_headers"`
	Model    string            `json:"model"` // that answered; empty where the answer does not say
	Expect   Expect            `json:"expect"`

	Body []byte `json:"-"`
}

// Expect is an answer in the form of the OpenAI API; of a stream, put together
// from its choice of index 0.
type Expect struct {
	Text         string         `json:"text"`
	Reasoning    *string        `json:"reasoning"` // nil = not compared
	Refusal      string         `json:"refusal"`
	ToolCalls    []ToolCall     `json:"tool_calls"`
	FinishReason *string        `json:"finish_reason_openai"` // nil = the upstream gave none
	Native       *string        `json:"finish_reason_native"` // the upstream's own; nil = not compared
	Usage        *Counts        `json:"usage_openai"`         // nil = not compared
	Error        jsontext.Value `json:"error"`                // the upstream's error object

	Annotations []chat.Annotation `json:"annotations"` // nil = not compared
	Ending      jsontext.Value    `json:"ending"`      // all that stands beside the finish reason; nil = not compared
	Files       []string          `json:"files"`       // data URLs; nil = not compared
	Audio       string            `json:"audio"`       // base64; empty = not compared
}

// ToolCall is one call of a function.
type ToolCall struct {
	ID        string `json:"id"` // compared for presence only: the gateway may carry something in it
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Counts are token counts; nil ones are not compared.
type Counts struct {
	Prompt     int64  `json:"prompt_tokens"`
	Completion int64  `json:"completion_tokens"`
	Total      int64  `json:"total_tokens"`
	Reasoning  *int64 `json:"reasoning_tokens"`
	Cached     *int64 `json:"cached_tokens"`
}

// Own is the folder of the recordings that belong to the project.
func Own() string { return filepath.Join(root(), "providers", "testdata", "recordings") }

// Dir is the folder that $RECORDINGS names, or Own when that is empty. A
// relative $RECORDINGS is relative to the project, not to the package under
// test.
func Dir() string {
	dir := os.Getenv("RECORDINGS")
	switch {
	case dir == "":
		return Own()
	case filepath.IsAbs(dir):
		return dir
	default:
		return filepath.Join(root(), dir)
	}
}

// root is the project's folder: this file's, or, built with -trimpath, the
// nearest one above the working directory that holds go.mod.
func root() string {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		return filepath.Join(filepath.Dir(file), "..", "..")
	}
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// Load reads the chat recordings that a folder's index.json lists, with their
// bodies.
func Load(t testing.TB, dir string) []Recording {
	t.Helper()
	return loaded(t, dir, "chat", "synthetic")
}

// Responses reads the recordings of OpenAI's Responses API that a folder's index.json lists.
func Responses(t testing.TB, dir string) []Recording {
	t.Helper()
	return loaded(t, dir, "responses")
}

func loaded(t testing.TB, dir string, apis ...string) []Recording {
	t.Helper()
	recordings, err := load(dir, apis...)
	if err != nil {
		t.Fatal(err)
	}
	return recordings
}

func load(dir string, apis ...string) ([]Recording, error) {
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		return nil, fmt.Errorf("recordings: %w", err)
	}
	var all []Recording
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("recordings: %s: %w", dir, err)
	}
	all = slices.DeleteFunc(all, func(r Recording) bool { return !slices.Contains(apis, r.API) })
	if len(all) == 0 {
		return nil, fmt.Errorf("recordings: %s lists no recordings of %s", dir, strings.Join(apis, ", "))
	}
	for i := range all {
		r := &all[i]
		if r.Body, err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.File))); err != nil {
			return nil, fmt.Errorf("recordings: %w", err)
		}
	}
	return all, nil
}

// Failed says whether the upstream refused with its status.
func (r Recording) Failed() bool { return r.Status >= http.StatusBadRequest }

// ModelID is the model to ask for: the one that was recorded or, where that is
// not known, a usual one of the provider.
func (r Recording) ModelID() string {
	if r.Model != "" {
		return r.Model
	}
	switch r.Provider {
	case catalog.Anthropic:
		return "claude-sonnet-4-5-20250929"
	case catalog.Gemini:
		return "gemini-2.5-flash"
	default:
		return "gpt-4o"
	}
}

// connectionHeaders belong to the connection the recording was made on.
var connectionHeaders = []string{
	"connection", "content-encoding", "content-length", "date", "keep-alive", "trailer", "transfer-encoding", "upgrade",
}

// Script sends the recording: a stream event by event, an answer at once.
func (r Recording) Script() Script {
	s := Script{Status: r.Status, Header: http.Header{}, Pieces: [][]byte{r.Body}}
	for name, value := range r.Header {
		if !slices.Contains(connectionHeaders, strings.ToLower(name)) {
			s.Header.Set(name, value)
		}
	}
	if r.Stream {
		s.Pieces = Events(r.Body)
	}
	if s.Header.Get("Content-Type") == "" {
		s.Header.Set("Content-Type", r.contentType())
	}
	return s
}

func (r Recording) contentType() string {
	switch {
	case strings.HasSuffix(r.File, ".html"):
		return "text/html"
	case r.Stream && !bytes.HasPrefix(bytes.TrimSpace(r.Body), []byte("[")):
		return "text/event-stream"
	default:
		return "application/json"
	}
}

// Events splits a stream's body after each empty line, with any line endings.
// Joined, the parts are the body.
func Events(body []byte) [][]byte {
	var events [][]byte
	start, line := 0, 0
	for i := 0; i < len(body); i++ {
		if body[i] != '\n' && body[i] != '\r' {
			continue
		}
		end := i + 1
		if body[i] == '\r' && end < len(body) && body[end] == '\n' {
			end++
		}
		if line == i {
			events = append(events, body[start:end])
			start = end
		}
		line, i = end, end-1
	}
	if start < len(body) {
		events = append(events, body[start:])
	}
	return events
}

// Begins says whether a stream begins with what a client got, whose last event may have got the
// empty line that it lacks.
func Begins[Text string | []byte](stream, got Text) bool {
	return strings.HasPrefix(string(stream), strings.TrimRight(string(got), "\r\n"))
}

// EndsFrame says whether bytes end with an empty line. A line ends with CR, LF or both, and the ends may be mixed.
func EndsFrame(raw []byte) bool {
	line, both := bytes.CutSuffix(raw, []byte("\r\n"))
	if !both && len(raw) > 0 {
		line = raw[:len(raw)-1]
	}
	ends := func(b []byte) bool { return len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') }
	return ends(raw) && ends(line)
}
