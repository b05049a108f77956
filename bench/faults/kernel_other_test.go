//go:build !linux

package faults

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// unacknowledged is not available here: it waits a moment for what was written.
func unacknowledged(*net.TCPConn) (int, error) {
	time.Sleep(5 * time.Millisecond)
	return 0, nil
}

func limitDescriptors(int, uint64) error { return errors.ErrUnsupported }

func smallWindow(string, string, syscall.RawConn) error { return nil }
