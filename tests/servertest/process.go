//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server's process, or the docker command attached to its container.
type process struct {
	dir       string // its data and log; removed with it
	path      string
	args      []string
	user      *syscall.Credential // nil: the user of this process
	container string              // its name; empty: not a container

	cmd  *exec.Cmd
	done chan struct{}
}

// newContainer is a server that `docker run` starts with the arguments.
func newContainer(args []string) (*process, error) {
	dir, err := newServerDir(nil)
	name := filepath.Base(filepath.Dir(dir)) + "-" + filepath.Base(dir)
	return &process{dir: dir, path: "docker", args: append([]string{"run", "--name", name}, args...), container: name}, err
}

func (p *process) start() error {
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	args := p.args
	if p.container != "" && p.cmd != nil {
		args = []string{"start", "--attach", p.container}
	}
	cmd, done := command(p.user, p.dir, p.path, args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.done = cmd, done
	endErr := os.WriteFile(p.endFile(), []byte(p.endScript()), 0o600)
	go func() {
		defer close(done)
		_ = cmd.Wait()
		if p.container == "" {
			_ = os.Remove(p.endFile()) // the kernel may give the process id to another process
		}
	}()
	return endErr
}

// endScript ends the server. The cleanup shell runs it.
func (p *process) endScript() string {
	if p.container != "" {
		return fmt.Sprintf("docker unpause %[1]s; docker rm -f -v %[1]s\n", p.container)
	}
	return fmt.Sprintf("p=%d n=0\n"+
		"kill -CONT $p $(cat /proc/$p/task/$p/children || pgrep -P $p); kill -INT $p\n"+
		"while kill -0 $p && ! grep -q State:.Z /proc/$p/status && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done\n"+
		"kill -KILL $p\n", p.cmd.Process.Pid)
}

// stop requests PostgreSQL's fast shutdown, or Redis's orderly one, and waits.
func (p *process) stop() error {
	_ = p.signal(syscall.SIGCONT)
	return p.end(syscall.SIGINT)
}

// end sends a signal that ends the server, and waits.
func (p *process) end(s syscall.Signal) error {
	if !p.running() {
		return nil
	}
	err := p.signal(s)
	select {
	case <-p.done:
		return nil
	case <-time.After(startTimeout):
		return fmt.Errorf("the server has not ended after the signal %v\n%w\n%s", s, err, p.log())
	}
}

// remove ends the server in any state and removes everything of it.
func (p *process) remove() error {
	var err error
	if p.container != "" {
		err = errors.Join(docker(startTimeout, "rm", "-f", "-v", p.container), os.Remove(p.endFile()))
	}
	_ = p.stop() // an orderly end releases shared memory; if it fails, the server is killed below
	err = errors.Join(err, p.end(syscall.SIGKILL))
	p.releaseMemory()
	return errors.Join(err, os.RemoveAll(p.dir))
}

func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal signals the server, and its children unless the server does that itself.
func (p *process) signal(s syscall.Signal) error {
	if !p.running() {
		return os.ErrProcessDone
	}
	if p.container != "" {
		return signalContainer(p.container, s)
	}
	if s == syscall.SIGINT {
		return p.cmd.Process.Signal(s)
	}
	var err error
	if s != syscall.SIGCONT {
		err = p.cmd.Process.Signal(syscall.SIGSTOP) // so that it starts no more children
	}
	pids := children(p.cmd.Process.Pid)
	err = errors.Join(err, p.cmd.Process.Signal(s))
	for _, child := range pids {
		_ = syscall.Kill(child, s) // it may have ended already
	}
	return err
}

func signalContainer(name string, s syscall.Signal) error {
	switch s {
	case syscall.SIGSTOP:
		return docker(startTimeout, "pause", name)
	case syscall.SIGCONT:
		return docker(startTimeout, "unpause", name)
	}
	return docker(startTimeout, "kill", "--signal", strconv.Itoa(int(s)), name)
}

func children(pid int) []int {
	// The file exists on Linux only; other systems have pgrep.
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		list, _ = exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	}
	var pids []int
	for field := range strings.FieldsSeq(string(list)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// releaseMemory removes the small System V segment that a killed PostgreSQL
// leaves in the kernel. Line 7 of postmaster.pid is its key and id.
func (p *process) releaseMemory() {
	note, _ := os.ReadFile(filepath.Join(p.dir, "data", "postmaster.pid"))
	lines := strings.Split(string(note), "\n")
	if len(lines) < 7 {
		return
	}
	if segment := strings.Fields(lines[6]); len(segment) == 2 {
		_ = exec.Command("ipcrm", "-m", segment[1]).Run()
	}
}

func (p *process) logFile() string { return filepath.Join(p.dir, "log") }

// endFile is beside the directory, which may belong to another user than the one
// that runs the script.
func (p *process) endFile() string { return p.dir + ".end" }

func (p *process) log() string {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// command runs as the user, in a session of its own so that an interrupt at the
// terminal does not reach it.
func command(user *syscall.Credential, dir, path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: user}
	return cmd
}

func docker(limit time.Duration, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("docker %s: %w %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}
