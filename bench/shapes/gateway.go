package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"modelgateway/bench/child"
	"modelgateway/bench/proc"
)

// gateway is a running gateway, which was started here and is ended here.
type gateway struct {
	process *child.Process
	url     string
	dir     string
}

// limit is the memory that the gateway is told that it may have.
const limit = "512MiB"

func (m *meter) start(ctx context.Context) (*gateway, error) {
	dir, err := os.MkdirTemp(m.dir, "")
	if err != nil {
		return nil, err
	}
	port, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	g := &gateway{url: "http://127.0.0.1:" + port, dir: dir}
	cmd := exec.Command(m.gateway)
	upstream := "http://" + m.upstream.Addr().String()
	cmd.Dir = dir
	cmd.Env = []string{
		"HOST=127.0.0.1", "PORT=" + port, "DATABASE_URL=sqlite:" + filepath.Join(dir, "gateway.db"), "GOMEMLIMIT=" + limit,
		"OPENAI_API_KEY=a", "ANTHROPIC_API_KEY=a", "GEMINI_API_KEY=a",
		"OPENAI_BASE_URL=" + upstream, "ANTHROPIC_BASE_URL=" + upstream, "GEMINI_BASE_URL=" + upstream,
		"MODEL_DISCOVERY=false", "MODELS_FILE=" + filepath.Join(dir, "models.yaml"), "MAX_RETRIES=0",
	}
	if err := os.WriteFile(filepath.Join(dir, "models.yaml"), modelsFile(), 0o600); err != nil {
		return nil, err
	}
	if g.process, err = child.Start(cmd); err != nil {
		return nil, err
	}
	if err := g.await(ctx); err != nil {
		g.stop()
		return nil, err
	}
	return g, nil
}

// modelsFile has the models, so that the retirement of one does not end the
// measurement.
func modelsFile() []byte {
	text := []byte("models:\n")
	for model, provider := range map[string]string{openAI: "openai", anthropic: "anthropic", gemini: "gemini", gemma: "gemini"} {
		text = fmt.Appendf(text, "  - {id: %s, provider: %s, ends: 9999-12-31}\n", model, provider)
	}
	return text
}

func (g *gateway) stop() {
	g.process.Kill()
	_ = os.RemoveAll(g.dir)
}

func (g *gateway) await(ctx context.Context) error {
	const longest = 20 * time.Second
	for start := time.Now(); time.Since(start) < longest && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		resp, err := http.Get(g.url + "/readyz")
		if err != nil {
			continue
		}
		_ = resp.Body.Close() // only the status counts
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("the gateway is not ready after %s", longest)
}

// send makes one call.
func (g *gateway) send(ctx context.Context, path, body string) (cost, error) {
	c := cost{bytes: len(body)}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, strings.NewReader(body))
	if err != nil {
		return c, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return c, err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it has been read to its end
	if err != nil {
		return c, err
	}
	var told struct {
		Error struct {
			Code string `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	c.status = resp.StatusCode
	if c.status >= http.StatusBadRequest && json.Unmarshal(text, &told) == nil {
		c.code = cmp.Or(told.Error.Code, told.Error.Type)
	}
	return c, nil
}

// restartPeak makes what the process holds now its peak.
func (g *gateway) restartPeak() (now int64, err error) {
	if err := proc.RestartPeak(g.process.PID); err != nil {
		return 0, err
	}
	return g.memory("VmRSS")
}

// memory is a figure of /proc/PID/status, in bytes.
func (g *gateway) memory(name string) (int64, error) { return proc.Memory(g.process.PID, name) }

// cpu is what all threads have used of the processors. Those of /proc/PID/stat
// are whole hundredths of a second, these nanoseconds.
func (g *gateway) cpu() (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", g.process.PID))
	if err != nil || len(threads) == 0 {
		return 0, errors.Join(err, errors.New("no schedstat in /proc"))
	}
	var sum time.Duration
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			return 0, err
		}
		var ran time.Duration
		if _, err := fmt.Sscan(string(text), &ran); err != nil {
			return 0, err
		}
		sum += ran
	}
	return sum, nil
}
