//go:build !linux

// Package child has what the programs that measure need of the processes they start.
package child

import "syscall"

// DieWithParent does nothing here: a parent ends its children itself. There is no
// /proc to measure with either.
func DieWithParent() *syscall.SysProcAttr { return nil }
