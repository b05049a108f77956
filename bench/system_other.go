//go:build !linux

package main

import (
	"syscall"
	"time"
)

// dieWithParent does nothing here; there is no /proc to measure with either.
func dieWithParent() *syscall.SysProcAttr { return nil }

func pause(d time.Duration) { time.Sleep(d) }
