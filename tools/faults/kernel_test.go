package faults

import (
	"errors"
	"net"
	"syscall"
	"unsafe"
)

// unacknowledged is how many written bytes the other side's kernel has not
// confirmed yet, see tcp(7).
func unacknowledged(conn *net.TCPConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	n, errno := int32(0), syscall.Errno(0)
	err = raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	})
	if err != nil {
		return 0, err
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// limitDescriptors changes how many descriptors a running process may have, see
// prlimit(2).
func limitDescriptors(pid int, most uint64) error {
	limit := syscall.Rlimit{Cur: most, Max: most}
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// smallWindow limits the receive buffer of a connection to a few kilobytes. It
// has to be set before the connection is made, or the other side's kernel
// assumes more.
func smallWindow(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10)
	})
	return errors.Join(err, failed)
}
