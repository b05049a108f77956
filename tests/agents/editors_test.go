package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// keyed starts a gateway that wants a key for a client of an editor, and returns the key.
func keyed(t *testing.T) (*session, string) {
	t.Helper()
	needClients(t)
	s := newSession(t, mustInstall(t, installEditors), "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	_, key := s.program.CreateKey(t, s.program.Login(t))
	return s, key
}

// TestContinueDoesATask runs Continue with the settings of docs/clients.md.
func TestContinueDoesATask(t *testing.T) {
	t.Parallel()
	s, key := keyed(t)
	file := filepath.Join(s.home, "config.yaml")
	for _, e := range examples(t) {
		if e.heading == "Continue" {
			text := strings.NewReplacer("http://localhost:8080", s.front.url, "apiKey: any", "apiKey: "+key).Replace(e.text)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := s.run(t, []string{"CONTINUE_TELEMETRY_ENABLED=0"}, s.installed("cn"), "--config", file, "--auto", "-p", task)
	s.hasTheFile(t)
	if o.exit != 0 || !strings.Contains(o.out, done) || s.front.answers(401, "") > 0 {
		t.Errorf("exit code %d: %s%s", o.exit, o.out, o.faults)
	}
}

// TestClineRunsAToolForAModel runs the program of Cline with the settings of docs/clients.md.
func TestClineRunsAToolForAModel(t *testing.T) {
	t.Parallel()
	s, key := keyed(t)
	if o := s.run(t, nil, s.installed("cline"), "auth", "openai", "--apikey", key, "--baseurl", s.front.url+"/v1",
		"--modelid", "claude-sonnet-5"); o.exit != 0 {
		t.Fatalf("%s%s", o.out, o.faults)
	}
	o := s.run(t, nil, s.installed("cline"), "-P", "openai", task)
	if o.exit != 0 || s.front.answers(401, "") > 0 || s.front.answers(200, "/v1/chat/completions") < 2 || !strings.Contains(o.out, " returned: ") {
		t.Errorf("exit code %d, %d answers: %s%s", o.exit, s.front.answers(200, ""), o.out, o.faults)
	}
}
