package live

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/app"
	"modelgateway/providers/all"
)

// exchange is what went to a provider and came from it.
type exchange struct {
	path    string
	request []byte
	status  int // 0: no answer
	header  http.Header
	body    bytes.Buffer
	err     error
}

func (e *exchange) stream() bool {
	return strings.HasPrefix(e.header.Get("Content-Type"), "text/event-stream")
}

// recorder keeps the exchanges of a call.
type recorder struct {
	plant     bool // puts the planted member into each request
	mu        sync.Mutex
	exchanges []*exchange
}

// broken is a body that breaks off.
type broken struct{ cause error }

func (b broken) Read([]byte) (int, error) { return 0, b.cause }

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func (r *recorder) around(next http.RoundTripper) http.RoundTripper {
	return transport(func(req *http.Request) (*http.Response, error) {
		e := &exchange{path: req.URL.Path}
		r.mu.Lock()
		r.exchanges = append(r.exchanges, e)
		r.mu.Unlock()
		if req.GetBody != nil {
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			if e.request, err = io.ReadAll(body); err != nil {
				return nil, err
			}
		}
		if r.plant && len(e.request) > 0 {
			changed := append([]byte(`{"`+planted+`":1,`), bytes.TrimLeft(e.request, " \n{")...)
			req = req.Clone(req.Context())
			req.Body, req.ContentLength, req.GetBody = io.NopCloser(bytes.NewReader(changed)), int64(len(changed)), nil
			e.request = changed
		}
		resp, err := next.RoundTrip(req)
		if err != nil {
			e.err = err
			return nil, err
		}
		e.status, e.header = resp.StatusCode, resp.Header
		// Whole, before the gateway reads it: it does not read to the end what it refuses.
		_, e.err = e.body.ReadFrom(resp.Body)
		unread := io.Reader(bytes.NewReader(e.body.Bytes()))
		if e.err != nil {
			unread = io.MultiReader(unread, broken{e.err})
		}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{unread, resp.Body}
		return resp, nil
	})
}

// cleaner takes secrets, ids and accounts out of texts: the same id has the same name everywhere.
type cleaner struct {
	secrets    []string
	id, member *regexp.Regexp
	ids        map[string]string
}

func newCleaner(g *app.Live, p all.Configured) *cleaner {
	c := &cleaner{ids: map[string]string{}}
	c.id, c.member = identifying()
	for _, key := range p.Keys {
		if !g.Simulated && key.Reveal() != "" {
			c.secrets = append(c.secrets, key.Reveal())
		}
	}
	return c
}

// identifying are ids of the providers, with their prefix, and e-mail addresses; the second has the name of a member.
func identifying() (id, member *regexp.Regexp) {
	return regexp.MustCompile(`\b(chatcmpl-|resp_|msg_|rs_|fc_|ctc_|toolu_|srvtoolu_|call_|req_|fp_|org-|proj_|proj-|user-|acct_|ws_|` +
			`wrkspc_|file-|file_|container_|sk-[a-z]*-?|projects/|organizations/|AIza)[A-Za-z0-9_-]{5,}|` +
			`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|` +
			`[A-Za-z0-9._+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.]+`),
		regexp.MustCompile(`("(?:responseId|request_id|organization|organization_id|project|account|account_id|user|workspace_id|` +
			`safety_identifier|obfuscation)"\s*:\s*")([^"]+)"`)
}

func (c *cleaner) text(s string) string {
	for _, secret := range c.secrets {
		s = strings.ReplaceAll(s, secret, "[key]")
	}
	s = c.id.ReplaceAllStringFunc(s, func(found string) string {
		return c.name(found, c.id.FindStringSubmatch(found)[1])
	})
	return c.member.ReplaceAllStringFunc(s, func(found string) string {
		parts := c.member.FindStringSubmatch(found)
		return parts[1] + c.name(parts[2], "id_") + `"`
	})
}

func (c *cleaner) name(id, prefix string) string {
	if strings.HasPrefix(id, prefix+"00000") {
		return id // it is such a name
	}
	if c.ids[id] == "" {
		c.ids[id] = fmt.Sprintf("%s%08d", prefix, len(c.ids)+1)
	}
	return c.ids[id]
}

