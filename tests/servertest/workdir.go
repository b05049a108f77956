//go:build unix

package servertest

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// workDir is the directory of this test process, with everything that its servers
// write.
type workDir struct {
	path string
	// alive is a pipe that the kernel closes when this process dies. It is kept
	// here because the garbage collector would close it too.
	alive *os.File
}

var processDir = sync.OnceValues(newProcessDir)

// cleanup is run by a shell. It waits until the pipe is closed, which happens also
// when the test process is killed, ends the servers that still run and removes the
// directory.
const cleanup = `
read -r _
for end in "$1"/*.end; do [ -e "$end" ] && sh "$end" & done
wait
rm -rf "$1"
`

func newProcessDir() (*workDir, error) {
	dir, err := os.MkdirTemp("", "servertest-")
	if err != nil {
		return nil, err
	}
	// PostgreSQL may run as another user, which must be able to enter it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	stdin, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = stdin.Close() }()
	shell := exec.Command("sh", "-c", cleanup, "sh", dir)
	shell.Dir, shell.Stdin = "/", stdin
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := shell.Start(); err != nil {
		return nil, err
	}
	return &workDir{path: dir, alive: alive}, shell.Process.Release()
}

// newServerDir creates the directory of one server, which runs as the user.
func newServerDir(user *syscall.Credential) (string, error) {
	parent, err := processDir()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(parent.path, "")
	if err != nil || user == nil {
		return dir, err
	}
	return dir, os.Chown(dir, int(user.Uid), int(user.Gid))
}
