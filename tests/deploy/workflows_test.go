package deploy

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"modelgateway/tests/gatewaytest"
)

const actionlintModule = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"

var findActionlint = sync.OnceValues(func() (string, error) { return goTool("actionlint", actionlintModule) })

// TestWorkflowsAreValid checks the workflows of the forge, which run nowhere else: their
// members, expressions, and the names of jobs and steps to which they refer.
func TestWorkflowsAreValid(t *testing.T) {
	actionlint := need(t, findActionlint)
	files, err := filepath.Glob(gatewaytest.File(t, ".github/workflows/*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%q: %v", files, err)
	}
	out, err := exec.CommandContext(t.Context(), actionlint, append([]string{"-no-color"}, files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