// records are the answers of a provider as files, in the form of the recordings of providers/testdata.
type records struct {
	dir   string
	all   []record
	files map[string][]byte
}

type record struct {
	File     string            `json:"file"`
	Provider string            `json:"provider"`
	API      string            `json:"api"`
	Stream   bool              `json:"stream"`
	Status   int               `json:"http_status"`
	Header   map[string]string `json:"response_headers"`
	Model    string            `json:"model"`
	Request  string            `json:"request_file,omitempty"`
	Expect   *expect           `json:"expect,omitempty"`
}

// expect is what an answer becomes in the form of OpenAI's chat completions.
type expect struct {
	Text   string           `json:"text"`
	Calls  []expectedCall   `json:"tool_calls"`
	Finish string           `json:"finish_reason_openai"`
	Usage  map[string]int64 `json:"usage_openai"`
}

type expectedCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// keep adds the exchanges of a call to the records, with what the client made of the last.
func (c *checker) keep(k *call, sent []*exchange, o *outcome) {
	if c.records == nil {
		return
	}
	r, name := c.records, c.provider.Name
	if r.files == nil {
		r.files = map[string][]byte{}
	}
	for i, e := range sent {
		if e.status == 0 {
			continue
		}
		form := strings.TrimPrefix(formOf(name, e.path, http.StatusOK, false), name+" ")
		file := strings.ReplaceAll(fmt.Sprintf("%s/%s %s %d", name, k.kind, k.dialect, i), " ", "_")
		entry := record{
			File: file + ".json", Provider: name, API: form, Stream: e.stream(), Status: e.status, Header: map[string]string{},
		}
		if entry.Stream {
			entry.File = file + ".sse"
		}
		if api := map[string]string{"messages": "chat", "content": "chat", "count": "count_tokens"}[form]; api != "" {
			entry.API = api
		}
		for _, header := range []string{"Content-Type", "X-Request-Id", "Request-Id", "Retry-After"} {
			if value := e.header.Get(header); value != "" {
				entry.Header[strings.ToLower(header)] = c.clean.text(value)
			}
		}
		body := c.clean.text(e.body.String())
		a, _ := readAnswer([]byte(body), entry.Stream)
		first := a.first()
		entry.Model = cmp.Or(text(first, "model"), text(first, "message", "model"), text(first, "response", "model"),
			text(first, "modelVersion"))
		if o != nil && i == len(sent)-1 && e.status == http.StatusOK {
			entry.Expect = o.expect()
		}
		if len(e.request) > 0 {
			entry.Request = file + ".req.json"
			r.files[entry.Request] = []byte(c.clean.text(string(e.request)))
		}
		r.files[entry.File] = []byte(body)
		r.all = append(r.all, entry)
	}
}

func (o *outcome) expect() *expect {
	e := &expect{Text: o.text, Calls: []expectedCall{}, Finish: o.finish, Usage: map[string]int64{
		"prompt_tokens": o.input, "completion_tokens": o.output, "total_tokens": o.input + o.output,
	}}
	if o.name != "" {
		e.Calls = append(e.Calls, expectedCall{o.name, o.arguments})
	}
	return e
}

// write writes the records of a provider, and adds them to the index of the folder.
func (r *records) write() error {
	if r == nil {
		return nil
	}
	index := filepath.Join(r.dir, "index.json")
	var entries []record
	if text, err := os.ReadFile(index); err == nil {
		if err := json.Unmarshal(text, &entries); err != nil {
			return fmt.Errorf("%s is no index of recordings: %w", index, err)
		}
	}
	kept := entries[:0]
	for _, e := range entries {
		if r.files[e.File] == nil {
			kept = append(kept, e)
		}
	}
	text, err := json.Marshal(append(kept, r.all...), jsontext.WithIndent(" "))
	if err != nil {
		return err
	}
	r.files["index.json"] = text
	for name, text := range r.files {
		file := filepath.Join(r.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
