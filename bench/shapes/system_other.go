//go:build !linux

package main

import "syscall"

// dieWithParent has nothing to offer here; nor is there a /proc to measure by.
func dieWithParent() *syscall.SysProcAttr { return nil }
