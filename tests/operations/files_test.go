package operations

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestDatabaseFilesAreReadableByTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	folder := t.TempDir() + "/data"
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	p := gatewaytest.Start(t, "DATABASE_URL=sqlite:"+folder+"/gateway.db")
	p.Get(t, "/readyz")
	files, err := filepath.Glob(folder + "/*")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v %v", files, err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

func TestProcessWritesNoCoreDump(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Launch(t, nil)
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.Cmd.Process.Pid))
	if err != nil {
		t.Skip("this system has no /proc: ", err)
	}
	if !regexp.MustCompile(`Max core file size +0 +0 `).Match(limits) {
		t.Errorf("%s", limits)
	}
}

func TestMisspeltMemberOfAModelsFileIsNamed(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/models.yaml"
	if err := os.WriteFile(path, []byte("models:\n  - id: gpt-4\n    contxt: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := gatewaytest.TryStart(t, "MODELS_FILE="+path)
	if err == nil || !strings.Contains(err.Error(), "line 3: unknown field contxt") || strings.Contains(err.Error(), "catalog") {
		t.Error(err)
	}
}
