package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFaultsOfTheFileNameTheLineAndNoGoType(t *testing.T) {
	for text, want := range map[string]string{
		"models:\n  - {id: a, provider: openai, context: nine}": "line 2: `nine` is not a number",
		"models:\n  - {id: a, provider: openai, prize: 1}":      "line 2: unknown field prize",
		"models: gpt-4o": "line 1: `gpt-4o` is not a list",
		"models:\n  - {id: a, provider: openai, fallbacks: b}":    "line 2: `b` is not a list",
		"rules:\n  openai: [{match: [a*], structured: perhaps}]":  "line 2: `perhaps` is neither true nor false",
		"models:\n  - {id: [a], provider: openai}":                "line 2: the value is not a text",
		"models:\n  - {id: a, provider: openai, price: cheap}":    "line 2: `cheap` is not a set of members",
		"models:\n  - {id: a, provider: openai, price: {input: 1": "line 1: did not find expected",
	} {
		file := filepath.Join(t.TempDir(), "models.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(file)
		if err == nil {
			t.Errorf("%s: no fault", text)
			continue
		}
		said := err.Error()
		if !strings.Contains(said, want) || strings.Contains(said, "catalog.") || strings.Contains(said, "unmarshal") {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
	}
}
