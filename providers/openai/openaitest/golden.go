package openaitest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares a text with the file of that name in testdata/golden.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", strings.NewReplacer(" ", "_", ",", "").Replace(name)+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || strings.TrimSuffix(string(want), "\n") != string(got) {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
}
