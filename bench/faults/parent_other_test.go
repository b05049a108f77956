//go:build !linux

package faults

import "syscall"

// dieWithParent has no other way here than that the tests end their gateways.
func dieWithParent() *syscall.SysProcAttr { return nil }
