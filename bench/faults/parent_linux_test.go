package faults

import "syscall"

// dieWithParent keeps a gateway from outliving the tests, however they end, and
// keeps an interrupt at the terminal to the tests, which end it in order.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
