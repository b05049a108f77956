// Package build tests how the binary is built.
package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/tests/longtest"
)

// One library that calls methods by names which are not constants adds 15 MB: see
// docs/adr/0122.
func TestTheBinaryIsSmall(t *testing.T) {
	longtest.Skip(t)
	program := filepath.Join(t.TempDir(), "modelgateway")
	script := `set -e; cd ../..; CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build $(deploy/build/gorm.sh) ` +
		`-tags nomsgpack -trimpath -ldflags "-s -w" -o "$1" .`
	build := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", program)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	const most = 46_000_000
	if file.Size() > most {
		t.Errorf("the binary has %d bytes, more than %d", file.Size(), most)
	}
	text, err := exec.CommandContext(t.Context(), "go", "version", "-m", program).CombinedOutput()
	if err != nil || !strings.Contains(string(text), "./bin/gorm") {
		t.Errorf("%v: it was not built with bin/gorm: %s", err, text)
	}
	t.Logf("%d bytes", file.Size())
}
