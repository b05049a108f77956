package gatewaytest

import (
	"os"
	"path/filepath"
	"testing"
)

// File returns the path of a file of the module, such as "docs/operations.md".
func File(t testing.TB, name string) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, filepath.FromSlash(name))
		}
		parent := filepath.Dir(root)
		if parent == root {
			t.Fatal("no go.mod above the working directory")
		}
		root = parent
	}
}
