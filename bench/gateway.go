package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"modelgateway/bench/child"
)

// The requested models, one for each provider. They are defined in MODELS_FILE,
// so that no model's retirement ends the benchmark.
const (
	openAIModel    = "gpt-4o"
	embeddingModel = "text-embedding-3-small"
	anthropicModel = "claude-haiku-4-5-20251001"
	geminiModel    = "gemini-2.5-flash"
)

// gateway is a running gateway under test.
type gateway struct {
	*process
	ready time.Duration // from exec to the first 200 of /readyz
	log   string
	token string // of the last user
}

// gatewayOptions is what differs between the gateways of one run.
type gatewayOptions struct {
	binary, upstream string // upstream: host and port
	dir              string // a new one for each gateway
	extraModels      int    // beside the catalogue's own
}

// startGateway starts a gateway as in production: keys are checked, calls are
// counted against a limit, the access log is written to a file.
func startGateway(ctx context.Context, o gatewayOptions) (*gateway, error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return nil, err
	}
	models := filepath.Join(o.dir, "models.yaml")
	if err := os.WriteFile(models, modelsFile(o.extraModels), 0o600); err != nil {
		return nil, err
	}
	port, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	g := &gateway{log: filepath.Join(o.dir, "access.log")}
	log, err := os.OpenFile(g.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(o.binary)
	cmd.Dir, cmd.Stdout = o.dir, log
	cmd.Env = gatewayEnvironment(o, port, models)
	start := time.Now()
	if g.process, err = launch(cmd); err != nil {
		return nil, err
	}
	g.addr = "127.0.0.1:" + port
	if g.ready, err = g.awaitReady(ctx, "/readyz", start); err != nil {
		g.stop()
		said, _ := os.ReadFile(g.log) // a missing log is not shown
		return nil, fmt.Errorf("gateway: %w: %.500s", err, said)
	}
	return g, nil
}

func gatewayEnvironment(o gatewayOptions, port, models string) []string {
	return []string{
		"HOST=127.0.0.1", "PORT=" + port,
		"DATABASE_URL=sqlite:" + filepath.Join(o.dir, "gateway.db"),
		"REQUIRE_AUTH=true", "JWT_SECRET=" + rand.Text() + rand.Text(),
		"RATE_LIMIT_RPM=1000000", "AUTH_RATE_LIMIT_RPM=0", // counted, and never reached
		"OPENAI_API_KEY=bench", "OPENAI_BASE_URL=http://" + o.upstream,
		"ANTHROPIC_API_KEY=bench", "ANTHROPIC_BASE_URL=http://" + o.upstream,
		"GEMINI_API_KEY=bench", "GEMINI_BASE_URL=http://" + o.upstream,
		"MODEL_DISCOVERY=false", "MODELS_FILE=" + models,
		"LOG_FORMAT=json", "LOG_LEVEL=info",
	}
}

// modelsFile is the requested models after a number of others.
func modelsFile(others int) []byte {
	text := []byte("models:\n")
	add := func(id, provider string) {
		text = fmt.Appendf(text, "  - {id: %s, provider: %s, context: 1048576, max_output: 16384, price: {input: 1, output: 5}}\n", id,
			provider)
	}
	for i := range others {
		add(fmt.Sprintf("bench-%d", i), []string{"openai", "anthropic", "gemini"}[i%3])
	}
	add(openAIModel, "openai")
	add(anthropicModel, "anthropic")
	add(geminiModel, "gemini")
	return text
}

// register makes an account and logs in.
func (g *gateway) register(ctx context.Context) error {
	account := map[string]string{
		"email": strings.ToLower(rand.Text()) + "@example.com", "password": "correct horse battery staple", "name": "Bench",
	}
	if err := g.post(ctx, "/auth/register", account, nil); err != nil {
		return err
	}
	var login struct{ Token string }
	if err := g.post(ctx, "/auth/login", account, &login); err != nil {
		return err
	}
	g.token = login.Token
	return nil
}

// keys makes API keys, a hundred for each of as many users as necessary.
func (g *gateway) keys(ctx context.Context, n int) ([]string, error) {
	const perUser = 100
	var keys []string
	for len(keys) < n {
		if len(keys)%perUser == 0 {
			if err := g.register(ctx); err != nil {
				return nil, err
			}
		}
		var made struct{ Key string }
		if err := g.post(ctx, "/auth/keys", map[string]string{"name": fmt.Sprintf("bench %d", len(keys))}, &made); err != nil {
			return nil, err
		}
		if made.Key == "" {
			return nil, fmt.Errorf("/auth/keys: no key in the answer")
		}
		keys = append(keys, made.Key)
	}
	return keys, nil
}

func (g *gateway) post(ctx context.Context, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.addr+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if g.token != "" {
		req.Header.Set("Authorization", "Bearer "+g.token)
	}
	client := &http.Client{Timeout: 20 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}
