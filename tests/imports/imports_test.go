package imports

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// arrows says what each room may not import. Longer paths come first.
var arrows = []struct {
	room   string
	denied []string
}{
	{"models/scan", []string{"modelgateway/", "github.com/gin-gonic", "gorm.io"}},
	{"models/api", []string{"modelgateway/", "github.com/gin-gonic", "gorm.io"}}, // but models/scan
	{"models", []string{"modelgateway/services", "modelgateway/providers", "modelgateway/controllers", "modelgateway/middleware", "modelgateway/router", "github.com/gin-gonic"}},
	{"config", []string{"modelgateway/", "github.com/gin-gonic", "gorm.io"}},
	{"providers", []string{"modelgateway/services", "modelgateway/controllers", "modelgateway/middleware", "modelgateway/router", "github.com/gin-gonic", "gorm.io"}},
	{"services", []string{"modelgateway/controllers", "modelgateway/middleware", "modelgateway/router", "github.com/gin-gonic", "gorm.io"}},
	{"controllers", []string{"modelgateway/router", "gorm.io"}},
	{"middleware", []string{"modelgateway/router", "gorm.io"}},
	{"web", []string{"modelgateway/", "github.com/gin-gonic", "gorm.io"}},
}

func TestPackagesImportOnlyLowerLayers(t *testing.T) {
	files := 0
	root := gatewaytest.File(t, ".")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, a := range arrows {
			if !strings.HasPrefix(path, filepath.Join(root, a.room)+string(filepath.Separator)) {
				continue
			}
			files++
			checkImports(t, path, a.denied)
			break
		}
		return nil
	})
	if err != nil || files < 20 {
		t.Fatalf("looked at %d files: %v", files, err)
	}
}

// madeForTests are packages outside of _test.go files that only tests import.
func madeForTests(name string) bool {
	return strings.HasPrefix(name, "modelgateway/") &&
		(strings.HasSuffix(name, "test") || strings.Contains(name+"/", "/simulator/strict/"))
}

func TestProductionImportsNothingMadeForTests(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "modelgateway")
	out, err := list.Output()
	names := strings.Fields(string(out))
	if err != nil || !slices.Contains(names, "modelgateway/providers/simulator") {
		t.Fatalf("%d packages: %v", len(names), err)
	}
	for _, name := range names {
		if madeForTests(name) {
			t.Errorf("the program imports %s", name)
		}
	}
}

func checkImports(t *testing.T, path string, denied []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Error(err)
		}
		for _, d := range denied {
			if strings.HasPrefix(name, d) && name != "modelgateway/models/scan" && !strings.Contains(path, "test"+string(filepath.Separator)) {
				t.Errorf("%s imports %s", path, name)
			}
		}
	}
}
