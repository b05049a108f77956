package providers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// The examples of the page can be copied.
func TestTheExamplesOfTheDocumentationAreValid(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "providers.md"))
	if err != nil {
		t.Fatal(err)
	}
	key := write(t, "groq", "gsk-one\n")
	examples := strings.Split(string(text), "```yaml\n")[1:]
	if len(examples) < 2 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		example = strings.ReplaceAll(example, "/run/secrets/groq", key)
		code, out, faults := gatewaytest.TryCommand(t, []string{
			"MODELS_FILE=" + write(t, "models.yaml", example), "AZURE_EU_KEY=azure-one", "OPENAI_API_KEY=sk-one",
			"DATABASE_URL=sqlite:" + t.TempDir() + "/gateway.db",
		}, "", "check", "--offline")
		if code != 0 || !strings.Contains(out, "azure-eu") {
			t.Errorf("%s\n%s%s", example, out, faults)
		}
	}
}
