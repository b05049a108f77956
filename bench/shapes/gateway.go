package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modelgateway/bench/child"
)

// gateway is a running gateway, which was started here and is ended here.
type gateway struct {
	cmd *exec.Cmd
	url string
	dir string
}

// limit is the memory that the gateway is told that it may have.
const limit = "512MiB"

func (m *meter) start(ctx context.Context) (*gateway, error) {
	dir, err := os.MkdirTemp(m.dir, "")
	if err != nil {
		return nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	if err != nil {
		return nil, err
	}
	g := &gateway{cmd: exec.Command(m.gateway), url: "http://127.0.0.1:" + port, dir: dir}
	upstream := "http://" + m.upstream.Addr().String()
	g.cmd.Dir, g.cmd.SysProcAttr = dir, child.DieWithParent()
	g.cmd.Env = []string{
		"HOST=127.0.0.1", "PORT=" + port, "DATABASE_URL=sqlite:" + filepath.Join(dir, "gateway.db"), "GOMEMLIMIT=" + limit,
		"OPENAI_API_KEY=a", "ANTHROPIC_API_KEY=a", "GEMINI_API_KEY=a",
		"OPENAI_BASE_URL=" + upstream, "ANTHROPIC_BASE_URL=" + upstream, "GEMINI_BASE_URL=" + upstream,
		"MODEL_DISCOVERY=false", "MODELS_FILE=" + filepath.Join(dir, "models.yaml"), "MAX_RETRIES=0",
	}
	if err := os.WriteFile(filepath.Join(dir, "models.yaml"), modelsFile(), 0o600); err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
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
	_ = g.cmd.Process.Kill() // an error says that it has ended already
	_ = g.cmd.Wait()         // it was killed: its status says nothing
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

// restartPeak makes what the process holds now its peak (proc(5), clear_refs).
func (g *gateway) restartPeak() (now int64, err error) {
	if err := os.WriteFile(g.proc("clear_refs"), []byte("5"), 0); err != nil {
		return 0, err
	}
	return g.memory("VmRSS:")
}

func (g *gateway) proc(name string) string {
	return fmt.Sprintf("/proc/%d/%s", g.cmd.Process.Pid, name)
}

// memory is a line of /proc/PID/status, in bytes.
func (g *gateway) memory(name string) (int64, error) {
	status, err := os.ReadFile(g.proc("status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("no " + name + " in /proc")
}

// cpu is what all threads have used of the processors. Those of /proc/PID/stat
// are whole hundredths of a second, these nanoseconds.
func (g *gateway) cpu() (time.Duration, error) {
	threads, err := filepath.Glob(g.proc("task/*/schedstat"))
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
