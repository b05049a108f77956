package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"modelgateway/tests/longtest"
	"modelgateway/tests/npm"
)

// needBrowser skips the test where the long tests are not asked for, or CONSOLE=off leaves
// these out, and returns the path of Chromium and the text of axe-core.
func needBrowser(t testing.TB) (chromium, axe string) {
	t.Helper()
	longtest.Skip(t)
	if os.Getenv("CONSOLE") == "off" {
		t.Skip("CONSOLE=off leaves out the tests of the console in a browser")
	}
	chromium, err := findChromium()
	if err != nil {
		t.Fatalf("%v\nThese tests need Chromium (Debian: apt-get install chromium). CONSOLE=off leaves them out.", err)
	}
	axe, err = axeCore()
	if err != nil {
		t.Fatalf("%v\nThese tests need npm and a package registry, for axe-core. CONSOLE=off leaves them out.", err)
	}
	return chromium, axe
}

// findChromium returns the path of a browser. As root it installs Debian's where none is found.
var findChromium = sync.OnceValues(func() (string, error) {
	if path := lookUp(); path != "" {
		return path, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return "", errors.New("there is no Chromium, and installing it here takes root and apt-get")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for _, arguments := range [][]string{{"update"}, {"install", "--no-install-recommends", "chromium", "fonts-dejavu-core"}} {
		cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-y", "-o", "DPkg::Lock::Timeout=300"}, arguments...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
		}
	}
	if path := lookUp(); path != "" {
		return path, nil
	}
	return "", errors.New("the package chromium has no program")
})

func lookUp() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// axeCore is the script that looks for barriers.
var axeCore = sync.OnceValues(func() (string, error) {
	folder, err := npm.Install("console", "testdata")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(folder, "node_modules", "axe-core", "axe.min.js"))
	return string(text), err
})
