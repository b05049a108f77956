package deploy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

// need skips the test where the long tests are not asked for, or DEPLOY=off leaves these out, and
// returns the path of a program.
func need(t testing.TB, find func() (string, error)) string {
	t.Helper()
	longtest.Skip(t)
	if os.Getenv("DEPLOY") == "off" {
		t.Skip("DEPLOY=off leaves out the tests of the examples in deploy/")
	}
	path, err := find()
	if errors.Is(err, errNotHere) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("%v\nDEPLOY=off leaves out the tests of the examples in deploy/.", err)
	}
	return path
}

// They find or install the programs of Debian.
var (
	findNginx    = sync.OnceValues(func() (string, error) { return fromDebian("nginx", "nginx") })
	findCaddy    = sync.OnceValues(func() (string, error) { return fromDebian("caddy", "caddy") })
	findPromtool = sync.OnceValues(func() (string, error) { return fromDebian("promtool", "prometheus") })
)

// fromDebian returns the path of a program of one of Debian's packages.
func fromDebian(name, source string) (string, error) {
	lookUp := func() string { return programNamed(name) }
	if path := lookUp(); path != "" {
		return path, nil
	}
	if err := servertest.Install(lookUp, source); err != nil {
		return "", fmt.Errorf("these tests need %s (Debian: apt-get install %s): %w", name, source, err)
	}
	return lookUp(), nil
}

// programNamed looks where servers are installed as well, which is not on the PATH of every user.
func programNamed(name string) string {
	for _, candidate := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}

// traefikVersion is the release of Traefik that TRAEFIK=build builds.
const traefikVersion = "v3.5.3"

// errNotHere is of a program that is too much to install for every run.
var errNotHere = errors.New("traefik is not installed: TRAEFIK=build builds it from its module, which takes many minutes")

// findTraefik finds Traefik, or builds it once where that is asked for.
var findTraefik = sync.OnceValues(func() (string, error) {
	if path := programNamed("traefik"); path != "" {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	path := filepath.Join(cache, "modelgateway-tests", "traefik-"+traefikVersion)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if os.Getenv("TRAEFIK") != "build" {
		return "", errNotHere
	}
	return path, buildTraefik(path)
})
