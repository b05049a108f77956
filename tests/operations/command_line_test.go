package operations

import (
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/app/cli"
	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// commandLine runs a command beside a gateway.
type commandLine struct {
	t       *testing.T
	environ []string
}

func (c *commandLine) run(in string, args ...string) (code int, out, err string) {
	c.t.Helper()
	var stdout, stderr strings.Builder
	p := cli.Program{Args: args, Environ: c.environ, In: strings.NewReader(in), Out: &stdout, Err: &stderr}
	return p.Run(c.t.Context()), stdout.String(), stderr.String()
}

func (c *commandLine) has(words []string, text string) {
	c.t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			c.t.Errorf("%q is missing:\n%s", word, text)
		}
	}
}

func TestCommandsAskTheRunningGateway(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	up := providertest.Serve(t, f.WholeAnswer(gatewaytest.Streaming, "it is \x1b[31mred"))
	settings := []string{
		"DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "gateway.db"), gatewaytest.JWTSecret, "MODEL_DISCOVERY=false",
		"REQUIRE_AUTH=true",
		"OPENAI_API_KEY=sk-first-of-the-keys-0001", "OPENAI_BASE_URL=" + up.URL,
	}
	p := gatewaytest.Start(t, settings...)
	c := &commandLine{t: t, environ: settings}
	if code, _, err := c.run("", "providers", "--url", p.URL); code != 1 || !strings.Contains(err, "modelgateway admin create") {
		t.Errorf("%d %s", code, err)
	}
	root := p.Administrator(t)
	code, _, err := c.run("hi", "chat", "--model", "gpt-4", "--url", p.URL)
	if code != 1 || !strings.Contains(err, "MODELGATEWAY_API_KEY") {
		t.Errorf("without a key: %d %s", code, err)
	}
	_, key := p.CreateLimitedKey(t, root, `"rpm_limit":100`)
	c.environ = append(c.environ, "MODELGATEWAY_API_KEY="+key)
	code, out, err := c.run("ignored", "chat", "--model", "gpt-4", "--system", "be short", "--url", p.URL, "what", "is it?")
	if code != 0 || out != "it is [31mred\n" {
		t.Errorf("%d %q %s", code, out, err)
	}
	c.has([]string{"gpt-4", "3 tokens in, 4 out", "first token after", "$0.00033"}, err)
	sent := up.Requests()[0].Body
	c.has([]string{"be short", "what is it?"}, string(sent))

	code, out, err = c.run("", "providers", "--url", p.URL)
	if code != 0 || strings.Contains(out+err, "0001") || strings.Contains(out, "gemini") {
		t.Errorf("%d %s%s", code, out, err)
	}
	c.has([]string{"PROVIDER", "openai", "healthy", "closed"}, out)
	up.Play(gatewaytest.JSON(429, `{"error":{"message":"slow down"}}`))
	if code, _, err := c.run("hi", "chat", "-m", "gpt-4", "--url", p.URL); code != 1 || !strings.Contains(err, "slow down") {
		t.Errorf("%d %s", code, err)
	}
	_, out, _ = c.run("", "providers", "--url", p.URL)
	c.has([]string{"…0001", "cooling_down", "rate limit (429)", "key_cooling_down"}, out)
	if _, out, _ := c.run("", "providers", "--json", "--url", p.URL); !strings.Contains(out, `"object":"list"`) {
		t.Error(out)
	}
	if code, out, err := c.run("", "chat", "--url", p.URL); code != 1 || out != "" || !strings.Contains(err, "the prompt is empty") {
		t.Errorf("%d %s%s", code, out, err)
	}
}

func TestChatOfTheSimulatorNeedsNoKeyAndPrintsJSON(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, gatewaytest.JWTSecret, "SIMULATOR=true")
	c := &commandLine{t: t}
	code, out, err := c.run("hello", "chat", "--url", p.URL)
	if code != 0 || len(out) < 3 || !strings.Contains(err, "tokens in") {
		t.Errorf("%d %q %s", code, out, err)
	}
	if code, out, _ := c.run("hello", "chat", "--url", p.URL, "--json"); code != 0 || !strings.Contains(out, `"chat.completion"`) {
		t.Errorf("%d %s", code, out)
	}
	if code, _, err := c.run("hello", "chat", "--url", "http://127.0.0.1:1"); code != 1 ||
		!strings.Contains(err, "does not answer at http://127.0.0.1:1") {
		t.Errorf("%d %s", code, err)
	}
}

func TestAuditOnTheCommandLine(t *testing.T) {
	t.Parallel()
	c := &commandLine{t: t, environ: []string{"MODEL_DISCOVERY=false", "DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "gateway.db")}}
	for _, args := range []string{
		"user create --email ada@example.com --key own", "user limits ada@example.com --budget-usd 2.5 --rpm-limit 7",
		"user disable ada@example.com",
	} {
		if code, out, err := c.run("", strings.Fields(args)...); code != 0 {
			t.Fatalf("%s: %d %s%s", args, code, out, err)
		}
	}
	_, out, _ := c.run("", "audit")
	c.has([]string{"TIME", "command line", "user.disable", "ada@example.com", "disabled no → yes",
		"budget_usd none → 2.5", "rpm_limit none → 7"}, out)
	if lines := strings.Count(out, "\n"); lines != 6 {
		t.Errorf("%d lines:\n%s", lines, out)
	}
	for args, want := range map[string]int{
		"--action user. --quiet": 4, "--search ADA@ --limit 2 --quiet": 2, "--by ada@example.com --quiet": 0, "--to 2026-01-01 --quiet": 0,
		"--action key.create --limit 0 --quiet": 1,
	} {
		_, out, err := c.run("", append([]string{"audit"}, strings.Fields(args)...)...)
		if got := strings.Count(out, "aud_"); got != want {
			t.Errorf("%s: %d entries, not %d: %s%s", args, got, want, out, err)
		}
	}
	if code, _, err := c.run("", "audit", "--from", "yesterday"); code != 1 || !strings.Contains(err, "from must be a day") {
		t.Errorf("%d %s", code, err)
	}
	var list api.AuditList
	_, out, _ = c.run("", "audit", "--json", "--limit", "1")
	gatewaytest.Answer{Body: out}.JSON(t, &list)
	if len(list.Data) != 1 || !list.HasMore || list.NextAfter == "" || list.Data[0].TargetName != "ada@example.com" {
		t.Errorf("%s", out)
	}
}
