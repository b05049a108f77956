// Package imports checks what the program is built of.
package imports

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

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
