// Package child has what the programs that measure need of the processes they start.
package child

import "syscall"

// DieWithParent ends a child together with the program that starts it, however that
// ends, and has the terminal's Ctrl-C reach that program only, which ends its
// children in order. The signal is tied to the thread that starts the child: main
// locks its goroutine to its own.
func DieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
