// Package providers tests the providers of the models file and the presets through the
// running program.
package providers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m, gatewaytest.Waiting) }

// write writes a file and returns its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	rewrite(t, path, text)
	return path
}

// rewrite replaces a file as editors do: another file gets its name.
func rewrite(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// openAI is the wire format of the scripted upstreams.
func openAI() gatewaytest.Provider { return gatewaytest.Providers()[0] }

// ask is a request for a model, with further members.
func ask(model, members string) string {
	return `{"model":"` + model + `",` + gatewaytest.HiMessages + members + `}`
}

// answers plays as many whole answers with a text.
func answers(u *providertest.Upstream, text string, n int) {
	scripts := make([]providertest.Script, n)
	for i := range scripts {
		scripts[i] = gatewaytest.JSON(200, openAI().Answer(text))
	}
	u.Play(scripts...)
}

// metric is a line of /metrics that begins so.
func metric(t testing.TB, p *gatewaytest.Program, prefix string) string {
	t.Helper()
	for line := range strings.Lines(p.Get(t, "/metrics").Body) {
		if strings.HasPrefix(line, prefix) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
