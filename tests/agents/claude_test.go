package agents

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// result is what Claude Code prints at its end.
type result struct {
	Type    string `json:"type"`
	IsError bool   `json:"is_error"`
	Turns   int    `json:"num_turns"`
	Text    string `json:"result"`
	Usage   struct {
		Input      int `json:"input_tokens"`
		CacheRead  int `json:"cache_read_input_tokens"`
		CacheWrite int `json:"cache_creation_input_tokens"`
		Output     int `json:"output_tokens"`
	} `json:"usage"`

	outcome
}

// claude gives a task to Claude Code. Files in its working directory it may write.
func (s *session) claude(t *testing.T, task string, environment ...string) result {
	t.Helper()
	return s.runClaude(t, environment, s.installed("claude"), "-p", task,
		"--output-format", "json", "--permission-mode", "acceptEdits", "--allowedTools", "Read,Write,Bash,WebSearch", "--max-turns", "10")
}

// sdk gives a task to the Claude Agent SDK.
func (s *session) sdk(t *testing.T, task string) result {
	t.Helper()
	return s.runClaude(t, nil, "node", filepath.Join(s.clients, scripts, "agent.mjs"), task)
}

func (s *session) runClaude(t *testing.T, environment []string, program string, arguments ...string) result {
	t.Helper()
	r := result{outcome: s.run(t, append([]string{
		"ANTHROPIC_BASE_URL=" + s.front.url, "ANTHROPIC_AUTH_TOKEN=any",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}, environment...), program, arguments...)}
	if err := json.Unmarshal([]byte(r.out), &r); err != nil || r.Type != "result" {
		t.Fatalf("exit code %d, no result: %v\n%s%s", r.exit, err, r.out, r.faults)
	}
	s.calledNoOther(t)
	t.Logf("tokens %+v: %.300s", r.Usage, r.Text)
	return r
}
