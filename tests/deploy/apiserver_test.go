package deploy

import (
	"crypto/rand"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The variable of the environment that names the kubeconfig of an API server that may be
// written to. It needs the custom resources of the Gateway API and the Prometheus operator, and
// no nodes. Without it this test is left out.
const apiServer = "KUBERNETES_TEST_CONFIG"

// An API server takes every object of the chart: it checks more than schemas do, such as
// names, selectors and what excludes what.
func TestAPIServerTakesTheChart(t *testing.T) {
	helm := need(t, findHelm)
	config := os.Getenv(apiServer)
	if config == "" {
		t.Skip(apiServer + " names no API server")
	}
	run := func(t *testing.T, values string, arguments ...string) error {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), helm, append(arguments, "--kubeconfig", config)...)
		cmd.Stdin = strings.NewReader(values)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("helm %s: %s", strings.Join(arguments, " "), out)
		}
		return err
	}
	for name, row := range table() {
		t.Run(name, func(t *testing.T) {
			namespace := "test-" + strings.ToLower(rand.Text())
			err := run(t, row.values, "install", "modelgateway", chart(t), "--namespace", namespace, "--create-namespace", "--values", "-")
			if err != nil {
				t.Fatal(err)
			}
			// The same again changes nothing that may not be changed, and the defaults follow any values.
			for _, values := range []string{row.values, ""} {
				if err := run(t, values, "upgrade", "modelgateway", chart(t), "--namespace", namespace, "--values", "-"); err != nil {
					t.Error(err)
				}
			}
			if err := run(t, "", "uninstall", "modelgateway", "--namespace", namespace); err != nil {
				t.Error(err)
			}
		})
	}
}
