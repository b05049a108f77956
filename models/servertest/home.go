//go:build unix

package servertest

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// home is the directory of this test process. All that its servers write is there.
type home struct {
	dir string
	// alive is closed by the kernel when this process dies; until then it must be
	// held, as the collector would close it too.
	alive *os.File
}

var processHome = sync.OnceValues(newHome)

// outlive is run by a shell that waits for the end of the test process, however
// it comes: it ends the servers that still run and removes the directory.
const outlive = `
read -r _
for end in "$1"/*.end; do [ -e "$end" ] && sh "$end" & done
wait
rm -rf "$1"
`

func newHome() (*home, error) {
	dir, err := os.MkdirTemp("", "servertest-")
	if err != nil {
		return nil, err
	}
	// PostgreSQL may run as another user, who has to pass through.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	stdin, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = stdin.Close() }()
	shell := exec.Command("sh", "-c", outlive, "sh", dir)
	shell.Dir, shell.Stdin = "/", stdin
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := shell.Start(); err != nil {
		return nil, err
	}
	return &home{dir: dir, alive: alive}, shell.Process.Release()
}

// newRoom makes the directory of one server, which runs as the user.
func newRoom(user *syscall.Credential) (string, error) {
	home, err := processHome()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(home.dir, "")
	if err != nil || user == nil {
		return dir, err
	}
	return dir, os.Chown(dir, int(user.Uid), int(user.Gid))
}
