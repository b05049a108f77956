//go:build unix

package servertest

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	postgresImage = "postgres:17-alpine"
	redisImage    = "redis:8-alpine"
)

// source is the program that runs a server.
type source struct {
	bin string // PostgreSQL's directory of programs, or the Redis server; empty: Docker
}

var postgresSource = sync.OnceValues(func() (source, error) {
	return find(findPostgres, postgresImage, "postgresql", "TEST_DATABASE_URL")
})

var redisSource = sync.OnceValues(func() (source, error) {
	return find(findRedis, redisImage, "redis-server", "TEST_REDIS_URL")
})

func find(lookUp func() string, image, pkg, variable string) (source, error) {
	if bin := lookUp(); bin != "" {
		return source{bin: bin}, nil
	}
	noDocker := checkDocker(image)
	if noDocker == nil {
		return source{}, nil
	}
	notInstalled := Install(lookUp, pkg)
	if notInstalled == nil {
		return source{bin: lookUp()}, nil
	}
	return source{}, fmt.Errorf(
		"the tests need a server: install the package %s (Debian, Ubuntu: apt-get install postgresql redis-server; "+
			"macOS: brew install postgresql@17 redis and put both on the PATH), or start Docker, "+
			"or set %s (which is not enough for the tests that break a server)\n%w",
		pkg,
		variable,
		errors.Join(noDocker, notInstalled),
	)
}

func findPostgres() string {
	var dirs []string
	if initdb, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(initdb))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(debian, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range append(dirs, debian...) {
		_, errInit := exec.LookPath(filepath.Join(dir, "initdb"))
		_, errServer := exec.LookPath(filepath.Join(dir, "postgres"))
		if errInit == nil && errServer == nil {
			return dir
		}
	}
	return ""
}

func version(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir))) // 0 for versions before 10, such as 9.6
	return n
}

func findRedis() string {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func checkDocker(image string) error {
	if strings.HasPrefix(os.Getenv("DOCKER_HOST"), "tcp:") {
		return errors.New("docker: DOCKER_HOST is another machine, whose loopback interface cannot be reached")
	}
	if err := docker(10*time.Second, "version", "--format", "{{.Server.Version}}"); err != nil {
		return err
	}
	if docker(startTimeout, "image", "inspect", image) == nil {
		return nil
	}
	return docker(5*time.Minute, "pull", image)
}

//go:embed install.sh
var installScript string

// Install installs a package of Debian, with which lookUp finds a program, in one process at a time:
// `go test ./...` runs several. It starts no service.
func Install(lookUp func() string, pkg string) error {
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return errors.New("installing it here takes root and apt-get")
	}
	lock, err := lockFile(filepath.Join(os.TempDir(), "servertest-install.lock"), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if lookUp() != "" {
		return nil // another process has installed it
	}
	cmd := command(nil, "/", "sh", "-c", installScript, "sh", pkg)
	cmd.ExtraFiles = []*os.File{lock} // keeps the lock when this process is killed
	out, err := cmd.CombinedOutput()
	if err == nil && lookUp() == "" {
		err = errors.New("it did not install the program")
	}
	if err != nil {
		return fmt.Errorf("apt-get install %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// lockFile locks a file. The lock ends when the file is closed or the process ends.
func lockFile(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
