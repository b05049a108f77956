package main

import (
	"syscall"
	"time"
)

// dieWithParent ends a child together with this program, and has the terminal's
// Ctrl-C reach this program only, which ends its children in order. The signal
// is tied to the thread that starts the child: main keeps its own.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// pause is a time.Sleep that is late by some ten microseconds: Go's own timers
// wait in whole milliseconds when nothing else runs, which is more than what
// is to be measured.
func pause(d time.Duration) {
	if d <= 0 {
		return
	}
	wait := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&wait, &wait) == syscall.EINTR { // the rest is in wait
		continue
	}
}
