package rig

import (
	"bytes"
	"context"
	"crypto/rand"
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

	"modelgateway/tests/servertest"
)

// The models that are asked for. They are in MODELS_FILE, so that the retirement of one does
// not end a measurement.
const (
	OpenAIModel    = "gpt-4o"
	EmbeddingModel = "text-embedding-3-small"
	AnthropicModel = "claude-haiku-4-5-20251001"
	GeminiModel    = "gemini-2.5-flash"
	GemmaModel     = "gemma-3-27b-it" // takes the subset of OpenAPI in place of JSON Schema
)

// BedrockModel is AnthropicModel at Bedrock, for gateways with the settings of Bedrock. It is in
// no models file: those without would refuse it.
const BedrockModel = "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0"

// Gateway is a running gateway.
type Gateway struct {
	*Process
	Ready time.Duration // from its start to the first 200 of /readyz
	Log   string        // the file of its access log
}

// Options are what differs between gateways.
type Options struct {
	Binary   string   // see Build
	Dir      string   // for its files; gateways may share it where each has another database
	Upstream string   // host and port
	Settings []string // replace those of StartGateway
}

// Bedrock are the settings that have an upstream called as Amazon Bedrock, with signatures.
func Bedrock(upstream string) []string {
	return []string{
		"BEDROCK_REGION=us-east-1", "BEDROCK_BASE_URL=http://" + upstream, "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
		"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	}
}

// Build builds the gateway of the working directory, which is the folder tools or one in it,
// as make build does. given is the path of a gateway that is built already, or empty.
func Build(ctx context.Context, given, dir string) (path string, err error) {
	if given != "" {
		return filepath.Abs(given)
	}
	at, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "modelgateway").Output()
	if err != nil {
		return "", fmt.Errorf("find the gateway's source: %w", err)
	}
	path = filepath.Join(dir, "modelgateway")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "nomsgpack", "-ldflags", "-s -w", "-o", path, ".")
	build.Dir, build.Env = strings.TrimSpace(string(at)), append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the gateway: %w\n%s", err, said)
	}
	return path, nil
}

// StartGateway starts a gateway as in production: keys are checked, calls are counted
// against a limit, the access log is written to a file. The database is the embedded one.
func StartGateway(ctx context.Context, o Options) (*Gateway, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	models := filepath.Join(o.Dir, "models.yaml")
	if err := os.WriteFile(models, modelsFile(), 0o600); err != nil {
		return nil, err
	}
	free, err := servertest.FreePort()
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(free)
	g := &Gateway{Log: filepath.Join(o.Dir, "access.log")}
	log, err := os.OpenFile(g.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child holds its own
	cmd := exec.Command(o.Binary)
	cmd.Dir, cmd.Stdout = o.Dir, log
	cmd.Env = []string{
		"HOST=127.0.0.1", "PORT=" + port, "HOME=" + o.Dir, "DATABASE_URL=sqlite:" + filepath.Join(o.Dir, "gateway.db"),
		"REQUIRE_AUTH=true", "JWT_SECRET=" + rand.Text() + rand.Text(),
		"RATE_LIMIT_RPM=1000000", "AUTH_RATE_LIMIT_RPM=0", // counted, and never reached
		"MODEL_DISCOVERY=false", "MODELS_FILE=" + models, "LOG_FORMAT=json", "LOG_LEVEL=info",
	}
	for _, name := range []string{"OPENAI", "ANTHROPIC", "GEMINI"} {
		cmd.Env = append(cmd.Env, name+"_API_KEY=rig", name+"_BASE_URL=http://"+o.Upstream)
	}
	cmd.Env = append(cmd.Env, o.Settings...) // of two with one name the last one counts
	start := time.Now()
	if g.Process, err = Start(cmd); err != nil {
		return nil, err
	}
	g.Addr = net.JoinHostPort("127.0.0.1", port)
	if g.Ready, err = g.awaitReady(ctx, start); err != nil {
		g.Kill()
		said, _ := os.ReadFile(g.Log) // a missing log is not shown
		return nil, fmt.Errorf("gateway: %w: %.1000s", err, said)
	}
	return g, nil
}

func modelsFile() []byte {
	text := []byte("models:\n")
	for id, provider := range map[string]string{
		OpenAIModel: "openai", AnthropicModel: "anthropic", GeminiModel: "gemini", GemmaModel: "gemini",
	} {
		text = fmt.Appendf(text, "  - {id: %s, provider: %s, ends: 9999-12-31, context: 1048576, max_output: 16384, "+
			"price: {input: 1, output: 5}}\n", id, provider)
	}
	return text
}

// awaitReady waits until the gateway wants traffic, and returns how long after start that was.
func (g *Gateway) awaitReady(ctx context.Context, start time.Time) (time.Duration, error) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	const longest = time.Minute
	for ; time.Since(start) < longest && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		select {
		case <-g.Dead:
			return 0, errors.New("it ended before it was ready")
		default:
		}
		resp, err := client.Get("http://" + g.Addr + "/readyz")
		if err != nil {
			continue
		}
		_ = resp.Body.Close() // only the status counts
		if resp.StatusCode == http.StatusOK {
			return time.Since(start), nil
		}
	}
	return 0, errors.Join(ctx.Err(), fmt.Errorf("not ready within %s", longest))
}

// Keys makes a user, and n keys of theirs, at most a hundred.
func (g *Gateway) Keys(ctx context.Context, n int) (keys []string, err error) {
	who := map[string]string{
		"email": strings.ToLower(rand.Text()) + "@example.com", "password": "correct horse battery staple", "name": "Rig",
	}
	if err := g.post(ctx, "", "/auth/register", who, nil); err != nil {
		return nil, err
	}
	var login struct{ Token string }
	if err := g.post(ctx, "", "/auth/login", who, &login); err != nil {
		return nil, err
	}
	for range n {
		var made struct{ Key string }
		if err := g.post(ctx, login.Token, "/auth/keys", map[string]string{"name": "rig"}, &made); err != nil || made.Key == "" {
			return nil, errors.Join(err, errors.New("no key was made"))
		}
		keys = append(keys, made.Key)
	}
	return keys, nil
}

func (g *Gateway) post(ctx context.Context, token, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.Addr+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s: %.300s", path, resp.Status, said)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(said, into)
}
