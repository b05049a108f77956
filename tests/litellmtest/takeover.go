package litellmtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// TakeOver runs the takeover of the LiteLLM with Config, for a gateway with some settings, and returns these with
// what the takeover has written and asked for: every key of a provider is sk-upstream.
func (d *Database) TakeOver(t testing.TB, settings []string) []string {
	t.Helper()
	folder := t.TempDir()
	config := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(config, []byte(Config()), 0o600); err != nil {
		t.Fatal(err)
	}
	settings = append(settings, "LITELLM_SALT_KEY="+SaltKey)
	code, out, faults := gatewaytest.TryCommand(t, settings, "",
		"takeover", "litellm", "--from", d.Address, "--config", config, "--out", folder, "--accept-losses")
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, faults)
	}
	for _, named := range regexp.MustCompile(`(?m)^set +(\w+_API_KEY\w*) to `).FindAllStringSubmatch(faults, -1) {
		settings = append(settings, named[1]+"=sk-upstream")
	}
	written, err := os.ReadFile(filepath.Join(folder, "litellm.env"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(written)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			settings = append(settings, line)
		}
	}
	return append(settings, "MODELS_FILE="+filepath.Join(folder, "litellm-models.yaml"))
}
