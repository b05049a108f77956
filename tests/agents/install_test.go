package agents

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"modelgateway/tests/longtest"
	"modelgateway/tests/npm"
)

// needClients skips the test where the long tests are not asked for, or AGENTS=off leaves
// these out, and returns the folder with the installed clients.
func needClients(t *testing.T) string {
	t.Helper()
	longtest.Skip(t)
	if os.Getenv("AGENTS") == "off" {
		t.Skip("AGENTS=off leaves out the tests with Claude Code, Codex and other clients")
	}
	return mustInstall(t, install)
}

// mustInstall returns the folder of installed clients.
func mustInstall(t *testing.T, install func() (string, error)) string {
	t.Helper()
	folder, err := install()
	if err != nil {
		t.Fatalf("%v\nThese tests need Node.js 20 or later with npm, and a package registry. AGENTS=off leaves them out.", err)
	}
	return folder
}

// scripts is the folder of the test's own programs in that of the installed clients.
const scripts = "scripts"

// install installs the packages of testdata. The scripts of testdata are copied there, where
// they find the packages.
var install = sync.OnceValues(func() (string, error) {
	folder, err := npm.Install("agents", "testdata")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(folder, scripts), 0o755); err != nil {
		return "", err
	}
	programs, err := filepath.Glob("testdata/*.mjs")
	if err != nil {
		return "", err
	}
	return folder, npm.CopyFiles(filepath.Join(folder, scripts), programs...)
})

// installEditors installs what Continue and Cline are without an editor, which few need.
var installEditors = sync.OnceValues(func() (string, error) { return npm.Install("editors", "testdata/editors") })
