package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// row is what the bodies of one shape cost with one model.
type row struct {
	shape, model string
	costs        []cost // by size
}

// cost is what one body costs.
type cost struct {
	bytes  int
	status int
	code   string        // of the error
	memory int64         // bytes above idle, at most
	cpu    time.Duration // of all threads
}

// meter measures.
type meter struct {
	options
	dir      string
	upstream net.Listener
}

func newMeter(o options) (*meter, error) {
	dir, err := os.MkdirTemp("", "shapes")
	if err != nil {
		return nil, err
	}
	m := &meter{options: o, dir: dir}
	if o.gateway == "" {
		m.gateway = filepath.Join(dir, "gateway")
		build := exec.Command("go", "build", "-tags=nomsgpack", "-o", m.gateway, ".")
		if said, err := build.CombinedOutput(); err != nil {
			m.close()
			return nil, fmt.Errorf("build: %w: %s", err, said)
		}
	}
	if m.upstream, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		m.close()
		return nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(m.upstream) }() // until close
	return m, nil
}

func (m *meter) close() {
	if m.upstream != nil {
		_ = m.upstream.Close()
	}
	_ = os.RemoveAll(m.dir)
}

// answer plays the providers: it reads the whole request and says one word.
func answer(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	text := `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a"},` +
		`"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/responses"):
		text = `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"msg_1",` +
			`"status":"completed","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}]}],` +
			`"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,` +
			`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}}`
	case strings.HasSuffix(r.URL.Path, "/messages"):
		text = `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn",` +
			`"usage":{"input_tokens":1,"output_tokens":1}}`
	case strings.HasSuffix(r.URL.Path, ":generateContent"):
		text = `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP"}],` +
			`"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`
	}
	_, _ = io.WriteString(w, text) // a gateway that has ended is noticed by its client
}

func (m *meter) measure(ctx context.Context) ([]row, error) {
	var rows []row
	for _, s := range everyShape() {
		if !m.only.MatchString(s.name) {
			continue
		}
		for _, model := range s.models {
			r, err := m.row(ctx, s, model)
			if err != nil {
				return rows, fmt.Errorf("%s, %s: %w", s.name, model, err)
			}
			fmt.Fprintln(os.Stderr, r.line())
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// row sends the bodies of a shape, each to a gateway of its own.
func (m *meter) row(ctx context.Context, s shape, model string) (row, error) {
	r := row{shape: s.name, model: model}
	for _, size := range m.sizes {
		c, err := m.one(ctx, s.path(), model, s.body(model, size<<20))
		if err != nil {
			return r, fmt.Errorf("%d MiB: %w", size, err)
		}
		r.costs = append(r.costs, c)
	}
	return r, nil
}

// one sends a body to a fresh gateway that has served one small call.
func (m *meter) one(ctx context.Context, path, model, body string) (cost, error) {
	g, err := m.start(ctx)
	if err != nil {
		return cost{}, err
	}
	defer g.stop()
	if got, err := g.send(ctx, chatPath, message(filled("a"))(model, 200)); err != nil || got.status != http.StatusOK {
		return cost{}, fmt.Errorf("the small call: %d %s, %w", got.status, got.code, err)
	}
	idle, err := g.restartPeak()
	if err != nil {
		return cost{}, err
	}
	before, err := g.cpu()
	if err != nil {
		return cost{}, err
	}
	c, err := g.send(ctx, path, body)
	if err != nil {
		return c, err
	}
	after, err := g.cpu()
	if err != nil {
		return c, err
	}
	peak, err := g.memory("VmHWM")
	c.memory, c.cpu = max(peak-idle, 0), after-before
	return c, err
}
